"""Which expressions can fail on a row, given ANSI rules: the others may be moved, repeated or dropped freely."""

from __future__ import annotations

from weft.algebra.expressions import Call, Cast, Expression, Literal, walk
from weft.algebra.types import BIGINT, INTEGRAL_DIGITS, STRING, DataType

# Functions that answer every row of their argument types, a few rows with NULL, none with an error.
TOTAL = frozenset("""
    and or not = < <= <=> is_null in like rlike coalesce greatest least isnan nanvl
    try_add try_subtract try_multiply try_divide try_cast
    sign negative_zero sqrt cbrt exp ln log10 log2 pow & | ^ ~ shiftleft shiftright hash xxhash64 md5 sha1 sha2 crc32
    upper lower trim ltrim rtrim length concat concat_ws substring left right replace translate lpad rpad reverse repeat
    instr locate startswith endswith contains regexp_extract regexp_replace ascii initcap
    year quarter month day dayofweek dayofyear weekofyear hour minute second extract_second date_trunc trunc datediff
    last_day unix_timestamp unix_micros unix_millis unix_seconds date_format
""".split())


def can_fail(expression: Expression) -> bool:
    """Whether a row could make the expression raise an error.

    >>> from weft.algebra.expressions import Column
    >>> from weft.algebra.types import INT
    >>> can_fail(Call("+", (Column("a", INT), Column("b", INT)), INT))
    True
    """
    return any(_fails(node) for node in walk(expression))


def _fails(node: Expression) -> bool:
    """Whether a node itself, apart from its parts, can raise an error."""
    if isinstance(node, Cast):
        return not _lossless(node.operand.type, node.type)
    if not isinstance(node, Call) or node.function in TOTAL:
        return False
    if node.function in ("ceil", "floor"):
        return not _fits_bigint(node.arguments[0])
    # Floating point overflows to infinity; only a zero divisor raises, and not if it is a constant other than zero.
    if node.type.is_fractional:
        if node.function in ("+", "-", "*", "negate", "abs", "round"):
            return False
        if node.function in ("/", "%", "pmod"):
            divisor = node.arguments[1]
            return not isinstance(divisor, Literal) or not divisor.value
    return True


def _fits_bigint(argument: Expression) -> bool:
    """Whether ceil and floor of a number fit 64 bits: doubles may lie beyond, where both fail; decimals have room."""
    if not argument.type.is_fractional:
        return True
    if isinstance(argument, Literal):
        return argument.value is None or abs(float(argument.value)) < 2**63  # type: ignore[arg-type]
    # The greatest bigints are 2^63 as a double.
    return isinstance(argument, Cast) and argument.operand.type.is_integral and argument.operand.type != BIGINT


def _lossless(source: DataType, target: DataType) -> bool:
    """Whether a cast succeeds for every value of the source type."""
    # The other way round fails: dates go on where timestamps end, in the year 294247.
    if target in (STRING, source) or (source.name, target.name) == ("timestamp", "date"):
        return True
    if source.name == "boolean" and target.is_decimal:
        return target.precision > target.scale  # where all digits are behind the point, there is no 1
    if target.name == "double" or source.name == "boolean":
        return source.is_numeric or source.name == "boolean"
    if source.is_integral and target.is_integral:
        return INTEGRAL_DIGITS[source.name] <= INTEGRAL_DIGITS[target.name]
    if source.is_integral and target.is_decimal:
        return INTEGRAL_DIGITS[source.name] <= target.precision - target.scale
    if source.is_decimal and target.is_decimal:
        return source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale
    return source.is_numeric and target.name in ("float", "boolean")
