"""The data types of columns and expressions, named and related as Spark names and relates them."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PRECISION = 38
MIN_ADJUSTED_SCALE = 6


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type; precision and scale matter for decimals only."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def is_integral(self) -> bool:
        return self.name in INTEGRAL_DIGITS

    @property
    def is_fractional(self) -> bool:
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.is_fractional or self.is_decimal


# How many decimal digits hold every value of an integral type, in order of width.
INTEGRAL_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
INTEGRAL_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}

VOID = DataType("void")
BOOLEAN = DataType("boolean")
TINYINT = DataType("tinyint")
SMALLINT = DataType("smallint")
INT = DataType("int")
BIGINT = DataType("bigint")
FLOAT = DataType("float")
DOUBLE = DataType("double")
STRING = DataType("string")
DATE = DataType("date")
TIMESTAMP = DataType("timestamp")
# The struct<start, end> that Spark's window() makes.
WINDOW = DataType("window")


def decimal(precision: int, scale: int) -> DataType:
    """The decimal type with these digits; refuses what Spark cannot hold."""
    if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
        raise ValueError(f"decimal({precision},{scale}) is out of range")
    return DataType("decimal", precision, scale)


def adjusted_decimal(precision: int, scale: int) -> DataType:
    """Spark's answer to an arithmetic result that needs more than 38 digits: give up scale, but keep six.

    >>> str(adjusted_decimal(40, 10)), str(adjusted_decimal(50, 4))
    ('decimal(38,8)', 'decimal(38,4)')
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    digits = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - digits, min(scale, MIN_ADJUSTED_SCALE)))


def as_decimal(kind: DataType) -> DataType:
    """The decimal type that holds every value of an integral or decimal type."""
    return kind if kind.is_decimal else decimal(INTEGRAL_DIGITS[kind.name], 0)
