"""What DuckDB cannot compute as Spark does, in Python: decimal arithmetic and rounding by decimal text.

Spark's decimals are Java's BigDecimal. DuckDB divides decimals as doubles and knows no result of more than 38 digits
that is rounded back, so such operations take the digits as text, compute exactly, and round where Java rounds.
Cost: about 3 microseconds a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import duckdb

OVERFLOW = "weft:overflow"
DIVISION_BY_ZERO = "weft:division-by-zero"

# Spark multiplies and takes remainders with 39 digits, and divides to 39 digits after the point (Decimal.MATH_CONTEXT).
_SPARK_DIGITS = 39
_SPARK = Context(prec=_SPARK_DIGITS, rounding=ROUND_HALF_UP)
# A quotient of two decimals has at most 76 digits before the point and, unless it is a tie, is at least 1e-80 away from
# a tie: 200 digits decide every rounding.
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
# Scala's BigDecimal, which Spark negates with, keeps 34 digits.
SCALA_DIGITS = 34
_SCALA = Context(prec=SCALA_DIGITS, rounding=ROUND_HALF_EVEN)
# Doubles below 1e17, with all digits before the point and at most 38 after it.
_DOUBLE = Context(prec=400, rounding=ROUND_HALF_UP)
# No double from here on has digits after the point in its shortest text.
_WHOLE_FROM = 1e17


def _scaled(value: Decimal, scale: int, context: Context = _EXACT) -> Decimal:
    """The value with this many digits after the point (before it, where negative), half away from zero."""
    try:
        return value.quantize(Decimal(1).scaleb(-scale), context=context)
    except InvalidOperation:  # 1e300 with 38 digits after the point: more digits than any decimal has
        raise OverflowError(OVERFLOW) from None


def _fitted(value: Decimal, precision: int, scale: int) -> str:
    """The digits of the value as decimal(precision, scale)."""
    answer = _scaled(value, scale)
    # copy_abs, since abs() rounds to the 28 digits of Python's own context
    if answer.copy_abs() >= Decimal(10) ** (precision - scale):
        raise OverflowError(OVERFLOW)
    return format(answer, "f")


def _divisor(text: str) -> Decimal:
    value = Decimal(text)
    if not value:
        raise ZeroDivisionError(DIVISION_BY_ZERO)
    return value


def add(left: str, right: str, precision: int, scale: int) -> str:
    """left + right as decimal(precision, scale)."""
    return _fitted(_EXACT.add(Decimal(left), Decimal(right)), precision, scale)


def subtract(left: str, right: str, precision: int, scale: int) -> str:
    """left - right as decimal(precision, scale)."""
    return _fitted(_EXACT.subtract(Decimal(left), Decimal(right)), precision, scale)


def multiply(left: str, right: str, precision: int, scale: int) -> str:
    """left * right as decimal(precision, scale): rounded twice, as Spark does."""
    return _fitted(_SPARK.multiply(Decimal(left), Decimal(right)), precision, scale)


def divide(left: str, right: str, precision: int, scale: int) -> str:
    """left / right as decimal(precision, scale): rounded twice, as Spark does.

    >>> divide("1.00", "3", 38, 20)
    '0.33333333333333333333'
    """
    quotient = _EXACT.divide(Decimal(left), _divisor(right))
    return _fitted(_scaled(quotient, _SPARK_DIGITS), precision, scale)


def _whole_quotient(left: Decimal, right: Decimal) -> Decimal:
    """Divide and cut the quotient at the point; Java refuses a quotient that its digits cannot hold."""
    quotient = _EXACT.divide_int(left, right)
    if quotient.copy_abs() >= Decimal(10) ** _SPARK_DIGITS:
        raise OverflowError(OVERFLOW)
    return quotient


def remainder(left: str, right: str, precision: int, scale: int) -> str:
    """left % right, with the sign of left, as decimal(precision, scale)."""
    dividend, divisor = Decimal(left), _divisor(right)
    _whole_quotient(dividend, divisor)
    return _fitted(_EXACT.remainder(dividend, divisor), precision, scale)


def divide_whole(left: str, right: str) -> int:
    """left div right as a bigint; like Spark, it does not notice when the quotient needs more than 64 bits."""
    low = int(_whole_quotient(Decimal(left), _divisor(right))) & (2**64 - 1)
    return low - 2**64 if low >= 2**63 else low


def negate(value: str, precision: int, scale: int) -> str:
    """-value; like Spark, it loses the last of more than 34 digits.

    >>> negate("12345678901234567890123456789012345678", 38, 0)
    '-12345678901234567890123456789012350000'
    """
    return _fitted(_SCALA.minus(Decimal(value)), precision, scale)


def absolute(value: str, precision: int, scale: int) -> str:
    """The value without its sign; like Spark, it loses digits where it negates."""
    return negate(value, precision, scale) if value.startswith("-") else value


def round_decimal(value: str, digits: int, precision: int, scale: int) -> str:
    """A decimal rounded to this many digits after the point (before it, where negative)."""
    return _fitted(_scaled(Decimal(value), digits), precision, scale)


def round_double(value: float, digits: int) -> float:
    """A finite double rounded by its shortest decimal text, half away from zero.

    >>> round_double(1.005, 2), round_double(-1250.0, -2)
    (1.01, -1300.0)
    """
    if digits >= 0 and abs(value) >= _WHOLE_FROM:
        return value
    # BigDecimal knows no negative zero, and adding zero takes the sign away.
    return float(_scaled(Decimal(repr(value)), digits, _DOUBLE)) + 0.0


def total(high: str, low: str, unit: str, precision: int, scale: int) -> str:
    """The sum of decimals from that of their high digits, in units, and that of their low digits.

    >>> total("-3", "12.50", "100", 38, 2)
    '-287.50'
    """
    return _fitted(_EXACT.fma(Decimal(high), Decimal(unit), Decimal(low)), precision, scale)


_DECIMALS = ["VARCHAR", "VARCHAR", "INTEGER", "INTEGER"]
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[str], str]] = {
    "weft_decimal_add": (add, _DECIMALS, "VARCHAR"),
    "weft_decimal_subtract": (subtract, _DECIMALS, "VARCHAR"),
    "weft_decimal_multiply": (multiply, _DECIMALS, "VARCHAR"),
    "weft_decimal_divide": (divide, _DECIMALS, "VARCHAR"),
    "weft_decimal_remainder": (remainder, _DECIMALS, "VARCHAR"),
    "weft_decimal_div": (divide_whole, ["VARCHAR", "VARCHAR"], "BIGINT"),
    "weft_decimal_negate": (negate, ["VARCHAR", "INTEGER", "INTEGER"], "VARCHAR"),
    "weft_decimal_abs": (absolute, ["VARCHAR", "INTEGER", "INTEGER"], "VARCHAR"),
    "weft_decimal_round": (round_decimal, ["VARCHAR", "INTEGER", "INTEGER", "INTEGER"], "VARCHAR"),
    "weft_decimal_total": (total, ["VARCHAR", "VARCHAR", "VARCHAR", "INTEGER", "INTEGER"], "VARCHAR"),
    "weft_double_round": (round_double, ["DOUBLE", "INTEGER"], "DOUBLE"),
}
# The sum of squared distances from the mean, of a count, a sum and a sum of squares that are exact integers. Distances
# are taken from the whole part of the mean, in integers; what that is off by is less than 1, and subtracted last.
SQUARED_DISTANCES = """
CREATE MACRO IF NOT EXISTS weft_squared_distances(n, s, q) AS
CASE WHEN n = 0 THEN NULL ELSE
CAST(CAST(q AS HUGEINT) - 2 * (CAST(s AS HUGEINT) // n) * s + (CAST(s AS HUGEINT) // n) * (CAST(s AS HUGEINT) // n) * n
AS DOUBLE) - pow(CAST(s - (CAST(s AS HUGEINT) // n) * n AS DOUBLE), 2) / n END
"""
_installing = threading.Lock()


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions known to a connection and to every cursor of it; a second call does nothing.

    They live in the database, which all cursors share, so the lock and the look are enough for callers in threads.
    """
    with _installing:
        rows = connection.execute("SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'weft%'")
        known = {name for (name,) in rows.fetchall()}
        for name, (function, parameters, result) in FUNCTIONS.items():
            if name not in known:
                connection.create_function(name, function, [*parameters], result)
        connection.execute(SQUARED_DISTANCES)
