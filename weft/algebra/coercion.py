"""Implicit conversions as in Spark with ANSI rules: the common type of operands, and every conversion as a cast.

A deliberate difference: Spark converts a string column that meets a number or a date, and a single bad row then fails
the whole tick. We ask the user to write that cast; a string constant is converted here, once.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.algebra.expressions import Cast, Expression, Literal, text
from weft.algebra.literals import convert, digits_of
from weft.algebra.types import (
    BIGINT,
    DOUBLE,
    INTEGRAL_DIGITS,
    MAX_PRECISION,
    STRING,
    VOID,
    DataType,
    as_decimal,
    decimal,
)
from weft.errors import SqlError

CAST_HINT = "Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert."


def wrong_type(message: str, hint: str = "") -> SqlError:
    """A refusal, to which the binder adds the position."""
    return SqlError("wrong-type", message, hint=hint)


def short_text(expression: Expression) -> str:
    """The text of an expression, cut short for a message."""
    full = text(expression)
    return full if len(full) <= 60 else full[:57] + "..."


def described(expression: Expression) -> str:
    """An expression and its type, for a message."""
    return f"{short_text(expression)} ({expression.type})"


def wider_decimal(left: DataType, right: DataType) -> DataType:
    """The decimal type that holds both; past 38 digits the fraction gives way."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))


def wider(left: DataType, right: DataType) -> DataType | None:
    """The type that both become without loss, or None; strings take part only as constants."""
    if right in (left, VOID):
        return left
    if left == VOID:
        return right
    if left.is_numeric and right.is_numeric:
        if left.is_integral and right.is_integral:
            return max(left, right, key=lambda kind: INTEGRAL_DIGITS[kind.name])
        # float meets anything else as double: an integer or a decimal would lose digits in it.
        if left.is_fractional or right.is_fractional:
            return DOUBLE
        return wider_decimal(as_decimal(left), as_decimal(right))
    if {left.name, right.name} == {"date", "timestamp"}:
        return DataType("timestamp")
    if STRING in (left, right):
        other = right if left == STRING else left
        if other.is_integral:
            return BIGINT
        return DOUBLE if other.is_numeric else other
    return None


def cast(expression: Expression, kind: DataType) -> Expression:
    """The expression as another type, said by the user or already checked; constants are converted now."""
    if expression.type == kind:
        return expression
    if isinstance(expression, Literal):
        converted = convert(expression, kind)
        if converted is not None:
            return converted
    return Cast(expression, kind)


def implicit(expression: Expression, kind: DataType) -> Expression:
    """The expression as another type because of where it stands; refuses what should be said."""
    if expression.type == STRING and kind != STRING and not isinstance(expression, Literal):
        raise wrong_type(f"{short_text(expression)} is string where {kind} is needed", CAST_HINT)
    if not _meets(expression.type, kind):
        raise wrong_type(f"{short_text(expression)} is {expression.type} where {kind} is needed", CAST_HINT)
    return cast(expression, kind)


def _meets(source: DataType, target: DataType) -> bool:
    """Whether Spark casts from the source type to the target type unasked."""
    if source in (target, VOID, STRING) or target == STRING:
        return source.name != "window"
    return (source.is_numeric and target.is_numeric) or {source.name, target.name} == {"date", "timestamp"}


def castable(source: DataType, target: DataType) -> bool:
    """Whether Spark has a cast from the source type to the target type at all."""
    if source in (target, VOID, STRING) or target == STRING:
        return source.name != "window" and target.name != "window"
    if source.is_numeric or source.name == "boolean":
        return target.is_numeric or target.name == "boolean" or (target.name == "timestamp" and source.is_numeric)
    if source.name == "timestamp":
        return target.is_numeric or target.name == "date"
    return source.name == "date" and target.name == "timestamp"


def common_type(expressions: Sequence[Expression], *, strings: bool = True) -> DataType:
    """The common type of the branches of CASE or the values of IN; `strings` says whether constant strings may join."""
    # Spark looks at strings first: (1.5, '7') meet as double, whatever stands first.
    kinds = sorted((expression.type for expression in expressions), key=lambda kind: kind != STRING)
    common = VOID
    for kind in kinds:
        alike = strings or (common == STRING) == (kind == STRING) or VOID in (common, kind)
        met = wider(common, kind) if alike else None
        if met is None:
            shown = ", ".join(dict.fromkeys(str(expression.type) for expression in expressions))
            raise wrong_type(f"values of different types meet: {shown}", CAST_HINT)
        common = met
    return common


def unify(expressions: Sequence[Expression], *, strings: bool = True) -> tuple[tuple[Expression, ...], DataType]:
    """All expressions as their common type."""
    kind = common_type(expressions, strings=strings)
    return tuple(implicit(expression, kind) for expression in expressions), kind


def decimal_types(left: Expression, right: Expression) -> tuple[DataType, DataType]:
    """The types of two operands; an integer next to a decimal counts as a decimal, a constant with its own digits."""
    return _beside(left, right), _beside(right, left)


def _beside(side: Expression, other: Expression) -> DataType:
    """The type of an operand beside another: a decimal for an integer whose neighbour is a decimal."""
    if not side.type.is_integral or not other.type.is_decimal:
        return side.type
    return digits_of(side) if isinstance(side, Literal) and side.value is not None else as_decimal(side.type)


def numeric_pair(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Two operands of arithmetic on decimals, each as its own decimal type."""
    kinds = decimal_types(left, right)
    return cast(left, kinds[0]), cast(right, kinds[1])
