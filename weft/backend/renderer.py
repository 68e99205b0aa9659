"""How an expression is written down: its parts in the order in which Spark looks at them, each of them once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from weft.algebra.expressions import Call, Case, Cast, Expression, Literal, Slot, WindowPart
from weft.algebra.types import MAX_PRECISION, DataType, as_decimal, decimal
from weft.backend.casts import cast_sql
from weft.backend.raising import can_be_null, can_raise
from weft.backend.statements import duck_identifier
from weft.errors import SqlError
from weft.segments.types import duck_literal

# An operand that is needed twice is written twice up to this length, and bound by a lambda from there on: written
# twice at every level, 1/(1/(1/...)) would double in length with every level.
_SHORT = 60
# DuckDB takes twice the time and memory for every lambda that stands in the body of another (not in its argument): at
# twenty levels it is gigabytes. So bodies are kept shallow, and what cannot be is refused.
_MAX_NESTED_BODIES = 8
_LAMBDA = re.compile(r"lambda weft_([0-9]+):")


class Renderer:
    """Renders an expression, its calls by rules; counts the variables it binds."""

    def __init__(self, slots: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        self._slots, self._rules = slots, rules
        self._bound = 0
        self._depths: dict[int, int] = {}
        self._last_bound = ("", 0)

    def sql(self, expression: Expression) -> str:
        match expression:
            case Slot(name):
                return self._slots.get(name, duck_identifier(name))
            case Literal():
                return duck_literal(expression)
            case WindowPart("window"):
                return f'struct_pack("start" := {self._edge("start")}, "end" := {self._edge("end")})'
            case WindowPart(part):
                return self._edge(part)
            case Cast():
                return cast_sql(self, expression)
            case Case():
                return self._case(expression)
            case Call(function) if function in self._rules:
                return self._rules[function](self, expression)
            case _:
                raise TypeError(f"{expression} is not portable")

    def bound(self, sql: str, body: Callable[[str], str]) -> str:
        """Write the body over a value that it names more than once."""
        return self.bound_all([sql], lambda names: body(names[0]))

    def bound_all(self, values: Sequence[str], body: Callable[[list[str]], str]) -> str:
        """Write the body over values that it names more than once; a single lambda binds all of them."""
        long = [value for value in values if len(value) > _SHORT]
        if not long:
            return body([*values])
        self._bound += 1
        number, name = self._bound, f"weft_{self._bound}"
        if len(long) == 1:
            packed, names = long[0], iter([name])
        else:
            packed = f"struct_pack({', '.join(f'v{index} := {value}' for index, value in enumerate(long))})"
            names = iter([f"{name}.v{index}" for index in range(len(long))])
        inside = body([next(names) if len(value) > _SHORT else value for value in values])
        bound = f"list_transform([{packed}], lambda {name}: {inside})[1]"
        depth = self._depths[number] = max(self._depth(packed), 1 + self._depth(inside))
        self._last_bound = (bound, depth)
        if depth > _MAX_NESTED_BODIES:
            raise SqlError("too-deep", "an expression over aggregates is nested too deeply",
                           hint="Take parts apart: select them as columns of their own, or leave out parentheses.")
        return bound

    def _depth(self, sql: str) -> int:
        """Tell how deep lambdas stand in the bodies of others."""
        # A chain of a thousand parts binds its last text again with every part: the long text is not searched again.
        if sql == self._last_bound[0]:
            return self._last_bound[1]
        return max((self._depths.get(int(number), 0) for number in _LAMBDA.findall(sql)), default=0)

    def strict(self, parts: Sequence[tuple[Expression, str]], build: Callable[[list[str]], str], *,
               swapped: bool = False) -> str:
        """Write `build` over the parts, NULL as soon as a part is: like Spark, without a look at the parts after it.

        DuckDB looks from left to right and skips the arguments of a function after an argument that is always NULL;
        where `build` has the first part on the right (`swapped`), it must be looked at before.
        """
        names: list[str] = []

        def step(index: int) -> str:
            if index == len(parts):
                return build(names)
            part, sql = parts[index]
            rest = parts[index + (0 if swapped and index == 0 else 1):]
            if not any(can_raise(later) for later, _ in rest) or (not can_be_null(part) and not can_raise(part)):
                names.append(sql)
                return step(index + 1)

            def guarded(name: str) -> str:
                names.append(name)
                return f"CASE WHEN {name} IS NULL THEN NULL ELSE {step(index + 1)} END"
            return self.bound(sql, guarded)
        return step(0)

    def same(self, call: Call, kind: DataType) -> list[tuple[Expression, str]]:
        """Write the arguments as values of one type."""
        cast = [argument if argument.type == kind else Cast(argument, kind) for argument in call.arguments]
        return [(argument, self.sql(argument)) for argument in cast]

    def alike(self, call: Call) -> list[tuple[Expression, str]]:
        """Write the arguments of a comparison as values of one type that holds them all."""
        kinds = {argument.type for argument in call.arguments}
        if len(kinds) > 1 and all(kind.is_decimal or kind.is_integral for kind in kinds):
            decimals = [as_decimal(kind) for kind in kinds]
            scale = max(kind.scale for kind in decimals)
            digits = max(kind.precision - kind.scale for kind in decimals)
            if digits + scale <= MAX_PRECISION:
                return self.same(call, decimal(digits + scale, scale))
        if len(kinds - {DataType("void")}) > 1:
            raise TypeError(f"{call} compares {sorted(map(str, kinds))}")
        return [(argument, self.sql(argument)) for argument in call.arguments]

    def _edge(self, part: str) -> str:
        return self._slots.get(f"window_{part}", duck_identifier(f"window_{part}"))

    def _case(self, case: Case) -> str:
        whens = " ".join(f"WHEN {self.sql(test)} THEN {self._branch(value, case.type)}"
                         for test, value in case.branches)
        return f"CASE {whens} ELSE {self._branch(case.otherwise, case.type)} END"

    def _branch(self, value: Expression, kind: DataType) -> str:
        return self.sql(value if value.type == kind else Cast(value, kind))


Rule = Callable[[Renderer, Call], str]
