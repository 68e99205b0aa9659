"""What a wrong stream says all the same of its columns, so that its queries are checked as far as they can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.algebra.schema import FeedSchema
from weft.algebra.types import TIMESTAMP, DataType
from weft.errors import SqlError
from weft.sql.ddl import parse_schema

# Streams have a moment or two; a schema of a thousand of them must not make checking slow.
MAX_CANDIDATES = 4


@dataclass(frozen=True)
class PartialStream:
    """The schemas that a wrong stream may mean, a schema for every column that may be its event time; none where its
    columns cannot be read. `unreadable` names, in lower case, the columns of no known type."""

    schemas: tuple[FeedSchema, ...]
    unreadable: frozenset[str]


def partial_stream(name: str, schema: str, event_time: str) -> PartialStream:
    """The stream as far as its schema text can be read.

    >>> partial = partial_stream("s", "ts timestamp, x hologram, amount decimal(9,2)", "time")
    >>> [(sorted(schema.columns), schema.event_time) for schema in partial.schemas], sorted(partial.unreadable)
    ([(['amount', 'ts'], 'ts')], ['x'])
    """
    columns: dict[str, DataType] = {}
    unreadable = set()
    for part in _parts(schema):
        try:
            columns |= parse_schema(part)
        except SqlError:
            words = part.split()
            unreadable |= {words[0].strip("`:").lower()} if words else set()
    named = [column for column in columns if column.lower() == event_time.lower()]
    moments = named or [column for column, kind in columns.items() if kind == TIMESTAMP][:MAX_CANDIDATES]
    # A stream without any moment still has columns: each of them serves to compile the rest of a query.
    candidates = moments or list(columns)[:1]
    return PartialStream(tuple(FeedSchema(name, columns, moment) for moment in candidates), frozenset(unreadable))


def _parts(schema: str) -> Iterator[str]:
    """The columns of a schema text, cut at the commas that stand in no parentheses, brackets or quotes."""
    depth, in_quotes, start = 0, False, 0
    for at, sign in enumerate(schema):
        if sign == "`":
            in_quotes = not in_quotes
        elif not in_quotes:
            depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(sign, 0)
            if sign == "," and depth == 0:
                yield schema[start:at]
                start = at + 1
    yield schema[start:]
