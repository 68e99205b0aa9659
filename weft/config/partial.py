"""What a wrong stream says all the same of its columns, so that its queries are checked as far as they can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.algebra.schema import FeedSchema
from weft.algebra.types import TIMESTAMP, DataType
from weft.errors import Position, SqlError
from weft.feeds.streams import spark_identifier
from weft.sql.ddl import parse_schema
from weft.sql.texts import position_at

# Streams have a moment or two; a schema of a thousand of them must not make checking slow.
MAX_CANDIDATES = 4
# So many columns of a wrong schema are told of.
MAX_ERRORS = 20


@dataclass(frozen=True)
class PartialStream:
    """The schemas that a wrong stream may mean, a schema for every column that may be its event time; none where its
    columns cannot be read. `unreadable` names, in lower case, the columns of no known type; `errors` says why."""

    schemas: tuple[FeedSchema, ...]
    unreadable: frozenset[str]
    errors: tuple[SqlError, ...] = ()

    @property
    def columns_text(self) -> str:
        """The columns that can be read, as the text of a schema."""
        columns = self.schemas[0].columns if self.schemas else {}
        return ", ".join(f"{spark_identifier(name)} {kind}" for name, kind in columns.items())


def partial_stream(name: str, schema: str, event_time: str) -> PartialStream:
    """The stream as far as its schema text can be read.

    >>> partial = partial_stream("s", "ts timestamp, x hologram, amount decimal(9,2)", "time")
    >>> [(sorted(schema.columns), schema.event_time) for schema in partial.schemas], sorted(partial.unreadable)
    ([(['amount', 'ts'], 'ts')], ['x'])
    """
    columns: dict[str, DataType] = {}
    unreadable: set[str] = set()
    errors: list[SqlError] = []
    for start, part in _parts(schema):
        try:
            columns |= parse_schema(part)
        except SqlError as error:
            if len(errors) < MAX_ERRORS:
                errors.append(_moved(error, position_at(schema, start)))
            words = part.split()
            unreadable |= {words[0].strip("`:").lower()} if words else set()
    named = [column for column in columns if column.lower() == event_time.lower()]
    moments = named or [column for column, kind in columns.items() if kind == TIMESTAMP][:MAX_CANDIDATES]
    # A stream without any moment still has columns: each of them serves to compile the rest of a query.
    candidates = moments or list(columns)[:1]
    schemas = tuple(FeedSchema(name, columns, moment) for moment in candidates)
    return PartialStream(schemas, frozenset(unreadable), tuple(errors))


def _moved(error: SqlError, start: Position) -> SqlError:
    """The error of a part of a text, at its position in the whole text."""
    at = error.position or Position(1, 1)
    error.position = Position(start.line + at.line - 1, at.column + (start.column - 1 if at.line == 1 else 0))
    return error


def _parts(schema: str) -> Iterator[tuple[int, str]]:
    """The columns of a schema text with their offsets, cut at commas in no parentheses, brackets or quotes."""
    depth, in_quotes, start = 0, False, 0
    for at, sign in enumerate(schema):
        if sign == "`":
            in_quotes = not in_quotes
        elif not in_quotes:
            depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(sign, 0)
            if sign == "," and depth == 0:
                yield start, schema[start:at]
                start = at + 1
    yield start, schema[start:]
