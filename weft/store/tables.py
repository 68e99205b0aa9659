"""The catalog's tables, and how their values are written in SQLite and PostgreSQL.

Keeps: a row class of weft/store/records.py has exactly the columns of its table, under the same names (a test holds
it).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, Dialect, Index, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.types import TypeDecorator

from weft.segments.segment import SegmentRow
from weft.store.definition import QueryDefinition
from weft.store.records import (
    AggregateRow,
    DeadLetterRow,
    FormRow,
    Json,
    LayoutRow,
    NodeRow,
    PlanRow,
    QueryRow,
    StreamRow,
    TickLogRow,
    TickRow,
)

FORMAT = 5
"""The format of the catalog: a change of these tables raises it by 1, with a step in weft/store/migrations.py."""


class JsonText(TypeDecorator[Json]):
    """A JSON object kept as plain text, its keys in their own order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Json | None, dialect: Dialect) -> str | None:
        # NaN and infinity are no JSON: another reader of the catalog would choke on them.
        return None if value is None else json.dumps(value, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Json | None:
        return None if value is None else json.loads(value)


class DefinitionText(TypeDecorator[QueryDefinition]):
    """The definition of a query, kept as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: QueryDefinition | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value.to_json(), separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> QueryDefinition | None:
        return None if value is None else QueryDefinition.from_json(json.loads(value))


class UtcDatetime(TypeDecorator[datetime]):
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
    Column("created_at", UtcDatetime, nullable=False),
)

queries = Table(
    "queries",
    metadata,
    Column("name", Text, primary_key=True),
    Column("stream", Text, nullable=False, index=True),
    Column("sql", Text, nullable=False),
    Column("definition", DefinitionText, nullable=False),
    Column("from_batch", BigInteger),
    Column("complete_from", BigInteger),
    Column("status", Text, nullable=False, server_default="registered"),
    Column("status_detail", Text),
    Column("created_at", UtcDatetime, nullable=False),
)

forms = Table(
    "forms",
    metadata,
    Column("query", Text, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("content", Text, nullable=False),
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
    Column("path", Text, nullable=False),
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
    Column("byte_from", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("path", "byte_from"),
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
    Column("created_at", UtcDatetime, nullable=False),
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
    Column("since", UtcDatetime, nullable=False, index=True),
)

TABLE_OF: dict[type[Any], Table] = {
    StreamRow: streams,
    QueryRow: queries,
    FormRow: forms,
    AggregateRow: aggregates,
    NodeRow: nodes,
    LayoutRow: layouts,
    SegmentRow: segments,
    PlanRow: plans,
    DeadLetterRow: dead_letters,
    TickRow: ticks,
    TickLogRow: tick_log,
}
