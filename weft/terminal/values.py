"""The values of Arrow columns as Python's, also values that Python does not have.

Spark's moments reach beyond the year 9999 and before the year 1, where datetimes end, and its strings are bytes that
need not be UTF-8. Such moments are texts here, and such strings have replacement characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# After so many days, 400 years, the calendar repeats itself.
CYCLE = 146_097
DAY = 86_400_000_000


@dataclass(frozen=True)
class FarMoment:
    """A moment in UTC that no datetime reaches, as a day and a time."""

    day: str
    time: str

    def __str__(self) -> str:
        return f"{self.day} {self.time}"

    def iso(self) -> str:
        return f"{self.day}T{self.time}Z"


def from_micros(moment: int | None) -> datetime | None:
    """A moment of the data as a datetime; None for no moment, and for moments beyond what datetimes reach."""
    try:
        return None if moment is None else EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        return None


def day_text(days: int) -> str:
    """A day, counted from 1970 on, in ISO 8601; years of more than four digits have a sign.

    >>> day_text(0), day_text(2_932_897), day_text(-719_529)
    ('1970-01-01', '+10000-01-01', '-0001-12-31')
    """
    turns, rest = divmod(days, CYCLE)
    near = date(1970, 1, 1) + timedelta(days=rest)
    year = near.year + 400 * turns
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{near.month:02}-{near.day:02}"


def values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column, whatever they are."""
    try:
        return list(column.to_pylist())
    except (OverflowError, UnicodeDecodeError):
        return _read_value_by_value(column)


def _read_value_by_value(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_struct(kind):
        fields = [values(pc.struct_field(column, [index])) for index in range(kind.num_fields)]
        names = [field.name for field in kind.fields]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
        return [row if there else None for row, there in zip(rows, column.is_valid().to_pylist(), strict=True)]
    read: Callable[[Any], Any] = str
    if pa.types.is_timestamp(kind):
        column, read = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), _moment
    elif pa.types.is_date(kind):
        column, read = column.cast(pa.date32()).cast(pa.int32()), day_text
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column, read = column.cast(pa.large_binary()), _text
    return [None if value is None else read(value) for value in column.to_pylist()]


def _moment(micros: int) -> datetime | FarMoment:
    moment = from_micros(micros)
    if moment is not None:
        return moment
    days, rest = divmod(micros, DAY)
    return FarMoment(day_text(days), (EPOCH + timedelta(microseconds=rest)).time().isoformat())


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def for_csv(table: pa.Table, plain: Callable[[Any], Any]) -> pa.Table:
    """The table with what Arrow cannot write to a CSV file as text."""
    for index, field in enumerate(table.schema):
        texts = _csv_texts(table.column(index), plain)
        if texts is not None:
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table


def _csv_texts(column: pa.ChunkedArray, plain: Callable[[Any], Any]) -> list[str | None] | None:
    """The column as texts where Arrow would refuse it, write bytes that are no text, or a wrong year; else None."""
    kind = column.type
    if pa.types.is_struct(kind):
        return [None if value is None else json.dumps(plain(value)) for value in values(column)]
    try:
        if pa.types.is_string(kind):
            column.validate(full=True)
        elif pa.types.is_temporal(kind):
            pc.min_max(column).as_py()
    except pa.ArrowInvalid:
        return values(column)
    except OverflowError:
        near = column.cast(pa.string()).to_pylist()
        return [
            f"{value}Z" if isinstance(value, FarMoment) else value if isinstance(value, str) else text
            for value, text in zip(values(column), near, strict=True)
        ]
    return None
