"""Constants, with the value and the type that Spark gives them; others are refused before anything runs.

`convert` answers a cast of a constant at plan time. It answers None where the cast must be left to Spark (the value
would not fit, or the result is not exact), so that no error of the query is folded away.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from math import isfinite
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from weft.algebra.expressions import Literal, Value
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGRAL_BITS,
    MAX_PRECISION,
    STRING,
    VOID,
    DataType,
    decimal,
)
from weft.errors import SqlError

NULL = Literal(None, VOID)
TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
DATE_TEXT = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
# As in Spark, the name of a zone may only follow seconds.
TIME_TEXT = re.compile(
    DATE_TEXT.pattern + r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::\d{2})?|(?(6)[A-Z]\w*(?:/[A-Z][\w+-]*)+|(?!)))?)?", re.ASCII)


def is_whole(text: str) -> bool:
    """Whether a text is a whole number in plain digits; ² and ٣, digits to Python, are no number here."""
    return text.isascii() and text.isdecimal()


def fits(value: int, kind: DataType) -> bool:
    """Whether an integral type holds a value."""
    bits = INTEGRAL_BITS[kind.name]
    return -(1 << bits - 1) <= value < 1 << bits - 1


def number(text: str) -> Literal:
    """The constant that a number in the text stands for.

    >>> [str(number(text).type) for text in ("5", "5000000000", "1.50", "1e3")]
    ['int', 'bigint', 'decimal(3,2)', 'double']
    """
    if not NUMBER.fullmatch(text):
        raise SqlError("syntax-error", f"{text[:40]!r} is no number")
    if "e" in text.lower():
        value = float(text)
        if not isfinite(value):
            raise SqlError("wrong-type", f"the number {text[:40]} does not fit a double")
        return Literal(value, DOUBLE)
    if re.fullmatch(r"[+-]?\d+", text):
        whole = int(text) if len(text) <= MAX_PRECISION + 2 else None
        if whole is not None and fits(whole, BIGINT):
            return Literal(whole, INT if fits(whole, INT) else BIGINT)
    exact = _unsigned_zero(Decimal(text))
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale, 1)
    if precision > MAX_PRECISION:
        raise SqlError("wrong-type", f"the number has more than {MAX_PRECISION} digits",
                       hint="Write it as a double, as in 1e3.")
    return Literal(exact, decimal(precision, scale))


def _unsigned_zero(value: Decimal) -> Decimal:
    """The value as Java's BigDecimal has it, which knows no -0.0."""
    return value if value else value.copy_abs()


def digits_of(literal: Literal) -> DataType:
    """The smallest decimal type that holds an integer constant: what Spark gives it next to a decimal."""
    assert isinstance(literal.value, int)
    return decimal(len(str(abs(literal.value))), 0)


def convert(literal: Literal, kind: DataType) -> Literal | None:
    """A cast of a constant, done now; None where only Spark can do it. Text that no cast accepts is refused."""
    value = literal.value
    if value is None or literal.type == kind:
        return Literal(value, kind)
    if isinstance(value, str):
        return _from_text(value, kind)
    if isinstance(value, datetime):
        return Literal(value.date(), kind) if kind.name == "date" else None
    if isinstance(value, date):
        midnight = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return Literal(midnight, kind) if kind.name == "timestamp" else None
    if isinstance(value, bool):
        if kind == STRING:
            return Literal("true" if value else "false", kind)
        value = int(value)
    if kind.is_integral:
        return _whole(Decimal(value), kind) if not isinstance(value, float) or isfinite(value) else None
    if kind.is_decimal and not isinstance(value, float):
        return _rounded(Decimal(value), kind)
    if kind.name == "double":
        # float(float32) is exact, int and decimal are rounded once, as Java does.
        return Literal(float(value), kind)
    if kind == STRING and isinstance(value, int):
        return Literal(str(value), kind)
    if kind == BOOLEAN and isinstance(value, int):
        return Literal(value != 0, kind)
    return None


def _whole(value: Decimal, kind: DataType) -> Literal | None:
    """The value without its fraction as an integral type, or None where it does not fit."""
    whole = int(value.to_integral_value(ROUND_DOWN))
    return Literal(whole, kind) if fits(whole, kind) else None


def _rounded(value: Decimal, kind: DataType) -> Literal | None:
    """The value rounded to a decimal type, or None where it does not fit."""
    with localcontext(prec=2 * MAX_PRECISION + 2):
        try:
            exact = _unsigned_zero(value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP))
        except InvalidOperation:
            return None
    whole_digits = max(len(exact.as_tuple().digits) - kind.scale, 0) if exact else 0
    return Literal(exact, kind) if whole_digits <= kind.precision - kind.scale else None


def _from_text(text: str, kind: DataType) -> Literal | None:
    """A cast of a constant text, done now; refuses a text that the type does not accept."""
    readers: dict[str, Callable[[str], Value]] = {"boolean": _boolean, "date": _date, "timestamp": _timestamp,
                                                  "double": _double}
    stripped = text.strip()
    try:
        if kind.is_integral:
            if not re.fullmatch(r"[+-]?\d{1,40}", stripped, re.ASCII):
                raise ValueError
            converted = _whole(Decimal(stripped), kind)
        elif kind.is_decimal:
            if not NUMBER.fullmatch(stripped):
                raise ValueError
            converted = _rounded(Decimal(stripped), kind)
        elif kind.name in readers:
            converted = Literal(readers[kind.name](stripped), kind)
        else:
            return None
    except (ValueError, OverflowError):
        converted = None
    if converted is None:
        raise SqlError("wrong-type", f"the text {text[:40]!r} is no {kind}", hint=TEXT_HINTS.get(kind.name, ""))
    return converted


TEXT_HINTS = {
    "date": "Write dates as '2026-01-31'.",
    "timestamp": "Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a "
                 "zone such as Europe/Paris behind it.",
    "boolean": "Write TRUE or FALSE.",
}


def _boolean(text: str) -> bool:
    if text.lower() in ("t", "true", "y", "yes", "1"):
        return True
    if text.lower() in ("f", "false", "n", "no", "0"):
        return False
    raise ValueError(text)


def _double(text: str) -> float:
    if NUMBER.fullmatch(text) or re.fullmatch(r"[+-]?(inf|infinity)|nan", text, re.IGNORECASE | re.ASCII):
        return float(text)
    raise ValueError(text)


def _date(text: str) -> date:
    match = DATE_TEXT.fullmatch(text)
    if not match:
        raise ValueError(text)
    year, month, day = (int(part or 1) for part in match.groups())
    return date(year, month, day)


def _timestamp(text: str) -> datetime:
    match = TIME_TEXT.fullmatch(text)
    if not match:
        raise ValueError(text)
    year, month, day = (int(part or 1) for part in match.groups()[:3])
    hour, minute, second = (int(part or 0) for part in match.groups()[3:6])
    micros = int((match[7] or "").ljust(6, "0")[:6])
    return datetime(year, month, day, hour, minute, second, micros, tzinfo=_zone(match[8] or "")).astimezone(UTC)


def _zone(text: str) -> tzinfo:
    """A zone by its offset or its name. Of two moments with the same local time both Java and Python take the first."""
    if text.startswith(("+", "-")):
        hours, _, minutes = text[1:].partition(":")
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(offset if text[0] == "+" else -offset)
    if "/" not in text:
        return UTC
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, OSError):  # a folder of zones is an error of the operating system
        raise ValueError(text) from None
