"""Casts between numbers, truths and text, as DuckDB SQL that gives Spark's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.algebra.expressions import Cast
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, DataType
from weft.segments.types import duck_type

if TYPE_CHECKING:
    from weft.backend.renderer import Renderer

# From here on a double is nearer to infinity than to the greatest float.
_FLOAT_OVERFLOW = "3.4028235677973366e38"
# Spark keeps longer decimals as BigDecimal and casts them to the smaller integers by way of a double.
_COMPACT_DIGITS = 18


def cast_sql(renderer: Renderer, cast: Cast) -> str:
    """Write a cast that gives what Spark's cast gives, or fails where Spark's fails."""
    if cast.type == DOUBLE and isinstance(cast.operand, Cast) and _skips_float(cast.operand):
        cast = Cast(cast.operand.operand, DOUBLE)
    source, target = cast.operand.type, cast.type
    operand = renderer.sql(cast.operand)
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
        return _cast_fractional(renderer, operand, source, target)
    if source.is_decimal:
        return _cast_decimal(operand, source, target)
    if source == BOOLEAN and target.is_decimal:
        operand = f"CAST({operand} AS INTEGER)"
    return f"CAST({operand} AS {name})"


def _skips_float(inner: Cast) -> bool:
    """Whether Spark casts to double what was cast: it takes a float for wider than any whole number."""
    return inner.type.name == "float" and inner.operand.type.is_integral


def _cast_fractional(renderer: Renderer, operand: str, source: DataType, target: DataType) -> str:
    name = duck_type(target)
    if target == DOUBLE:
        return f"CAST({operand} AS DOUBLE)"
    if target.is_decimal:
        # NaN and infinity have no decimal; Spark gives NULL for them even with ANSI rules.
        return renderer.bound(operand if source == DOUBLE else f"CAST({operand} AS DOUBLE)", lambda x:
                              f"CASE WHEN isfinite({x}) THEN {_parsed(f'CAST({x} AS VARCHAR)', target)} END")
    if target == BIGINT:
        # Spark compares with the greatest bigint as a double, which is greater by 1.
        return renderer.bound(operand, lambda x:
                              f"CASE WHEN {x} = 9223372036854775808 THEN 9223372036854775807 "
                              f"ELSE CAST(trunc({x}) AS BIGINT) END")
    if target.is_integral:
        return f"CAST(trunc({operand}) AS {name})"
    return renderer.bound(operand, lambda x:
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
        # The cast goes by the digits, which rounds once; DuckDB's own cast divides and rounds twice.
        return f"CAST(CAST({operand} AS VARCHAR) AS {duck_type(target)})"
    if target.is_integral:
        if target != BIGINT and source.precision > _COMPACT_DIGITS:
            operand = f"CAST(CAST({operand} AS VARCHAR) AS DOUBLE)"
        operand = f"trunc({operand})"
    return f"CAST({operand} AS {duck_type(target)})"
