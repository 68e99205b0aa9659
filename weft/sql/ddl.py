"""Parse schema texts, whose columns can be computed with, and duration texts, which are fixed spans of time."""

from __future__ import annotations

import re
from datetime import timedelta

from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    decimal,
)
from weft.errors import SqlError
from weft.sql.texts import check_size, position_at

Duration = str | timedelta

TYPES = {
    "boolean": BOOLEAN, "tinyint": TINYINT, "byte": TINYINT, "smallint": SMALLINT, "short": SMALLINT, "int": INT,
    "integer": INT, "bigint": BIGINT, "long": BIGINT, "float": FLOAT, "real": FLOAT, "double": DOUBLE, "string": STRING,
    "date": DATE, "timestamp": TIMESTAMP, "timestamp_ltz": TIMESTAMP,
}
TYPE_HINTS = {
    "timestamp_ntz": "Use timestamp; times are read as UTC.",
    "binary": "Use string, for example the hexadecimal digits.",
    "char": "Use string.",
    "varchar": "Use string.",
    "interval": "Use bigint, for example a number of microseconds.",
    "variant": "Use string, or one column for each field.",
}
# Repetitions of spaces are possessive (*+): two neighbours that share a thousand spaces would try every split.
COLUMN = re.compile(r"\s*+(?:`((?:[^`]|``)++)`|([^\W\d]\w*+))(?:\s*+:)?\s++([A-Za-z_]++)", re.ASCII)
TYPE_DIGITS = re.compile(r"\s*+\(\s*+([0-9]{1,3})\s*+(?:,\s*+([0-9]{1,3})\s*+)?\)")
AFTER_COLUMN = re.compile(r"\s*+(not\s++null\b)?\s*+(comment\s++'(?:[^'\\]|\\.)*+')?\s*+(,|\Z)", re.IGNORECASE)

MICROS = {"microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
          "day": 86_400_000_000, "week": 604_800_000_000}
DURATION_PART = re.compile(r"\s*([+-]?)\s*(\d{1,18})(?:\.(\d{1,6}))?\s*([A-Za-z]+)\s*", re.ASCII)
# A century: longer spans are a slip of the pen, and near 10,000 years Python's clock ends.
MAX_MICROS = 100 * 366 * MICROS["day"]


def parse_schema(ddl: str) -> tuple[tuple[str, DataType], ...]:
    """The columns of a schema text, in order.

    >>> [f"{name} {kind}" for name, kind in parse_schema("ts timestamp, amount decimal(10,2), note string")]
    ['ts timestamp', 'amount decimal(10,2)', 'note string']
    """
    if not isinstance(ddl, str):
        raise SqlError("bad-schema", f"a schema is a text, not {str(ddl)[:40]}",
                       hint="Write for example: ts timestamp, saddr string, length int.")
    check_size(ddl)
    columns: list[tuple[str, DataType]] = []
    seen: set[str] = set()
    at = 0
    while True:
        column = COLUMN.match(ddl, at)
        if not column:
            raise SqlError("bad-schema", "a column needs a name and a type", position=position_at(ddl, at),
                           hint="Write for example: ts timestamp, saddr string, length int.")
        name = column[1].replace("``", "`") if column[1] else column[2]
        kind, at = _type(ddl, column)
        if name.lower() in seen:
            raise SqlError("bad-schema", f"the column {name[:60]!r} is named twice",
                           hint="Names of columns differ in more than upper and lower case.",
                           position=position_at(ddl, column.start(3)))
        seen.add(name.lower())
        columns.append((name, kind))
        after = AFTER_COLUMN.match(ddl, at)
        if not after:
            raise SqlError("bad-schema", "a comma is missing after the column, or its type is not understood",
                           position=position_at(ddl, at))
        at = after.end()
        if after[3] != ",":
            return tuple(columns)


def type_named(name: str, precision: int | None = None, scale: int | None = None) -> DataType:
    """A type by its name in SQL; refuses a type that cannot be computed with."""
    word = name.lower()
    if word in ("decimal", "dec", "numeric"):
        try:
            return decimal(10 if precision is None else precision, scale or 0)
        except ValueError as error:
            raise SqlError("unsupported-type", str(error), hint="A decimal has 1 to 38 digits.") from None
    if word not in TYPES:
        known = ", ".join(sorted({str(kind) for kind in TYPES.values()}))
        raise SqlError("unsupported-type", f"the type {word[:60]} is not supported",
                       hint=TYPE_HINTS.get(word, f"Supported are {known} and decimal."))
    if precision is not None:
        raise SqlError("unsupported-type", f"the type {word[:60]} takes no digits")
    return TYPES[word]


def unusable_hint(kind: str) -> str:
    """What to do about a column of a type that cannot be computed with, as Spark writes the type."""
    word = re.split(r"[^a-z_]", kind.lower(), maxsplit=1)[0]
    make = "Make a column of it in the DataFrame that you hand over"
    return f"{make}. {TYPE_HINTS[word]}" if word in TYPE_HINTS else f"{make}, one for each part that is needed."


def _type(ddl: str, column: re.Match[str]) -> tuple[DataType, int]:
    """The type of a column, and the offset behind it."""
    digits = TYPE_DIGITS.match(ddl, column.end())
    try:
        kind = type_named(column[3], *(int(part) if part else None for part in (digits.groups() if digits else ())))
    except SqlError as error:
        error.position = position_at(ddl, column.start(3))
        raise
    return kind, digits.end() if digits else column.end()


def parse_duration(text: Duration) -> timedelta:
    """A span of time as Spark writes intervals, or as Python has them.

    >>> parse_duration("1 hour 30 minutes") == parse_duration("INTERVAL 90 minutes") == timedelta(minutes=90)
    True
    """
    hint = "Write for example '10 minutes' or '1 hour 30 minutes'."
    if isinstance(text, timedelta):
        if abs(text) > timedelta(microseconds=MAX_MICROS):
            raise SqlError("bad-duration", f"{str(text)[:40]} is longer than a century", hint=hint)
        return text
    if not isinstance(text, str):
        raise SqlError("bad-duration", f"{str(text)[:40]} is no duration: it is no text",
                       hint=f"{hint[:-1]}, or give a timedelta.")
    rest = re.sub(r"^\s*interval\b", "", text[:200], flags=re.IGNORECASE)
    total, at = 0, 0
    if len(text) > 200 or not rest.strip():
        raise SqlError("bad-duration", f"{text[:40]!r} is no duration", hint=hint)
    while at < len(rest):
        part = DURATION_PART.match(rest, at)
        unit = part[4].lower().removesuffix("s") if part else ""
        if unit in ("month", "year"):
            raise SqlError("bad-duration", f"{text[:40]!r} is not a fixed time: months and years differ in length",
                           hint="Use days or weeks.")
        if not part or unit not in MICROS or (part[3] and unit != "second"):
            raise SqlError("bad-duration", f"{text[:40]!r} is no duration", hint=hint)
        micros = int(part[2]) * MICROS[unit] + (int(part[3].ljust(6, "0")) if part[3] else 0)
        total += -micros if part[1] == "-" else micros
        at = part.end()
    if abs(total) > MAX_MICROS:
        raise SqlError("bad-duration", f"{text[:40]!r} is longer than a century", hint=hint)
    return timedelta(microseconds=total)


def parse_wait(text: Duration) -> timedelta:
    """A span of time that somebody can wait for; refuses a negative duration."""
    duration = parse_duration(text)
    if duration < timedelta(0):
        raise SqlError("bad-duration", f"{str(text)[:40]!r} is negative", hint="Write for example '10 seconds'.")
    return duration
