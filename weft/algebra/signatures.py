"""How the arguments of a function become what Spark's function takes, and the type that comes out.

Each rule takes the canonical name and the bound arguments and answers the call with its casts written out.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.algebra.coercion import (
    CAST_HINT,
    cast,
    common_type,
    decimal_types,
    described,
    implicit,
    numeric_pair,
    unify,
    wider,
    wrong_type,
)
from weft.algebra.expressions import Call, Expression, Literal
from weft.algebra.literals import NULL
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    STRING,
    VOID,
    DataType,
    adjusted_decimal,
    decimal,
)

Arguments = tuple[Expression, ...]
CallRule = Callable[[str, Arguments], Expression]


def fixed(*parameters: DataType, returns: DataType) -> CallRule:
    """Arguments cast to these types; the last type repeats for further arguments."""
    def rule(name: str, arguments: Arguments) -> Expression:
        kinds = parameters + parameters[-1:] * (len(arguments) - len(parameters))
        return Call(name, tuple(map(implicit, arguments, kinds)), returns)
    return rule


def anything(returns: DataType) -> CallRule:
    """Arguments of any types, as they are."""
    return lambda name, arguments: Call(name, arguments, returns)


def exactly(*kinds: str, returns: DataType) -> CallRule:
    """A single argument that already has one of these types; NULL takes the first."""
    def rule(name: str, arguments: Arguments) -> Expression:
        argument = arguments[0]
        if argument.type == VOID:
            argument = cast(argument, DataType(kinds[0]))
        if argument.type.name not in kinds:
            raise wrong_type(f"{name} takes a {' or '.join(kinds)}, not {described(argument)}", CAST_HINT)
        return Call(name, (argument,), returns)
    return rule


def numeric(expression: Expression, name: str) -> Expression:
    """An argument that must be a number; a constant string is read as a double, as Spark reads it."""
    if expression.type in (VOID, STRING):
        return implicit(expression, DOUBLE)
    if not expression.type.is_numeric:
        raise wrong_type(f"{name} takes numbers, not {described(expression)}", CAST_HINT)
    return expression


def same_number(name: str, arguments: Arguments) -> Expression:
    """A single number in, the same type out: abs, negate."""
    argument = numeric(arguments[0], name)
    return Call(name, (argument,), argument.type)


def bits(name: str, arguments: Arguments) -> Expression:
    """Integers of the same type: & | ^ ~."""
    kind = common_type([NULL, *arguments])
    if kind == VOID:
        kind = INT
    if not kind.is_integral:
        raise wrong_type(f"{name} takes integers, not {' and '.join(str(part.type) for part in arguments)}", CAST_HINT)
    return Call(name, tuple(implicit(argument, kind) for argument in arguments), kind)


def shift(name: str, arguments: Arguments) -> Expression:
    """An int or a bigint, shifted by an int."""
    kind = BIGINT if arguments[0].type == BIGINT else INT
    value = implicit(numeric(arguments[0], name), kind)
    return Call(name, (value, implicit(arguments[1], INT)), kind)


def arithmetic(name: str, arguments: Arguments) -> Expression:
    """+ - * % pmod and the try_ forms: both sides as the same type; decimals keep their own, and the result follows."""
    left, right = arguments
    operator = TRY_OPERATORS.get(name, name)
    dates = _date_arithmetic(name, left, right)
    if dates is not None:
        return dates
    left, right, kind = _meet(operator, left, right)
    if kind.is_decimal:
        left, right = numeric_pair(left, right)
        return Call(name, (left, right), decimal_result(operator, left.type, right.type))
    return Call(name, (implicit(left, kind), implicit(right, kind)), kind)


TRY_OPERATORS = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "pmod": "%"}


def divide(name: str, arguments: Arguments) -> Expression:
    """/ gives a decimal from decimals and a double from everything else."""
    left, right = arguments
    left_void = left.type == VOID
    left, right, kind = _meet("/", left, right)
    if kind.is_decimal and not left_void:
        left, right = numeric_pair(left, right)
        return Call(name, (left, right), decimal_result("/", left.type, right.type))
    return Call(name, (implicit(left, DOUBLE), implicit(right, DOUBLE)), DOUBLE)


def whole_division(name: str, arguments: Arguments) -> Expression:
    """div gives a bigint, from integers or decimals."""
    left, right, kind = _meet("div", *arguments)
    if kind.is_decimal:
        return Call(name, numeric_pair(left, right), BIGINT)
    if kind.is_fractional and VOID not in (left.type, right.type):
        raise wrong_type(f"div takes integers or decimals, not {left.type} and {right.type}", "Use floor(a / b).")
    return Call(name, (implicit(left, BIGINT), implicit(right, BIGINT)), BIGINT)


def _meet(operator: str, left: Expression, right: Expression) -> tuple[Expression, Expression, DataType]:
    """Both sides and the type they meet in; a side that is NULL takes the type of the other."""
    kind = wider(left.type, right.type)
    if kind == VOID:
        kind = BIGINT if operator == "div" else DOUBLE
    if kind is None or not kind.is_numeric:
        raise wrong_type(f"{operator} takes numbers, not {described(left)} and {described(right)}", CAST_HINT)
    if left.type == VOID:
        left = cast(left, kind)
    if right.type == VOID:
        right = cast(right, kind)
    # A constant string has made double or bigint of the pair already.
    if STRING in (left.type, right.type):
        left, right = implicit(left, kind), implicit(right, kind)
    return left, right, kind


def _date_arithmetic(name: str, left: Expression, right: Expression) -> Expression | None:
    """date + days and date - days; other arithmetic on times is refused by name."""
    if left.type.is_integral and right.type == DATE and name == "+":
        left, right = right, left
    if left.type == DATE and right.type.is_integral and right.type != BIGINT and name in ("+", "-"):
        return Call("date_add" if name == "+" else "date_sub", (left, cast(right, INT)), DATE)
    if {left.type.name, right.type.name} & {"date", "timestamp"}:
        raise wrong_type(f"{name} is not supported on {left.type} and {right.type}",
                         "Use date_add, datediff, or unix_micros for arithmetic on times.")
    return None


def decimal_result(operator: str, left: DataType, right: DataType) -> DataType:
    """The type of decimal arithmetic, from the types of its operands."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return adjusted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return adjusted_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return adjusted_decimal(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return adjusted_decimal(min(p1 - s1, p2 - s2) + scale, scale)


def comparison(name: str, arguments: Arguments) -> Expression:
    """= < <= <=>: both sides as the same type."""
    left, right = arguments
    kind = wider(*decimal_types(left, right))
    if kind is None or kind.name == "window":
        raise wrong_type(f"{described(left)} cannot be compared with {described(right)}", CAST_HINT)
    return Call(name, (implicit(left, kind), implicit(right, kind)), BOOLEAN)


def membership(name: str, arguments: Arguments) -> Expression:
    """IN: the value and the list as the same type."""
    return Call(name, unify(arguments)[0], BOOLEAN)


def common(name: str, arguments: Arguments) -> Expression:
    """coalesce: all arguments as the same type, which is the type of the result."""
    unified, kind = unify(arguments)
    return Call(name, unified, kind)


def common_without_strings(name: str, arguments: Arguments) -> Expression:
    """greatest, least: Spark converts no string here."""
    unified, kind = unify(arguments, strings=False)
    return Call(name, unified, kind)


def whole(name: str, arguments: Arguments) -> Expression:
    """ceil and floor: a bigint, or a decimal without a fraction; a decimal that has none keeps its type."""
    argument = numeric(arguments[0], name)
    if argument.type.is_decimal:
        if argument.type.scale == 0:
            return Call(name, (argument,), argument.type)
        digits = min(argument.type.precision - argument.type.scale + 1, MAX_PRECISION)
        return Call(name, (argument,), decimal(digits, 0))
    return Call(name, (argument if argument.type == BIGINT else implicit(argument, DOUBLE),), BIGINT)


def rounding(name: str, arguments: Arguments) -> Expression:
    """round: the type stays, and a decimal keeps as many digits as the result can have."""
    value = numeric(arguments[0], name)
    scale = implicit(arguments[1], INT) if len(arguments) > 1 else Literal(0, INT)
    if not isinstance(scale, Literal) or not isinstance(scale.value, int) or abs(scale.value) > MAX_PRECISION:
        raise wrong_type("round takes a constant number of places, from -38 to 38")
    kind = value.type
    if kind.is_decimal:
        digits = kind.precision - kind.scale + 1
        if scale.value < 0:
            kind = decimal(min(max(digits, 1 - scale.value), MAX_PRECISION), 0)
        else:
            smaller = min(kind.scale, scale.value)
            kind = decimal(min(digits + smaller, MAX_PRECISION), smaller)
    return Call(name, (value, scale), kind)


def not_a_number(name: str, arguments: Arguments) -> Expression:
    """isnan and nanvl: float stays float, everything else becomes double."""
    kind = FLOAT if arguments[0].type == FLOAT and {arguments[-1].type} <= {FLOAT, VOID} else DOUBLE
    return Call(name, tuple(implicit(argument, kind) for argument in arguments), BOOLEAN if name == "isnan" else kind)
