"""What can be asked of the catalog inside a transaction: a single moment of it, whole.

Keeps: rows come as the frozen classes of weft/store/records.py, lists whole and in the order of their keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, func, select

from weft.segments.segment import SegmentRow
from weft.store import tables
from weft.store.records import (
    AggregateRow,
    CatalogRow,
    DeadLetterRow,
    FormRow,
    LayoutRow,
    NodeRow,
    PlanRow,
    QueryRow,
    StreamRow,
    TickLogRow,
    TickRow,
)
from weft.store.sums import KIND_OF, add
from weft.store.tables import TABLE_OF

SUMS = "sums"
"""The key under which the sums of all tables are kept."""
COSTS = "costs"
"""The key under which the measured costs are kept."""
NAMES = "names"
"""The key under which the present names of columns of old files are kept."""
STATUS = "status of "
"""The key, with a stream's name behind it, under which the status of the stream is kept."""
WallClock = Callable[[], datetime]
Row = TypeVar("Row", bound=CatalogRow)

_CHUNK = 1000  # both databases bound the number of parameters of a statement


class Snapshot:
    """A single moment of the catalog. Rows come in the order of their primary key; lists are whole, never lazy."""

    def __init__(self, connection: Connection, clock: WallClock) -> None:
        self._connection = connection
        self._clock = clock

    def damaged_table(self) -> str | None:
        """Name a table that does not hold what was written into it; None where all do, or where no sum is stored."""
        stored = meta_value(self._connection, SUMS)
        if stored is None:
            return None
        try:
            sums = dict(json.loads(stored))
        except ValueError:
            return "meta"
        # The sums themselves may be what changed, names and all.
        if sums.keys() != KIND_OF.keys():
            return "meta"
        return next((name for name, total in sums.items() if f"{self._sum(name):032x}" != total), None)

    def _sum(self, table: str) -> int:
        return add(0, self._select(KIND_OF[table]))

    def revision(self) -> int:
        """Return the revision, which changes whenever a stream, a query or an aggregate does."""
        return int(meta_value(self._connection, "revision") or "")

    def costs(self) -> dict[str, float]:
        """Return the costs on this machine, as far as they were measured."""
        stored = meta_value(self._connection, COSTS)
        return {} if stored is None else json.loads(stored)

    def names(self) -> dict[str, str]:
        """Return the present names of the columns of files from before format 4."""
        stored = meta_value(self._connection, NAMES)
        return {} if stored is None else json.loads(stored)

    def status(self, stream: str) -> dict[str, Any]:
        """Return the status that the last run of the stream left; nothing where there is none, or it cannot be read.

        No answer depends on it, so it is in no sum, and damage to it refuses nobody.
        """
        try:
            said = json.loads(meta_value(self._connection, STATUS + stream) or "{}")
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    def streams(self) -> tuple[StreamRow, ...]:
        return self._select(StreamRow)

    def stream(self, name: str) -> StreamRow | None:
        return _only(self._select(StreamRow, name=name))

    def queries(self, *, stream: str | None = None) -> tuple[QueryRow, ...]:
        """List all queries, or the queries of one stream."""
        return self._select(QueryRow, **_not_none(stream=stream))

    def waiting_queries(self, stream: str) -> tuple[QueryRow, ...]:
        """List the queries of a stream that no tick has computed yet and that did not fail."""
        waits = (tables.queries.c.from_batch.is_(None), tables.queries.c.status == "registered")
        return self._select(QueryRow, *waits, stream=stream)

    def query(self, name: str) -> QueryRow | None:
        return _only(self._select(QueryRow, name=name))

    def forms(self, names: Collection[str] | None = None) -> tuple[FormRow, ...]:
        """Return what compiling queries yielded, of all queries or of the named queries."""
        if names is None:
            return self._select(FormRow)
        selected = (self._select(FormRow, tables.forms.c.query.in_(chunk)) for chunk in chunks(set(names)))
        return tuple(row for rows in selected for row in rows)

    def form(self, name: str) -> FormRow | None:
        return _only(self._select(FormRow, query=name))

    def aggregates(self) -> tuple[AggregateRow, ...]:
        return self._select(AggregateRow)

    def nodes(self, stream: str | None = None) -> tuple[NodeRow, ...]:
        """List all nodes, or the nodes of one stream."""
        return self._select(NodeRow, **_not_none(stream=stream))

    def layouts(self) -> tuple[LayoutRow, ...]:
        return self._select(LayoutRow)

    def segments(self, *, stream: str | None = None, nodes: Collection[str] | None = None) -> tuple[SegmentRow, ...]:
        """List all segments, or the segments of one stream, or of these nodes (or both); oldest first."""
        conditions: list[ColumnElement[bool]] = []
        if stream is not None:
            of_stream = select(tables.nodes.c.id).where(tables.nodes.c.stream == stream)
            conditions.append(tables.segments.c.node.in_(of_stream))
        if nodes is None:
            return self._select(SegmentRow, *conditions)
        selected: list[SegmentRow] = []
        for chunk in chunks(set(nodes)):
            selected += self._select(SegmentRow, tables.segments.c.node.in_(chunk), *conditions)
        return tuple(sorted(selected, key=lambda row: row.id or 0))

    def plans(self, stream: str) -> tuple[PlanRow, ...]:
        """List the versions of a stream's plan that segments were written under; the last is the version in force."""
        return self._select(PlanRow, stream=stream)

    def files_mark(self, stream: str) -> tuple[int, int]:
        """Return the newest segment of a stream and the count: never the same pair again once the files changed."""
        newest, count = self._connection.execute(_FILES_MARK, {"stream": stream}).one()
        return newest or 0, count

    def dead_letters(self, stream: str | None = None) -> tuple[DeadLetterRow, ...]:
        """List all files of dead letters, or the files of one stream; oldest first."""
        return self._select(DeadLetterRow, **_not_none(stream=stream))

    def tick(self, stream: str) -> TickRow | None:
        """The newest committed tick of the stream."""
        return _only(self._select(TickRow, stream=stream))

    def ticks(self) -> tuple[TickRow, ...]:
        return self._select(TickRow)

    def logged_tick(self, stream: str, batch_id: int) -> TickLogRow | None:
        """Look up a tick among the last 1000 of the stream's current checkpoint."""
        return _only(self._select(TickLogRow, stream=stream, batch_id=batch_id))

    def tick_log(self, stream: str) -> tuple[TickLogRow, ...]:
        """The last 1000 ticks of the stream's current checkpoint, oldest first."""
        return self._select(TickLogRow, stream=stream)

    def garbage(self, *, older_than: timedelta = timedelta(0)) -> tuple[str, ...]:
        """Paths that have been unreferenced for at least that long, the oldest first."""
        since, path = tables.garbage.c.since, tables.garbage.c.path
        unreferenced = select(path).where(since <= self._clock() - older_than).order_by(since, path)
        return tuple(self._connection.scalars(unreferenced))

    def _select(self, kind: type[Row], *conditions: ColumnElement[bool], **equal: Any) -> tuple[Row, ...]:
        """Select the rows of a kind on which these conditions hold and whose columns have these values."""
        statement = _rows_with(TABLE_OF[kind], tuple(equal))
        if conditions:
            statement = statement.where(*conditions)
        rows = [kind(**row) for row in self._connection.execute(statement, equal).mappings()]
        # Rows are sorted here and not by the database, because PostgreSQL sorts text by the locale of the database.
        keys = [column.name for column in TABLE_OF[kind].primary_key]
        return tuple(sorted(rows, key=lambda row: tuple(getattr(row, key) for key in keys)))


def meta_value(connection: Connection, key: str) -> str | None:
    """Read what the catalog keeps under a key of its own, None when there is nothing."""
    return connection.scalars(_META_VALUE, {"key": key}).one_or_none()


_FILES_MARK = select(func.max(tables.segments.c.id), func.count()).where(
    tables.segments.c.node.in_(select(tables.nodes.c.id).where(tables.nodes.c.stream == bindparam("stream")))
)
_META_VALUE = select(tables.meta.c.value).where(tables.meta.c.key == bindparam("key"))


@cache
def _rows_with(table: Table, columns: tuple[str, ...]) -> Select[Any]:
    """Build the SELECT of rows by column values; cached, since building it takes longer than SQLite takes to run it."""
    return select(table).where(*(table.c[name] == bindparam(name) for name in columns))


def _not_none(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _only(rows: tuple[Row, ...]) -> Row | None:
    return rows[0] if rows else None


def chunks(wanted: Collection[Any]) -> Iterator[list[Any]]:
    ordered = sorted(wanted)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start : start + _CHUNK]
