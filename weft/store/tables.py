"""The catalog's tables, and the frozen row that each of them is read and written as.

Keeps: a row class has exactly the columns of its table, under the same names (a test holds it).
Moments that belong to the data (watermarks, segment bounds) are integers: microseconds since the epoch in UTC.
Moments of the world (`created_at`, `since`) are aware datetimes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, TypedDict

from sqlalchemy import BigInteger, Column, DateTime, Dialect, Index, Integer, MetaData, Table, Text
from sqlalchemy.types import TypeDecorator

from weft.segments.segment import EARLIEST, SegmentRow

FORMAT = 3
"""What a change of these tables raises by one, with a step in weft/store/migrations.py."""
FAILED = "failed"
"""The `status` of a query that cannot be computed."""
ADOPTED = ""
"""The `checkpoint` of a stream that takes over whichever its next batch is of."""

Json = dict[str, Any]


class JsonText(TypeDecorator[Json]):
    """A JSON object kept as plain text, its keys in the order they were given."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Json | None, dialect: Dialect) -> str | None:
        # NaN and infinity are no JSON: another reader of the catalog would choke on them.
        return None if value is None else json.dumps(value, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Json | None:
        return None if value is None else json.loads(value)


class Moment(TypeDecorator[datetime]):
    """An aware datetime in UTC; SQLite keeps it as text that sorts like time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment in the catalog needs a time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

streams = Table(
    "streams",
    metadata,
    Column("name", Text, primary_key=True),
    Column("definition", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
)

queries = Table(
    "queries",
    metadata,
    Column("name", Text, primary_key=True),
    Column("stream", Text, nullable=False, index=True),
    Column("sql", Text, nullable=False),
    Column("definition", JsonText, nullable=False),
    Column("from_batch", BigInteger),
    Column("complete_from", BigInteger),
    Column("status", Text, nullable=False, server_default="registered"),
    Column("status_detail", Text),
    Column("created_at", Moment, nullable=False),
)

aggregates = Table(
    "aggregates",
    metadata,
    Column("name", Text, primary_key=True),
    Column("definition", JsonText, nullable=False),
)

nodes = Table(
    "nodes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("stream", Text, nullable=False, index=True),
    Column("definition", JsonText, nullable=False),
    Column("complete_from", BigInteger),
    Column("created_batch", BigInteger, nullable=False),
    Column("sealed_batch", BigInteger, nullable=False),
    Column("sealed_time", BigInteger, nullable=False),
)

layouts = Table(
    "layouts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("definition", JsonText, nullable=False),
)

segments = Table(
    "segments",
    metadata,
    # SQLite counts up by itself only in a column whose type is spelled exactly INTEGER.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("node", Text, nullable=False, index=True),
    Column("layout", Text, nullable=False),
    Column("path", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("batch_from", BigInteger, nullable=False),
    Column("batch_to", BigInteger, nullable=False),
    Column("time_from", BigInteger, nullable=False),
    Column("time_to", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("checksum", Text, nullable=False),
    Column("plan", BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)

plans = Table(
    "plans",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("from_batch", BigInteger, nullable=False),
    Column("definition", JsonText, nullable=False),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("stream", Text, nullable=False),
    Column("batch_id", BigInteger, nullable=False),
    Column("path", Text, nullable=False, unique=True),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("checksum", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("ix_dead_letters_stream_batch", "stream", "batch_id"),
    sqlite_autoincrement=True,
)

ticks = Table(
    "ticks",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("batch_id", BigInteger, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("offsets_digest", Text, nullable=False),
    Column("watermark", BigInteger),
    Column("max_event_time", BigInteger),
    Column("totals", JsonText, nullable=False),
)

tick_log = Table(
    "tick_log",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("batch_id", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("watermark", BigInteger),
    Column("detail", JsonText, nullable=False),
)

garbage = Table(
    "garbage",
    metadata,
    Column("path", Text, primary_key=True),
    Column("since", Moment, nullable=False, index=True),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamRow:
    """A registered stream; `created_at` is None only in a row that was not stored yet."""

    name: str
    definition: Json
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryRow:
    """A registered query; `created_at` is None only in a row that was not stored yet.

    `from_batch` is the first batch whose rows it saw, `complete_from` the moment from which its windows are whole.
    """

    name: str
    stream: str
    sql: str
    definition: Json
    from_batch: int | None = None
    complete_from: int | None = None
    status: str = "registered"
    status_detail: str | None = None
    created_at: datetime | None = None

    def is_registration_of(self, other: QueryRow) -> bool:
        """Whether both rows are of one registration, and not of two under one name, one after the other."""
        return self.sql == other.sql and self.definition.get("mark") == other.definition.get("mark")


class QueryChange(TypedDict, total=False):
    """The columns of a query that may change; those left out keep their value."""

    sql: str
    definition: Json
    from_batch: int | None
    complete_from: int | None
    status: str
    status_detail: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregateRow:
    """A user-defined aggregate."""

    name: str
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRow:
    """A shared partial aggregate; everything up to `sealed_batch` and before `sealed_time` is merged into blocks."""

    id: str
    stream: str
    definition: Json
    created_batch: int
    complete_from: int | None = None
    sealed_batch: int = -1
    sealed_time: int = EARLIEST


class NodeChange(TypedDict, total=False):
    """The columns of a node that may change; those left out keep their value."""

    definition: Json
    complete_from: int | None
    sealed_batch: int
    sealed_time: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LayoutRow:
    """The columns that a set of segment files has."""

    id: str
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanRow:
    """One version of a stream's plan, in force from a batch on: all nodes, their columns, and what each comes from."""

    stream: str
    version: int
    from_batch: int
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetterRow:
    """One file of a stream's rows that could not be counted; `id`, `created_at` are None only before it is stored."""

    stream: str
    batch_id: int
    path: str
    rows: int
    bytes: int
    checksum: str
    created_at: datetime | None = None
    id: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TickRow:
    """The newest committed tick of a stream; (checkpoint, batch_id) says which batch that was."""

    stream: str
    batch_id: int
    checkpoint: str
    offsets_digest: str
    watermark: int | None = None
    max_event_time: int | None = None
    totals: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TickLogRow:
    """One committed tick of the stream's current checkpoint."""

    stream: str
    batch_id: int
    digest: str
    watermark: int | None
    detail: Json


CatalogRow = (
    StreamRow
    | QueryRow
    | AggregateRow
    | NodeRow
    | LayoutRow
    | SegmentRow
    | PlanRow
    | DeadLetterRow
    | TickRow
    | TickLogRow
)

TABLE_OF: dict[type[Any], Table] = {
    StreamRow: streams,
    QueryRow: queries,
    AggregateRow: aggregates,
    NodeRow: nodes,
    LayoutRow: layouts,
    SegmentRow: segments,
    PlanRow: plans,
    DeadLetterRow: dead_letters,
    TickRow: ticks,
    TickLogRow: tick_log,
}


def values(row: CatalogRow) -> dict[str, Any]:
    """The row as column values, nothing copied.

    >>> values(AggregateRow(name="a", definition={}))
    {'name': 'a', 'definition': {}}
    """
    return {column.name: getattr(row, column.name) for column in fields(row)}
