"""What can be changed in the catalog inside a transaction.

Keeps: rows go in and come out as the frozen classes of weft/store/records.py, lists whole and in the order of their
keys; what counts as a change of streams, queries or aggregates grows the revision, once a transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Table, bindparam, delete, insert, select, update

from weft.errors import EngineError, StateError
from weft.segments.segment import SegmentRow
from weft.store import tables
from weft.store.records import (
    ADOPTED,
    AggregateRow,
    CatalogRow,
    DeadLetterRow,
    FormRow,
    Json,
    LayoutRow,
    NodeRow,
    PlanRow,
    QueryChange,
    QueryRow,
    StreamRow,
    TickLogRow,
    TickRow,
    values,
)
from weft.store.snapshot import COSTS, STATUS, SUMS, Snapshot, WallClock, chunks, meta_value
from weft.store.sums import KIND_OF, MODULUS, SUMMED, add
from weft.store.tables import TABLE_OF

TICKS_KEPT = 1000
FileRow = TypeVar("FileRow", SegmentRow, DeadLetterRow)


class Writer(Snapshot):
    """A write transaction: nobody else sees any of it before the `with` block ends without an error."""

    def __init__(self, connection: Connection, clock: WallClock) -> None:
        super().__init__(connection, clock)
        self._bumped = False
        self._changed: dict[str, int] = {}

    def note_sums(self) -> None:
        """Keep the sums of all tables with what this transaction changed; the last thing that it does."""
        if not self._changed:
            return
        stored = meta_value(self._connection, SUMS)
        if stored is None:
            sums = {name: self._sum(name) for name in KIND_OF}
            self._connection.execute(insert(tables.meta), [{"key": SUMS, "value": _hexadecimal(sums)}])
            return
        sums = {name: int(total, 16) for name, total in json.loads(stored).items()}
        for name, change in self._changed.items():
            sums[name] = (sums[name] + change) % MODULUS
        where = tables.meta.c.key == SUMS
        self._connection.execute(update(tables.meta).where(where).values(value=_hexadecimal(sums)))

    def _note(self, rows: Sequence[CatalogRow], sign: int = 1) -> None:
        """Add rows that came to the sum of their table, or take out rows that went."""
        if rows and type(rows[0]) in SUMMED:
            name = TABLE_OF[type(rows[0])].name
            self._changed[name] = add(self._changed.get(name, 0), rows, sign)

    def bump_revision(self) -> int:
        """Raise the revision and return it; it grows once a transaction however often this is called."""
        revision = self.revision()
        if self._bumped:
            return revision
        self._bumped = True
        where = tables.meta.c.key == "revision"
        self._connection.execute(update(tables.meta).where(where).values(value=str(revision + 1)))
        return revision + 1

    def put_costs(self, costs: Mapping[str, float]) -> None:
        """Keep what things cost on this machine."""
        self._put_meta(COSTS, json.dumps(dict(costs)))

    def put_status(self, stream: str, said: Mapping[str, Any]) -> None:
        """Keep how a stream fares; nothing of a stream that is not there."""
        if self.stream(stream) is not None:
            self._put_meta(STATUS + stream, json.dumps(dict(said)))

    def _put_meta(self, key: str, value: str) -> None:
        self._connection.execute(delete(tables.meta).where(tables.meta.c.key == key))
        self._connection.execute(insert(tables.meta), [{"key": key, "value": value}])

    def put_stream(self, row: StreamRow) -> None:
        """Add the stream or replace its definition; `created_at` stays that of the first time."""
        before = self.stream(row.name)
        created_at = row.created_at or (before.created_at if before else self._clock())
        self._put([replace(row, created_at=created_at)])
        self.bump_revision()

    def put_queries(self, rows: Iterable[QueryRow]) -> None:
        """Add queries under names that are free; EngineError("query-exists") comes before anything is written."""
        now = self._clock()
        new = [replace(row, created_at=row.created_at or now) for row in rows]
        names = [row.name for row in new]
        taken = self._present(tables.queries.c.name, names) or _repeated(names)
        if taken:
            raise EngineError(
                "query-exists",
                f"a query named {min(taken)!r} is already registered",
                hint="Choose another name, or drop the registered query first.",
            )
        self._insert(new)
        if new:
            self.bump_revision()

    def update_queries(self, changes: Mapping[str, QueryChange]) -> None:
        """Change columns of many queries, by name; a query that was dropped meanwhile is passed over."""
        key = tables.queries.c.name
        for chunk in chunks(set(changes)):
            before = self._select(QueryRow, key.in_(chunk))
            self._note(before, -1)
            self._note([replace(row, **changes[row.name]) for row in before])
        # A statement for each set of columns that change together.
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
        for name, change in changes.items():
            if change:
                alike[tuple(sorted(change))].append({"_key": name, **change})
        for columns, parameters in alike.items():
            statement = update(tables.queries).where(key == bindparam("_key"))
            self._connection.execute(statement.values({column: bindparam(column) for column in columns}), parameters)
        if changes:
            self.bump_revision()

    def delete_query(self, name: str) -> bool:
        """Drop the query; False when there was none."""
        return self.delete_queries([name]) > 0

    def delete_queries(self, names: Iterable[str]) -> int:
        """Drop the queries; return how many of them there were."""
        distinct = set(names)
        self._delete(tables.forms.c.query, distinct)
        dropped = self._delete(tables.queries.c.name, distinct)
        if dropped:
            self.bump_revision()
        return dropped

    def put_forms(self, rows: Iterable[FormRow]) -> None:
        """Keep what compiling queries yielded, in place of what was kept of them before."""
        self._put(rows)

    def put_aggregate(self, row: AggregateRow) -> None:
        """Add the aggregate or replace it."""
        self._put([row])
        self.bump_revision()

    def put_node(self, row: NodeRow) -> None:
        """Add the node or replace it."""
        self._put([row])

    def put_nodes(self, rows: Iterable[NodeRow]) -> None:
        """Add nodes or replace them; their segments stay."""
        self._put(rows)

    def delete_nodes(self, ids: Collection[str]) -> None:
        """Drop the nodes; the files of their segments become garbage."""
        self.remove_segments([row.id for row in self.segments(nodes=ids) if row.id is not None])
        self._delete(tables.nodes.c.id, ids)

    def keep_layouts(self, rows: Iterable[LayoutRow]) -> None:
        """Add the layouts that are not there: a layout is named by its content, and streams share equal layouts."""
        layouts = {row.id: row for row in rows}
        present = self._present(tables.layouts.c.id, layouts)
        self._insert([row for name, row in layouts.items() if name not in present])

    def forget_layouts(self) -> None:
        """Drop the layouts that no segment of any stream has any more."""
        unused = select(tables.layouts.c.id).where(tables.layouts.c.id.not_in(select(tables.segments.c.layout)))
        self._delete(tables.layouts.c.id, list(self._connection.scalars(unused)))

    def add_segments(self, rows: Iterable[SegmentRow]) -> tuple[SegmentRow, ...]:
        """Make files visible; return the rows as stored, with their ids, in the same order.

        A path that is named here is no garbage any more: a tick that runs again after a crash writes its own files
        again, and whoever cleans up may have listed them as orphans in between.
        """
        return self._add_files(list(rows))

    def remove_segments(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Take segments out of sight; return the paths of files that hold no other, which are garbage from now on.

        All of them must still be there: a merge that lost an input to another engine must not be published.
        """
        return self._remove_files(tables.segments, ids)

    def put_plan(self, row: PlanRow) -> None:
        """Make this the plan in force; versions that no segment was written under are forgotten."""
        self._insert([row])
        nodes = select(tables.nodes.c.id).where(tables.nodes.c.stream == row.stream)
        used = select(tables.segments.c.plan).where(tables.segments.c.node.in_(nodes))
        plans = tables.plans.c
        unused = (plans.stream == row.stream, plans.version != row.version, plans.version.not_in(used))
        self._note(self._select(PlanRow, *unused), -1)
        self._connection.execute(delete(tables.plans).where(*unused))

    def put_dead_letters(self, rows: Iterable[DeadLetterRow]) -> tuple[DeadLetterRow, ...]:
        """Make files of dead letters visible; return the rows as stored, with their ids, in the same order.

        A batch that runs again brings the very files that it brought before: these stay as they are stored. Another
        file under a stored path is StateError("catalog-conflict").
        """
        now = self._clock()
        dated = [replace(row, created_at=row.created_at or now) for row in rows]
        stored: dict[str, DeadLetterRow] = {}
        for chunk in chunks({row.path for row in dated}):
            known = self._select(DeadLetterRow, tables.dead_letters.c.path.in_(chunk))
            stored |= {row.path: row for row in known}
        new = [row for row in dated if not _same_file(row, stored.get(row.path))]
        stored |= {row.path: row for row in self._add_files(new)}
        return tuple(stored[row.path] for row in dated)

    def delete_dead_letters(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Take dead letters out of sight; return their paths, which are garbage now. All must still be there."""
        return self._remove_files(tables.dead_letters, ids)

    def add_garbage(self, paths: Iterable[str]) -> None:
        """Mark files for deletion as of now; a path that is already marked keeps its older moment."""
        distinct = set(paths)
        new = sorted(distinct - self._present(tables.garbage.c.path, distinct))
        if new:
            now = self._clock()
            self._connection.execute(insert(tables.garbage), [{"path": path, "since": now} for path in new])

    def forget_garbage(self, paths: Iterable[str]) -> None:
        """Drop paths from the deletion list, because their files are gone."""
        self._delete(tables.garbage.c.path, paths)

    def put_tick(self, row: TickRow, *, detail: Json | None = None) -> None:
        """Make this the newest tick of its stream and log it with its detail; the log keeps the last 1000.

        It must be newer than the stored tick, and of its checkpoint unless the stream waits to adopt another: two
        engines that both ran the batch would count its rows twice.
        """
        before = self.tick(row.stream)
        log = tables.tick_log
        if before is not None and before.checkpoint not in (row.checkpoint, ADOPTED):
            raise StateError(
                "checkpoint-replaced",
                f"stream {row.stream!r} was adopted with another checkpoint while batch {row.batch_id} was computed",
                hint="Only one engine may run on a stream: stop the other one, then restart this one.",
            )
        if before is not None and before.batch_id >= row.batch_id:
            raise StateError(
                "tick-not-newer",
                f"batch {row.batch_id} of stream {row.stream!r} cannot follow batch {before.batch_id}",
                hint="Only one engine may run on a stream: stop the other one, then restart this one.",
            )
        self._put([row])
        entry = TickLogRow(
            stream=row.stream,
            batch_id=row.batch_id,
            digest=row.offsets_digest,
            watermark=row.watermark,
            detail=detail or {},
        )
        self._insert([entry])
        too_old = log.c.batch_id <= row.batch_id - TICKS_KEPT
        self._connection.execute(delete(log).where(log.c.stream == row.stream, too_old))

    def adopt_checkpoint(self, stream: str) -> None:
        """Let the stream take over the checkpoint of its next tick; the log of the old checkpoint's batches goes."""
        tick = self.tick(stream)
        if tick is not None:
            self._put([replace(tick, checkpoint=ADOPTED)])
            self._delete(tables.tick_log.c.stream, [stream])

    def _add_files(self, new: list[FileRow]) -> tuple[FileRow, ...]:
        if not new:
            return ()
        table = TABLE_OF[type(new[0])]
        parameters = [{name: value for name, value in values(row).items() if name != "id"} for row in new]
        statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
        ids = self._connection.scalars(statement, parameters).all()
        self.forget_garbage([row.path for row in new])
        stored = tuple(replace(row, id=id) for row, id in zip(new, ids, strict=True))
        self._note(stored)
        return stored

    def _remove_files(self, table: Table, ids: Iterable[int]) -> tuple[str, ...]:
        wanted = set(ids)
        paths: list[str] = []
        for chunk in chunks(wanted):
            paths += self._connection.scalars(select(table.c.path).where(table.c.id.in_(chunk)))
        if len(paths) != len(wanted):
            what = table.name.replace("_", " ")
            raise StateError(
                "segments-changed",
                f"{len(wanted) - len(paths)} of {len(wanted)} {what} were removed by somebody else",
                hint="Only one engine may run on a stream: stop the other one, then restart this one.",
            )
        self._delete(table.c.id, wanted)
        # A file goes with the last that is in it.
        gone = set(paths) - self._present(table.c.path, paths)
        self.add_garbage(gone)
        return tuple(sorted(gone))

    def describe_tick(self, stream: str, batch_id: int, detail: Json) -> None:
        """Add to the log what is known of a tick only after its commit: how long it took, and where."""
        log = tables.tick_log
        known = self.logged_tick(stream, batch_id)
        if known is not None:
            where = (log.c.stream == stream, log.c.batch_id == batch_id)
            self._connection.execute(update(log).where(*where).values(detail={**known.detail, **detail}))

    def _insert(self, rows: Sequence[CatalogRow]) -> None:
        if rows:
            self._connection.execute(insert(TABLE_OF[type(rows[0])]), [values(row) for row in rows])
            self._note(rows)

    def _put(self, rows: Iterable[CatalogRow]) -> None:
        """Insert or replace rows of a kind whose primary key is a single column."""
        new = list(rows)
        if new:
            (key,) = TABLE_OF[type(new[0])].primary_key
            self._delete(key, [getattr(row, key.name) for row in new])
            self._insert(new)

    def _delete(self, column: Column[Any], wanted: Iterable[Any]) -> int:
        table = column.table
        assert isinstance(table, Table)
        deleted = 0
        for chunk in chunks(set(wanted)):
            if table.name in KIND_OF:
                self._note(self._select(KIND_OF[table.name], column.in_(chunk)), -1)
            deleted += self._connection.execute(delete(table).where(column.in_(chunk))).rowcount
        return deleted

    def _present(self, column: Column[Any], wanted: Iterable[str]) -> set[str]:
        present: set[str] = set()
        for chunk in chunks(set(wanted)):
            present |= set(self._connection.scalars(select(column).where(column.in_(chunk)).distinct()))
        return present


def _hexadecimal(sums: Mapping[str, int]) -> str:
    return json.dumps({name: f"{total:032x}" for name, total in sums.items()})


def _same_file(row: DeadLetterRow, stored: DeadLetterRow | None) -> bool:
    return stored is not None and replace(row, id=stored.id, created_at=stored.created_at) == stored


def _repeated(names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value]
