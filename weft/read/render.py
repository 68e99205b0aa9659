"""A canonical expression over slots as DuckDB SQL that gives Spark's value, of the type the expression says, or fails.

Only the portable operators are here: those that tests/read/test_differential.py proves equal to Spark with ANSI rules.
Where DuckDB's own operator differs (remainders, rounding, decimals, casts), what is written differs from the operator.

Errors must agree as well, so what Spark does not evaluate must not be evaluated here. DuckDB leaves the branches of
CASE alone, but evaluates all of AND, OR, IN and COALESCE (it even moves common parts out of them): wherever a later
part may fail, CASE is written instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from weft.errors import SqlError
from weft.read.functions import DIVISION_BY_ZERO, SCALA_DIGITS
from weft.read.types import duck_literal, duck_type
from weft.sql.expressions import Call, Case, Cast, Expression, Literal, Slot, WindowPart
from weft.sql.types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, DataType, as_decimal, decimal

# An operand that is needed twice is written twice up to this length, and bound by a lambda from there on: written
# twice at every level, 1/(1/(1/...)) would double in length with every level.
_SHORT = 60
# DuckDB takes twice the time and memory for every lambda that stands in the body of another (not in its argument): at
# twenty levels it is gigabytes. So bodies are kept shallow, and what cannot be is refused.
_MAX_NESTED_BODIES = 8
# Text of a double is exact for DECIMAL(38, scale) up to here: 17 digits before the point and 15 after it.
_MAX_TEXT_SCALE = 15
# From here on a double is nearer to infinity than to the greatest float.
_FLOAT_OVERFLOW = "3.4028235677973366e38"
# Spark keeps longer decimals as BigDecimal and casts those to the smaller integers by way of a double.
_COMPACT_DIGITS = 18

_Side = TypeVar("_Side")
_ZERO_ERROR = f"error('{DIVISION_BY_ZERO}')"


def duck_sql(expression: Expression, slots: Mapping[str, str]) -> str:
    """The expression as DuckDB SQL; `slots` holds the SQL of each slot, one that is missing stands for its own name.

    The window is the slots `window_start` and `window_end`. Raises TypeError for what is not portable.

    >>> duck_sql(Call("+", (Slot("a", BIGINT), Literal(1, BIGINT)), BIGINT), {})
    '("a" + CAST(1 AS BIGINT))'
    """
    return _Renderer(slots).sql(expression)


def can_raise(expression: Expression) -> bool:
    """Whether evaluating may fail; says yes when in doubt."""
    match expression:
        case Call(function, arguments, kind):
            if any(map(can_raise, arguments)):
                return True
            if function in ("+", "-", "*", "negate", "abs"):
                return not kind.is_fractional
            if function == "/":
                return kind.is_decimal or not _is_nonzero(arguments[1])
            return function in ("%", "div", "round", "floor", "ceil")
        case Cast(operand, kind):
            total = kind.name in ("string", "boolean", "double", "float") or _widens(expression)
            return can_raise(operand) or not total
        case Case(branches, otherwise):
            return can_raise(otherwise) or any(can_raise(part) for branch in branches for part in branch)
        case _:
            return False


def can_be_null(expression: Expression) -> bool:
    """Whether the value may be NULL; says yes when in doubt."""
    match expression:
        case Literal(value):
            return value is None
        case Call(function):
            return function not in ("is_null", "<=>")
        case _:
            return True


def _is_nonzero(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value not in (None, 0)


def _widens(cast: Cast) -> bool:
    order = ("boolean", "tinyint", "smallint", "int", "bigint")
    source, target = cast.operand.type.name, cast.type.name
    return source in order and target in order and order.index(source) <= order.index(target)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Renderer:
    """Renders one expression; counts the variables it binds."""

    def __init__(self, slots: Mapping[str, str]) -> None:
        self._slots = slots
        self._bound = 0
        self._depths: dict[str, int] = {}

    def sql(self, expression: Expression) -> str:
        match expression:
            case Slot(name):
                return self._slots.get(name, _quoted(name))
            case Literal():
                return duck_literal(expression)
            case WindowPart("window"):
                return f'struct_pack("start" := {self._edge("start")}, "end" := {self._edge("end")})'
            case WindowPart(part):
                return self._edge(part)
            case Cast():
                return self._cast(expression)
            case Case():
                return self._case(expression)
            case Call(function) if function in _RULES:
                return _RULES[function](self, expression)
            case _:
                raise TypeError(f"{expression} is not portable")

    def bound(self, sql: str, body: Callable[[str], str]) -> str:
        """The body over a value that it names more than once."""
        return self.bound_all([sql], lambda names: body(names[0]))

    def bound_all(self, values: Sequence[str], body: Callable[[list[str]], str]) -> str:
        """The body over values that it names more than once; one lambda for all of them."""
        long = [value for value in values if len(value) > _SHORT]
        if not long:
            return body([*values])
        self._bound += 1
        name = f"weft_{self._bound}"
        if len(long) == 1:
            packed, names = long[0], iter([name])
        else:
            packed = f"struct_pack({', '.join(f'v{place} := {value}' for place, value in enumerate(long))})"
            names = iter([f"{name}.v{place}" for place in range(len(long))])
        inside = body([next(names) if len(value) > _SHORT else value for value in values])
        made = f"list_transform([{packed}], lambda {name}: {inside})[1]"
        self._depths[made] = max(self._depth(packed), 1 + self._depth(inside))
        if self._depths[made] > _MAX_NESTED_BODIES:
            raise SqlError("too-deep", "an expression over aggregates is nested too deeply",
                           hint="Take parts apart: select them as columns of their own, or leave out parentheses.")
        return made

    def _depth(self, sql: str) -> int:
        return max((depth for made, depth in self._depths.items() if made in sql), default=0)

    def strict(self, parts: Sequence[tuple[Expression, str]], build: Callable[[list[str]], str], *,
               swapped: bool = False) -> str:
        """`build` over the parts, NULL as soon as one of them is NULL: like Spark, without a look at those after it.

        DuckDB looks from left to right and skips the rest of a function's arguments after one that is NULL in all rows;
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
        """The arguments as values of one type."""
        cast = [one if one.type == kind else Cast(one, kind) for one in call.arguments]
        return [(one, self.sql(one)) for one in cast]

    def alike(self, call: Call) -> list[tuple[Expression, str]]:
        """The arguments of a comparison, as values of one type that holds them all."""
        kinds = {one.type for one in call.arguments}
        if len(kinds) > 1 and all(kind.is_decimal or kind.is_integral for kind in kinds):
            decimals = [as_decimal(kind) for kind in kinds]
            scale = max(kind.scale for kind in decimals)
            digits = max(kind.precision - kind.scale for kind in decimals)
            if digits + scale <= MAX_PRECISION:
                return self.same(call, decimal(digits + scale, scale))
        if len(kinds - {DataType("void")}) > 1:
            raise TypeError(f"{call} compares {sorted(map(str, kinds))}")
        return [(one, self.sql(one)) for one in call.arguments]

    def _edge(self, part: str) -> str:
        return self._slots.get(f"window_{part}", _quoted(f"window_{part}"))

    def _case(self, case: Case) -> str:
        whens = " ".join(f"WHEN {self.sql(test)} THEN {self._branch(value, case.type)}"
                         for test, value in case.branches)
        return f"CASE {whens} ELSE {self._branch(case.otherwise, case.type)} END"

    def _branch(self, value: Expression, kind: DataType) -> str:
        return self.sql(value if value.type == kind else Cast(value, kind))

    def _cast(self, cast: Cast) -> str:
        source, target = cast.operand.type, cast.type
        operand = self.sql(cast.operand)
        name = duck_type(target)
        if source == target:
            return operand
        if source.name == "void":
            return f"CAST(NULL AS {name})"
        if target.name == "string" and (source.is_integral or source.is_decimal or source == BOOLEAN):
            return _text(operand, source)
        if not (source.is_numeric or source == BOOLEAN) or not (target.is_numeric or target == BOOLEAN):
            raise TypeError(f"a cast from {source} to {target} is not portable")
        if target == BOOLEAN:
            return f"({operand} <> 0)"
        if source.is_fractional:
            return self._cast_fractional(operand, source, target)
        if source.is_decimal:
            return _cast_decimal(operand, source, target)
        if source == BOOLEAN and target.is_decimal:
            operand = f"CAST({operand} AS INTEGER)"
        return f"CAST({operand} AS {name})"

    def _cast_fractional(self, operand: str, source: DataType, target: DataType) -> str:
        name = duck_type(target)
        if target == DOUBLE:
            return f"CAST({operand} AS DOUBLE)"
        if target.is_decimal:
            # What is no number is no decimal; Spark gives NULL for it even with ANSI rules.
            return self.bound(operand if source == DOUBLE else f"CAST({operand} AS DOUBLE)", lambda x:
                              f"CASE WHEN isfinite({x}) THEN {_parsed(f'CAST({x} AS VARCHAR)', target)} END")
        if target == BIGINT:
            # Spark compares with the greatest bigint as a double, which is one more than it.
            return self.bound(operand, lambda x:
                              f"CASE WHEN {x} = 9223372036854775808 THEN 9223372036854775807 "
                              f"ELSE CAST(trunc({x}) AS BIGINT) END")
        if target.is_integral:
            return f"CAST(trunc({operand}) AS {name})"
        return self.bound(operand, lambda x:
                          f"CASE WHEN isnan({x}) THEN CAST('NaN' AS FLOAT) "
                          f"WHEN {x} >= {_FLOAT_OVERFLOW} THEN CAST('Infinity' AS FLOAT) "
                          f"WHEN {x} <= -{_FLOAT_OVERFLOW} THEN CAST('-Infinity' AS FLOAT) "
                          f"ELSE CAST({x} AS FLOAT) END")


def _text(operand: str, source: DataType) -> str:
    """Digits as Spark writes them: DuckDB leaves out the zero before the point where a type has no digits there."""
    text = f"CAST({operand} AS VARCHAR)"
    return f"replace({text}, '.', '0.')" if source.is_decimal and source.precision == source.scale else text


def _parsed(text: str, target: DataType) -> str:
    """The decimal of a text; DuckDB refuses exponents where a type has no digits before the point."""
    if target.scale == MAX_PRECISION:
        text = f"weft_decimal_round({text}, {target.scale}, {target.precision}, {target.scale})"
    elif target.precision == target.scale:
        text = f"CAST({text} AS DECIMAL({MAX_PRECISION},{target.scale}))"
    return f"CAST({text} AS {duck_type(target)})"


def _cast_decimal(operand: str, source: DataType, target: DataType) -> str:
    if target.is_fractional:
        # By its digits, which rounds once; DuckDB's own cast divides and rounds twice.
        return f"CAST(CAST({operand} AS VARCHAR) AS {duck_type(target)})"
    if target.is_integral:
        if target != BIGINT and source.precision > _COMPACT_DIGITS:
            operand = f"CAST(CAST({operand} AS VARCHAR) AS DOUBLE)"
        operand = f"trunc({operand})"
    return f"CAST({operand} AS {duck_type(target)})"


def _arithmetic(self: _Renderer, call: Call) -> str:
    if call.type.is_decimal:
        return _decimal_arithmetic(self, call)
    return self.strict(self.same(call, call.type), lambda parts: f"({f' {call.function} '.join(parts)})")


_DIVISOR_FIRST = ("/", "%", "div")
_BY_TEXT = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}


def _decimal_arithmetic(self: _Renderer, call: Call) -> str:
    left, right = (as_decimal(one.type) for one in call.arguments)
    parts = [(one, self.sql(one if one.type.is_decimal else Cast(one, as_decimal(one.type)))) for one in call.arguments]
    if call.function == "*":
        digits = left.precision + right.precision + 1
    else:
        digits = max(left.scale, right.scale) + max(left.precision - left.scale, right.precision - right.scale) + 1
    if call.function not in ("+", "-", "*") or digits > MAX_PRECISION:
        return _by_text(self, call, parts)
    # DuckDB computes with 64 bits unless an operand says that it needs more: one of them says so.
    wide = f"DECIMAL({digits},{left.scale})"
    return self.strict(parts, lambda sides:
                       f"CAST((CAST({sides[0]} AS {wide}) {call.function} {sides[1]}) AS {duck_type(call.type)})")


def _by_text(self: _Renderer, call: Call, parts: list[tuple[Expression, str]]) -> str:
    name = f"weft_decimal_{_BY_TEXT[call.function]}"

    def build(sides: list[str]) -> str:
        texts = ", ".join(f"CAST({side} AS VARCHAR)" for side in _in_order(call, sides))
        made = f"{name}({texts}, {call.type.precision}, {call.type.scale})"
        return f"CAST({made} AS {duck_type(call.type)})"
    return self.strict(_in_order(call, parts), build, swapped=call.function in _DIVISOR_FIRST)


def _in_order(call: Call, sides: list[_Side]) -> list[_Side]:
    """Spark looks at a divisor before the dividend; the same swap puts them back."""
    return sides[::-1] if call.function in _DIVISOR_FIRST else sides


def _division(self: _Renderer, call: Call) -> str:
    """/, % and div: the divisor is looked at first, and NULL over zero is NULL."""
    if call.type.is_decimal:
        return _decimal_arithmetic(self, call)
    if call.function == "div" and any(one.type.is_decimal for one in call.arguments):
        parts = [(one, self.sql(one)) for one in call.arguments]
        return self.strict(_in_order(call, parts), lambda sides:
                           f"weft_decimal_div(CAST({sides[1]} AS VARCHAR), CAST({sides[0]} AS VARCHAR))",
                           swapped=True)
    operator = "//" if call.function == "div" else call.function
    if operator == "/" and _is_nonzero(call.arguments[1]):
        return self.strict(self.same(call, call.type), lambda sides: f"({sides[0]} / {sides[1]})")
    # The least integer over -1 overflows in DuckDB; its remainder is 0 all the same.
    zero = f"CAST(0 AS {duck_type(call.type)})"
    minus_one = f"WHEN {{1}} = -1 THEN {zero} " if operator == "%" and call.type.is_integral else ""
    form = (f"CASE WHEN {{1}} IS NULL THEN NULL WHEN {{0}} IS NULL THEN NULL WHEN {{1}} = 0 THEN {_ZERO_ERROR} "
            f"{minus_one}ELSE {{0}} {operator} {{1}} END")

    def build(sides: list[str]) -> str:
        return self.bound_all(sides, lambda names: form.format(names[1], names[0]))
    return self.strict(_in_order(call, self.same(call, call.type)), build)


def _comparison(operator: str) -> Callable[[_Renderer, Call], str]:
    return lambda self, call: self.strict(self.alike(call), lambda parts: f"({f' {operator} '.join(parts)})")


def _null_safe_equality(self: _Renderer, call: Call) -> str:
    left, right = (sql for _, sql in self.alike(call))
    return f"({left} IS NOT DISTINCT FROM {right})"


def _connective(operator: str) -> Callable[[_Renderer, Call], str]:
    return lambda self, call: _chain(self, operator, [(self.sql(one), can_raise(one)) for one in call.arguments])


def _filled(form: str, part: str) -> Callable[[str], str]:
    return lambda x: form.format(x, part)


def _chain(self: _Renderer, operator: str, parts: Sequence[tuple[str, bool]]) -> str:
    """AND and OR: a part is evaluated only where those before it have not decided."""
    decides, answer = ("NOT ", "false") if operator == "AND" else ("", "true")
    so_far = parts[0][0]
    for part, raises in parts[1:]:
        if raises:
            form = f"CASE WHEN {decides}{{0}} THEN {answer} ELSE ({{0}} {operator} {{1}}) END"
            so_far = self.bound(so_far, _filled(form, part))
        else:
            so_far = f"({so_far} {operator} {part})"
    return so_far


def _in(self: _Renderer, call: Call) -> str:
    (_, sought), *listed = self.alike(call)
    if not any(can_raise(value) for value, _ in listed):
        return f"({sought} IN ({', '.join(sql for _, sql in listed)}))"

    def equals(x: str) -> str:
        found = _chain(self, "OR", [(f"({x} = {sql})", can_raise(value)) for value, sql in listed])
        return f"CASE WHEN {x} IS NULL THEN NULL ELSE {found} END"
    return self.bound(sought, equals)


def _coalesce(self: _Renderer, call: Call) -> str:
    parts = self.same(call, call.type)
    if not any(can_raise(one) for one, _ in parts[1:]):
        return f"coalesce({', '.join(sql for _, sql in parts)})"

    so_far = parts[0][1]
    for _, part in parts[1:]:
        form = "CASE WHEN {0} IS NOT NULL THEN {0} ELSE {1} END"
        so_far = self.bound(so_far, _filled(form, part))
    return so_far


def _nullif(self: _Renderer, call: Call) -> str:
    left, right = (sql for _, sql in self.alike(call))
    return self.bound(left, lambda x: f"CASE WHEN {x} IS NULL THEN NULL WHEN {x} = {right} THEN NULL ELSE {x} END")


def _signed(name: str, form: str) -> Callable[[_Renderer, Call], str]:
    """negate and abs."""

    def render(self: _Renderer, call: Call) -> str:
        kind = duck_type(call.type)
        [(_, operand)] = self.same(call, call.type)
        if call.type.precision > SCALA_DIGITS:
            made = f"weft_decimal_{name}(CAST({operand} AS VARCHAR), {call.type.precision}, {call.type.scale})"
            return f"CAST({made} AS {kind})"
        if name == "negate" and call.type.is_integral:
            return f"(CAST(0 AS {kind}) - {operand})"
        return form.format(operand)
    return render


def _round(self: _Renderer, call: Call) -> str:
    operand, *rest = call.arguments
    digits = 0
    if rest:
        if not isinstance(rest[0], Literal) or not isinstance(rest[0].value, int):
            raise TypeError("round to a number of digits that is no constant is not portable")
        digits = rest[0].value
    x, kind = self.sql(operand), operand.type
    if kind.is_integral:
        return x if digits >= 0 else f"CAST(round({x}, {digits}) AS {duck_type(call.type)})"
    if kind.is_decimal:
        if digits >= 0:
            return f"CAST({x} AS {duck_type(call.type)})"
        made = f"weft_decimal_round(CAST({x} AS VARCHAR), {digits}, {call.type.precision}, {call.type.scale})"
        return f"CAST({made} AS {duck_type(call.type)})"
    if kind.name == "float":
        return f"CAST({_round_double(self, f'CAST({x} AS DOUBLE)', digits)} AS FLOAT)"
    return _round_double(self, x, digits)


def _round_double(self: _Renderer, x: str, digits: int) -> str:
    """Java rounds the shortest text of a double. As a decimal DuckDB does too: away from zero, from all digits."""
    if not 0 <= digits <= _MAX_TEXT_SCALE:
        # DuckDB takes a NaN from Python for NULL.
        return self.bound(x, lambda x: f"CASE WHEN isfinite({x}) THEN weft_double_round({x}, {digits}) ELSE {x} END")
    text = f"CAST(CAST({{0}} AS VARCHAR) AS DECIMAL(38,{digits}))"
    form = f"CASE WHEN abs({{0}}) < 1e17 THEN CAST(CAST({text} AS VARCHAR) AS DOUBLE) ELSE {{0}} END"
    return self.bound(x, form.format)


def _whole(function: str) -> Callable[[_Renderer, Call], str]:
    """floor and ceil."""

    def render(self: _Renderer, call: Call) -> str:
        operand = call.arguments[0]
        x, kind = self.sql(operand), duck_type(call.type)
        if operand.type.is_fractional:
            return self.bound(x, lambda x: f"CASE WHEN isnan({x}) THEN CAST(0 AS {kind}) "
                                           f"ELSE CAST({function}({x}) AS {kind}) END")
        return f"CAST({x} AS {kind})" if operand.type.is_integral else f"CAST({function}({x}) AS {kind})"
    return render


def _doubles(form: str) -> Callable[[_Renderer, Call], str]:
    """A function of doubles whose form names its arguments more than once."""

    def render(self: _Renderer, call: Call) -> str:
        def build(parts: list[str]) -> str:
            return self.bound_all(parts, lambda names: form.format(*names))
        return self.strict(self.same(call, DOUBLE), build)
    return render


def _plain(name: str) -> Callable[[_Renderer, Call], str]:
    """A function that DuckDB has with the same meaning, and that looks at all its arguments."""
    return lambda self, call: f"{name}({', '.join(sql for _, sql in self.same(call, call.type))})"


# NaN is greater than any number, here as in Spark, so `> 0` keeps it. C's power is 1 in places where Java's is NaN.
_RULES: dict[str, Callable[[_Renderer, Call], str]] = {
    "and": _connective("AND"), "or": _connective("OR"),
    "not": lambda self, call: f"(NOT {self.sql(call.arguments[0])})",
    "=": _comparison("="), "<": _comparison("<"), "<=": _comparison("<="), "<=>": _null_safe_equality,
    "is_null": lambda self, call: f"({self.sql(call.arguments[0])} IS NULL)",
    "in": _in, "coalesce": _coalesce, "nullif": _nullif, "greatest": _plain("greatest"), "least": _plain("least"),
    "+": _arithmetic, "-": _arithmetic, "*": _arithmetic, "/": _division, "%": _division, "div": _division,
    "negate": _signed("negate", "(- {0})"), "abs": _signed("abs", "abs({0})"),
    "round": _round, "floor": _whole("floor"), "ceil": _whole("ceil"),
    "sqrt": _plain("sqrt"), "exp": _plain("exp"),
    "ln": _doubles("CASE WHEN {0} > 0 THEN ln({0}) END"),
    "log10": _doubles("CASE WHEN {0} > 0 THEN log10({0}) END"),
    "log2": _doubles("CASE WHEN {0} > 0 THEN log2({0}) END"),
    "sign": _doubles("CASE WHEN isnan({0}) OR {0} = 0 THEN {0} WHEN {0} > 0 THEN CAST(1 AS DOUBLE) "
                     "WHEN {0} < 0 THEN CAST(-1 AS DOUBLE) END"),
    "pow": _doubles("CASE WHEN {0} IS NOT NULL AND (isnan({1}) OR (abs({0}) = 1 AND isinf({1}))) "
                    "THEN CAST('NaN' AS DOUBLE) ELSE pow({0}, {1}) END"),
    # Not for queries to call: what a variance is made of where the sums are exact.
    "squared_distances": lambda self, call: f"weft_squared_distances({', '.join(map(self.sql, call.arguments))})",
}
