"""The portable operators, a rule each: where DuckDB's own differs (remainders, rounding), the rule makes up for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from weft.algebra.expressions import Call, Cast, Expression, Literal
from weft.algebra.types import DOUBLE, MAX_PRECISION, as_decimal
from weft.backend.functions import DIVISION_BY_ZERO, OVERFLOW, SCALA_DIGITS
from weft.backend.raising import can_raise, is_nonzero
from weft.backend.renderer import Renderer, Rule
from weft.segments.types import duck_type

# Text of a double is exact for DECIMAL(38, scale) up to here: 17 digits before the point and 15 after it.
_MAX_TEXT_SCALE = 15

# A longer chain is made of chains: DuckDB takes a thousand levels, and a link of a chain may be three.
_LONG_CHAIN = 32

_Side = TypeVar("_Side")
_ZERO_ERROR = f"error('{DIVISION_BY_ZERO}')"
_OVERFLOW_ERROR = f"error('{OVERFLOW}')"


def _arithmetic(renderer: Renderer, call: Call) -> str:
    if call.type.is_decimal:
        return _decimal_arithmetic(renderer, call)
    return renderer.strict(renderer.same(call, call.type), lambda parts: kept(f"({f' {call.function} '.join(parts)})"))


def kept(sql: str) -> str:
    """A number that is computed whatever is asked of it, so that it fails where it overflows.

    DuckDB makes `x > 2` of `x + 1 > 3`, `x IS NULL` of `x + 1 IS NULL` and `sum(x) + count(x)` of `sum(x + 1)`, which
    never fail. It does not look behind a sign.
    """
    return f"(+{sql})"


_DIVISOR_FIRST = ("/", "%", "div")
_BY_TEXT = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}


def _decimal_arithmetic(renderer: Renderer, call: Call) -> str:
    left, right = (as_decimal(argument.type) for argument in call.arguments)
    as_decimals = [
        argument if argument.type.is_decimal else Cast(argument, as_decimal(argument.type))
        for argument in call.arguments
    ]
    parts: list[tuple[Expression, str]] = [(argument, renderer.sql(argument)) for argument in as_decimals]
    if call.function == "*":
        digits = left.precision + right.precision + 1
    else:
        digits = max(left.scale, right.scale) + max(left.precision - left.scale, right.precision - right.scale) + 1
    if call.function not in ("+", "-", "*") or digits > MAX_PRECISION:
        return _by_text(renderer, call, parts)
    # DuckDB computes with 64 bits unless an operand says that it needs more: the left operand says so.
    wide = f"DECIMAL({digits},{left.scale})"
    return renderer.strict(parts, lambda sides:
                           f"CAST((CAST({sides[0]} AS {wide}) {call.function} {sides[1]}) AS {duck_type(call.type)})")


def _by_text(renderer: Renderer, call: Call, parts: list[tuple[Expression, str]]) -> str:
    name = f"weft_decimal_{_BY_TEXT[call.function]}"

    def build(sides: list[str]) -> str:
        texts = ", ".join(f"CAST({side} AS VARCHAR)" for side in _in_order(call, sides))
        sql = f"{name}({texts}, {call.type.precision}, {call.type.scale})"
        return f"CAST({sql} AS {duck_type(call.type)})"
    return renderer.strict(_in_order(call, parts), build, swapped=call.function in _DIVISOR_FIRST)


def _in_order(call: Call, sides: list[_Side]) -> list[_Side]:
    """Put a divisor before its dividend, as Spark looks at them; a second call puts them back."""
    return sides[::-1] if call.function in _DIVISOR_FIRST else sides


def _division(renderer: Renderer, call: Call) -> str:
    """Write /, % or div: the divisor is looked at first, and NULL over zero is NULL."""
    if call.type.is_decimal:
        return _decimal_arithmetic(renderer, call)
    if call.function == "div" and any(argument.type.is_decimal for argument in call.arguments):
        parts = [(argument, renderer.sql(argument)) for argument in call.arguments]
        return renderer.strict(_in_order(call, parts), lambda sides:
                               f"weft_decimal_div(CAST({sides[1]} AS VARCHAR), CAST({sides[0]} AS VARCHAR))",
                               swapped=True)
    operator = "//" if call.function == "div" else call.function
    if operator == "/" and is_nonzero(call.arguments[1]):
        return renderer.strict(renderer.same(call, call.type), lambda sides: f"({sides[0]} / {sides[1]})")
    # The least integer over -1 overflows in DuckDB; its remainder is 0 all the same.
    zero = f"CAST(0 AS {duck_type(call.type)})"
    minus_one = f"WHEN {{1}} = -1 THEN {zero} " if operator == "%" and call.type.is_integral else ""
    form = (f"CASE WHEN {{1}} IS NULL THEN NULL WHEN {{0}} IS NULL THEN NULL WHEN {{1}} = 0 THEN {_ZERO_ERROR} "
            f"{minus_one}ELSE {{0}} {operator} {{1}} END")

    def build(sides: list[str]) -> str:
        return renderer.bound_all(sides, lambda names: form.format(names[1], names[0]))
    return renderer.strict(_in_order(call, renderer.same(call, call.type)), build)


def _comparison(operator: str) -> Rule:
    def render(renderer: Renderer, call: Call) -> str:
        return renderer.strict(renderer.alike(call), lambda parts: f"({f' {operator} '.join(parts)})")
    return render


def _null_safe_equality(renderer: Renderer, call: Call) -> str:
    left, right = (sql for _, sql in renderer.alike(call))
    return f"({left} IS NOT DISTINCT FROM {right})"


def _connective(operator: str) -> Rule:
    def render(renderer: Renderer, call: Call) -> str:
        parts = [(renderer.sql(argument), can_raise(argument)) for argument in call.arguments]
        return _chain(renderer, operator, parts)
    return render


def _filled(form: str, part: str) -> Callable[[str], str]:
    return lambda x: form.format(x, part)


def _chain(renderer: Renderer, operator: str, parts: Sequence[tuple[str, bool]]) -> str:
    """Write AND or OR: a part is evaluated only where the parts before it have not decided."""
    if len(parts) > _LONG_CHAIN:
        links = [(_chain(renderer, operator, link), any(raises for _, raises in link)) for link in _links(parts)]
        return _chain(renderer, operator, links)
    decides, answer = ("NOT ", "false") if operator == "AND" else ("", "true")
    so_far = parts[0][0]
    for part, raises in parts[1:]:
        if raises:
            form = f"CASE WHEN {decides}{{0}} THEN {answer} ELSE ({{0}} {operator} {{1}}) END"
            so_far = renderer.bound(so_far, _filled(form, part))
        else:
            so_far = f"({so_far} {operator} {part})"
    return so_far


def _in(renderer: Renderer, call: Call) -> str:
    (_, sought), *listed = renderer.alike(call)
    if not any(can_raise(value) for value, _ in listed):
        return f"({sought} IN ({', '.join(sql for _, sql in listed)}))"

    def equals(x: str) -> str:
        is_listed = _chain(renderer, "OR", [(f"({x} = {sql})", can_raise(value)) for value, sql in listed])
        return f"CASE WHEN {x} IS NULL THEN NULL ELSE {is_listed} END"
    return renderer.bound(sought, equals)


def _coalesce(renderer: Renderer, call: Call) -> str:
    parts = renderer.same(call, call.type)
    if not any(can_raise(argument) for argument, _ in parts[1:]):
        return f"coalesce({', '.join(sql for _, sql in parts)})"

    return _first_present(renderer, [sql for _, sql in parts])


def _first_present(renderer: Renderer, parts: Sequence[str]) -> str:
    if len(parts) > _LONG_CHAIN:
        return _first_present(renderer, [_first_present(renderer, link) for link in _links(parts)])
    so_far = parts[0]
    for part in parts[1:]:
        form = "CASE WHEN {0} IS NOT NULL THEN {0} ELSE {1} END"
        so_far = renderer.bound(so_far, _filled(form, part))
    return so_far


def _links(parts: Sequence[_Side]) -> list[Sequence[_Side]]:
    return [parts[at : at + _LONG_CHAIN] for at in range(0, len(parts), _LONG_CHAIN)]


def _nullif(renderer: Renderer, call: Call) -> str:
    left, right = (sql for _, sql in renderer.alike(call))
    return renderer.bound(left, lambda x: f"CASE WHEN {x} IS NULL THEN NULL WHEN {x} = {right} THEN NULL ELSE {x} END")


def _signed(name: str, form: str) -> Rule:
    """The rule of negate or abs."""

    def render(renderer: Renderer, call: Call) -> str:
        kind = duck_type(call.type)
        [(_, operand)] = renderer.same(call, call.type)
        if call.type.precision > SCALA_DIGITS:
            sql = f"weft_decimal_{name}(CAST({operand} AS VARCHAR), {call.type.precision}, {call.type.scale})"
            return f"CAST({sql} AS {kind})"
        if name == "negate" and call.type.is_integral:
            return kept(f"(CAST(0 AS {kind}) - {operand})")
        sql = form.format(operand)
        return sql if call.type.is_fractional else kept(sql)
    return render


def _round(renderer: Renderer, call: Call) -> str:
    operand, *rest = call.arguments
    digits = 0
    if rest:
        if not isinstance(rest[0], Literal) or not isinstance(rest[0].value, int):
            raise TypeError("round to a number of digits that is no constant is not portable")
        digits = rest[0].value
    x, kind = renderer.sql(operand), operand.type
    if kind.is_integral:
        return x if digits >= 0 else f"CAST(round({x}, {digits}) AS {duck_type(call.type)})"
    if kind.is_decimal:
        if digits >= 0:
            return f"CAST({x} AS {duck_type(call.type)})"
        sql = f"weft_decimal_round(CAST({x} AS VARCHAR), {digits}, {call.type.precision}, {call.type.scale})"
        return f"CAST({sql} AS {duck_type(call.type)})"
    if kind.name == "float":
        return f"CAST({_round_double(renderer, f'CAST({x} AS DOUBLE)', digits)} AS FLOAT)"
    return _round_double(renderer, x, digits)


def _round_double(renderer: Renderer, x: str, digits: int) -> str:
    """Round the shortest text of a double, as Java does: as a decimal, away from zero, from all digits."""
    if not 0 <= digits <= _MAX_TEXT_SCALE:
        # DuckDB takes a NaN from Python for NULL.
        form = f"CASE WHEN isfinite({{0}}) THEN weft_double_round({{0}}, {digits}) ELSE {{0}} END"
        return renderer.bound(x, form.format)
    text = f"CAST(CAST({{0}} AS VARCHAR) AS DECIMAL(38,{digits}))"
    form = f"CASE WHEN abs({{0}}) < 1e17 THEN CAST(CAST({text} AS VARCHAR) AS DOUBLE) ELSE {{0}} END"
    return renderer.bound(x, form.format)


def _whole(function: str) -> Rule:
    """The rule of floor or ceil."""

    def render(renderer: Renderer, call: Call) -> str:
        operand = call.arguments[0]
        x, kind = renderer.sql(operand), duck_type(call.type)
        if operand.type.is_fractional:
            return renderer.bound(x, lambda x: f"CASE WHEN isnan({x}) THEN CAST(0 AS {kind}) "
                                               f"ELSE CAST({function}({x}) AS {kind}) END")
        return f"CAST({x} AS {kind})" if operand.type.is_integral else f"CAST({function}({x}) AS {kind})"
    return render


def _doubles(form: str) -> Rule:
    """The rule of a function of doubles whose form names its arguments more than once."""

    def render(renderer: Renderer, call: Call) -> str:
        def build(parts: list[str]) -> str:
            return renderer.bound_all(parts, lambda names: form.format(*names))
        return renderer.strict(renderer.same(call, DOUBLE), build)
    return render


def _plain(name: str) -> Rule:
    """The rule of a function that DuckDB has with the same meaning, and that looks at all its arguments."""
    return lambda renderer, call: f"{name}({', '.join(sql for _, sql in renderer.same(call, call.type))})"


def _squared_distances(renderer: Renderer, call: Call) -> str:
    return f"weft_squared_distances({', '.join(map(renderer.sql, call.arguments))})"


def _total(renderer: Renderer, call: Call) -> str:
    """Write a sum, kept too wide to overflow, in the type that it is read in; it fails where Spark's overflows."""
    parts = [renderer.sql(argument) for argument in call.arguments]
    if len(parts) > 1:
        texts = ", ".join(f"CAST({part} AS VARCHAR)" for part in parts)
        sql = f"weft_decimal_total({texts}, {call.type.precision}, {call.type.scale})"
        return f"CAST({sql} AS {duck_type(call.type)})"
    outside = f"NOT BETWEEN {-2**63} AND {2**63 - 1}"
    return renderer.bound(parts[0], lambda x: f"CASE WHEN {x} {outside} THEN {_OVERFLOW_ERROR} "
                                              f"ELSE CAST({x} AS {duck_type(call.type)}) END")


# NaN is greater than any number, here as in Spark, so `> 0` keeps it. C's power is 1 for arguments where Java's is NaN.
RULES: dict[str, Rule] = {
    "and": _connective("AND"), "or": _connective("OR"),
    "not": lambda renderer, call: f"(NOT {renderer.sql(call.arguments[0])})",
    "=": _comparison("="), "<": _comparison("<"), "<=": _comparison("<="), "<=>": _null_safe_equality,
    "is_null": lambda renderer, call: f"({renderer.sql(call.arguments[0])} IS NULL)",
    "in": _in, "coalesce": _coalesce, "nullif": _nullif, "greatest": _plain("greatest"), "least": _plain("least"),
    "+": _arithmetic, "-": _arithmetic, "*": _arithmetic, "/": _division, "%": _division, "div": _division,
    "negate": _signed("negate", "(- {0})"), "abs": _signed("abs", "abs({0})"),
    "round": _round, "floor": _whole("floor"), "ceil": _whole("ceil"),
    "sqrt": _plain("sqrt"), "exp": _plain("exp"),
    "ln": _doubles("CASE WHEN {0} > 0 THEN ln({0}) END"),
    "log10": _doubles("CASE WHEN {0} > 0 THEN log10({0}) END"),
    # As Java does it: 29 and a little more for 2^29, where log2 of C is 29.
    "log2": _doubles("CASE WHEN {0} > 0 THEN ln({0}) / ln(CAST(2 AS DOUBLE)) END"),
    "sign": _doubles("CASE WHEN isnan({0}) OR {0} = 0 THEN {0} WHEN {0} > 0 THEN CAST(1 AS DOUBLE) "
                     "WHEN {0} < 0 THEN CAST(-1 AS DOUBLE) END"),
    "pow": _doubles("CASE WHEN {0} IS NOT NULL AND (isnan({1}) OR (abs({0}) = 1 AND isinf({1}))) "
                    "THEN CAST('NaN' AS DOUBLE) ELSE pow({0}, {1}) END"),
    # No query calls this: a variance is made of it where the sums are exact.
    "squared_distances": _squared_distances,
    # No query calls this: a sum is made of it where rows of other queries must not make it overflow.
    "total": _total,
}
