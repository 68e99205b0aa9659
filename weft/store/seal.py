"""Sealing: rows of closed slices move from the files of their ticks into blocks, each exactly once.

Needs: the watermark passed the new sealed moment, so rows on time for those slices are all here.
Keeps: the rows of a window are the blocks that cover it, plus stragglers, plus what is not sealed yet; every partial
row is in exactly one of these. Files of different layouts are never mixed: a query that one of them cannot serve must
not spoil the other for the rest.
Cost: a row is copied once for its slice and once in FAN_OUT**level for each level.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import Statistic
from weft.algebra.windows import micros
from weft.backend.duck import Duck
from weft.backend.merge import merge_sql, quoted
from weft.plan.blocks import FAN_OUT, due_blocks, floor_to, span, useful_levels
from weft.plan.layout import Layout
from weft.plan.network import Node
from weft.segments.cache import TableCache
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, STRAGGLER, conform, row_schema
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.cells import Cuts, wider_cells, without_cuts
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")

# A file this long is merged no further: rewriting it would cost more than opening one file more.
MAX_ROWS = 4_000_000


@dataclass(frozen=True)
class Product:
    """A file to be written: its rows, its layout, and what the catalog will say of it."""

    table: pa.Table
    layout: Layout
    rank: int
    kind: str
    batch_from: int
    batch_to: int
    time_from: int
    time_to: int
    family: str = ""


@dataclass(frozen=True)
class Sealed:
    """How far a node is sealed: which batches, up to which moment, and from where on each level has blocks."""

    batch: int
    time: int
    heights: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """What becomes of one node's files: some go, some come, and how far it is sealed afterwards, if that changes."""

    node: str
    removed: tuple[SegmentRow, ...]
    added: tuple[Product, ...]
    sealed: Sealed | None = None
    # Up to where rows were let go: a query that comes later and keeps more must not take them for none.
    gone_to: int = EARLIEST


class Sealer:
    """Decides and computes the change of a node's files after a tick."""

    def __init__(self, duck: Duck, cache: TableCache, cuts_read: Cuts) -> None:
        self._duck = duck
        self._cache = cache
        self._cuts_read = cuts_read

    def change(self, node: Node, state: StreamState, retention: int | None) -> Change | None:
        """The change that is due for the node, or None. `retention` is how far back windows are read, if limited."""
        synopsis = state.synopses[node.id]
        expired = _expired(synopsis, state.watermark, retention)
        try:
            change = self._merge_running(node, state) if node.running else self._seal(node, state, retention)
        except duckdb.Error as error:
            # As on a total too large for its type: then slices are read as they are, and go when they are old.
            log.warning("node not sealed", extra={"node": node.id, "reason": str(error)})
            change = None
        if change is None and not expired:
            return None
        change = change or Change(node.id, (), ())
        gone = {file.path for file in change.removed}
        removed = (*change.removed, *(file for file in expired if file.path not in gone))
        return replace(change, removed=removed, gone_to=max((file.time_to for file in expired), default=EARLIEST))

    def _seal(self, node: Node, state: StreamState, retention: int | None) -> Change | None:
        synopsis = state.synopses[node.id]
        ticks = [file for file in synopsis.data if file.kind == "tick"]
        before = synopsis.node.sealed_time
        after = floor_to(state.watermark, span(synopsis.unit, 1)) if state.watermark is not None else before
        if after <= before or len(ticks) < FAN_OUT:
            return self._merge_files(node, state, retention)
        heights = _raise(synopsis, node, before)
        # A layout that brings no new row may still have blocks to complete: its older slices.
        fresh, sealed = (
            _by_layout((file for file in synopsis.data if file.kind == kind), state.layouts, node)
            for kind in ("tick", "block")
        )
        products = (
            self._blocks(node, state, layout, fresh.get(layout, []), sealed.get(layout, []), heights, after)
            for layout in {**fresh, **sealed}
        )
        added = tuple(product for product in products if product is not None)
        removed = tuple(file for file in ticks if file.time_from < after and self._newest_start(file) < after)
        return Change(node.id, removed, added, Sealed(state.batch_id, after, heights))

    def _newest_start(self, file: SegmentRow) -> int:
        newest = pc.max(self._cache.get(file)[START]).as_py()
        return EARLIEST if newest is None else int(newest)

    def _blocks(
        self,
        node: Node,
        state: StreamState,
        layout: Layout,
        ticks: list[SegmentRow],
        sealed: list[SegmentRow],
        heights: tuple[int, ...],
        after: int,
    ) -> Product | None:
        """The closed rows of these tick files, and the blocks of every level that are complete now."""
        synopsis = state.synopses[node.id]
        before, unit = synopsis.node.sealed_time, synopsis.unit
        statistics, names = _kept(node, layout)
        made = self._fresh(node, synopsis, ticks, statistics, after)
        end = _end(layout, made) if made.num_rows else EARLIEST
        for level, height in enumerate(heights, start=1):
            due = due_blocks(level, unit=unit, height=height, sealed=before, new_sealed=after)
            if due is None:
                break
            near = [file for file in sealed if file.time_to > due[0] and file.time_from < due[1]]
            older = [self._cache.get(file).select(made.column_names) for file in near]
            blocks = self._level(pa.concat_tables([made, *older]), level, due, unit, names, statistics)
            if blocks.num_rows:
                # Not due[1]: a file must not seem to reach into windows that it was never asked to serve.
                end = max([end, *(min(file.time_to, due[1]) for file in near)])
            made = pa.concat_tables([made, blocks])
        if not made.num_rows:
            return None
        return Product(
            made.sort_by([(LEVEL, "ascending"), (START, "ascending")]),
            layout,
            0,
            "block",
            min((file.batch_from for file in ticks), default=state.batch_id),
            state.batch_id,
            int(pc.min(made[START]).as_py()),
            end,
        )

    def _fresh(
        self, node: Node, synopsis: Synopsis, ticks: list[SegmentRow], statistics: Sequence[Statistic], after: int
    ) -> pa.Table:
        """Rows of the ticks that start before the new sealed moment and were not sealed yet, merged by slice."""
        before, batch = synopsis.node.sealed_time, synopsis.node.sealed_batch
        schema = row_schema(node.dimensions, statistics)
        parts = [schema.empty_table()]
        for file in ticks:
            table = self._cache.get(file).select(schema.names)
            floor = before if file.batch_to <= batch else EARLIEST
            within = pc.and_(pc.less(table[START], after), pc.greater_equal(table[START], floor))
            parts.append(table.filter(within))
        level = f"CAST(CASE WHEN {START} < {before} THEN {STRAGGLER} ELSE 0 END AS TINYINT)"
        dimensions = [(quoted(one.name), one.name) for one in node.dimensions]
        keys = [(START, START), (LATE, LATE), (level, LEVEL), *dimensions]
        merged = self._duck.run(merge_sql("weft_rows", keys, statistics), {"weft_rows": pa.concat_tables(parts)})
        return conform(merged, schema)

    def _level(
        self,
        rows: pa.Table,
        level: int,
        due: tuple[int, int],
        unit: int,
        names: Sequence[str],
        statistics: Sequence[Statistic],
    ) -> pa.Table:
        """Blocks of a level, from the rows of the level below."""
        length = span(unit, level)
        aligned = f"({START} - (({START} % {length}) + {length}) % {length})"
        keys = [
            (aligned, START),
            (LATE, LATE),
            (f"CAST({level} AS TINYINT)", LEVEL),
            *((quoted(name), name) for name in names),
        ]
        source = f"(SELECT * FROM weft_rows WHERE {LEVEL} = {level - 1} AND {START} >= {due[0]} AND {START} < {due[1]})"
        return conform(self._duck.run(merge_sql(source, keys, statistics), {"weft_rows": rows}), rows.schema)

    def _merge_files(self, node: Node, state: StreamState, retention: int | None) -> Change | None:
        """Several block files of one rank become one of the next; their rows stay as they are."""
        blocks = [file for file in state.synopses[node.id].data if file.kind == "block"]
        for layout, group in _due_groups(blocks, state, node, retention):
            rows = self._rows(node, layout, group).sort_by([(LEVEL, "ascending"), (START, "ascending")])
            return Change(node.id, tuple(group), (gathered(rows, layout, group),))
        return None

    def _merge_running(self, node: Node, state: StreamState) -> Change | None:
        """Files of a running node merge into one row a group; `start` is then the last tick that changed the group."""
        for layout, group in _due_runs(state.synopses[node.id].data, state, node, self._cuts_read):
            statistics, names = _kept(node, layout)
            rows = wider_cells(self._rows(node, layout, group), node, layout, self._cuts_read)
            keys = [(quoted(name), name) for name in names]
            beside = [(f"max({START})", START), (f"CAST({ON_TIME} AS BIGINT)", LATE), ("CAST(0 AS TINYINT)", LEVEL)]
            merged = self._duck.run(merge_sql("weft_rows", keys, statistics, beside), {"weft_rows": rows})
            return Change(node.id, tuple(group), (gathered(conform(merged, rows.schema), layout, group),))
        return None

    def _rows(self, node: Node, layout: Layout, group: Sequence[SegmentRow]) -> pa.Table:
        """All rows of some files of one layout."""
        schema = row_schema(node.dimensions, _kept(node, layout)[0])
        return pa.concat_tables([self._cache.get(file).select(schema.names) for file in group])


def gathered(rows: pa.Table, layout: Layout, group: Sequence[SegmentRow]) -> Product:
    """The file that replaces a group of files, one rank above them."""
    return Product(
        rows,
        layout,
        max(file.rank for file in group) + 1,
        group[0].kind,
        min(file.batch_from for file in group),
        max(file.batch_to for file in group),
        min(file.time_from for file in group),
        max(file.time_to for file in group),
        group[0].family,
    )


def _due_groups(
    files: Iterable[SegmentRow], state: StreamState, node: Node, retention: int | None
) -> Iterator[tuple[Layout, list[SegmentRow]]]:
    for layout, alike in _by_layout(files, state.layouts, node).items():
        for group in mergeable(alike, retention):
            yield layout, group


def _due_runs(
    files: Sequence[SegmentRow], state: StreamState, node: Node, cuts_read: Cuts
) -> Iterator[tuple[Layout, list[SegmentRow]]]:
    """The same for a running node, of files between which no file of another layout ends; cuts that nobody reads any
    more tell none apart, or files of thresholds that come and go would stay for ever.

    A query that such a file cannot serve counts from its end on, by the tick that changed a group last: a file that
    holds ticks before that end and after it would be counted whole.
    """
    layouts = {name: without_cuts(state.layouts[name], cuts_read) for name in {file.layout for file in files}}
    groups = _by_layout(files, layouts, node)
    for layout, alike in groups.items():
        ends = sorted(file.time_to for other, each in groups.items() if other != layout for file in each)
        runs: dict[int, list[SegmentRow]] = {}
        for file in alike:
            runs.setdefault(bisect_right(ends, file.time_from), []).append(file)
        for run in runs.values():
            for group in mergeable(run, None, max_rows=None):
                yield layout, _with_all_as_long(group, run)


def _with_all_as_long(group: list[SegmentRow], files: Sequence[SegmentRow]) -> list[SegmentRow]:
    """The group with the files above it that have no more rows than it has: merging them too costs no more again.

    Running totals never expire, and a file of them never has more rows than there are groups. Once files are that long,
    all of them become one, however many ticks there were.
    """
    rows, rank = sum(file.rows for file in group), group[0].rank
    return [*(file for file in files if file.rank > rank and file.rows <= rows), *group]


def _expired(synopsis: Synopsis, watermark: int | None, retention: int | None) -> tuple[SegmentRow, ...]:
    """Files that end before everything that can still be read."""
    if watermark is None or retention is None or synopsis.running:
        return ()
    return tuple(file for file in synopsis.data if file.time_to <= watermark - retention)


def _raise(synopsis: Synopsis, node: Node, sealed: int) -> tuple[int, ...]:
    """The heights with the levels that the node's longest window can use; a new level starts at the sealed moment."""
    longest = max((micros(window.range) for window in node.windows), default=0)
    levels = useful_levels(synopsis.unit, longest)
    missing = max(0, levels - len(synopsis.heights))
    return (*synopsis.heights, *(sealed for _ in range(missing)))


def _restricted(layout: Layout, node: Node) -> Layout:
    """The layout without statistics that nobody needs any more: merging drops their columns."""
    return replace(layout, statistics=layout.statistics & {one.name for one in node.statistics})


def _by_layout(
    files: Iterable[SegmentRow], layouts: Mapping[str, Layout], node: Node
) -> dict[Layout, list[SegmentRow]]:
    groups: dict[Layout, list[SegmentRow]] = {}
    for file in files:
        groups.setdefault(_restricted(layouts[file.layout], node), []).append(file)
    return groups


def _kept(node: Node, layout: Layout) -> tuple[tuple[Statistic, ...], tuple[str, ...]]:
    """The statistics that files of this layout hold, and the names of the node's dimensions."""
    statistics = tuple(one for one in node.statistics if one.name in layout.statistics)
    return statistics, tuple(one.name for one in node.dimensions)


def mergeable(
    files: Iterable[SegmentRow], retention: int | None, fan_out: int = FAN_OUT, max_rows: int | None = MAX_ROWS
) -> list[list[SegmentRow]]:
    """So many neighbours of one rank at a time, unless the file would outlive its rows by too long or grow too big."""
    ranks: dict[int, list[SegmentRow]] = {}
    for file in sorted(files, key=lambda one: one.batch_from):
        ranks.setdefault(file.rank, []).append(file)
    groups = []
    for _, same in sorted(ranks.items()):
        group = same[:fan_out]
        lasts = max(file.time_to for file in group) - min(file.time_from for file in group)
        if (
            len(group) == fan_out
            and (max_rows is None or sum(file.rows for file in group) <= max_rows)
            and (retention is None or lasts <= max(1, retention // fan_out))
        ):
            groups.append(group)
    return groups


def _end(layout: Layout, rows: pa.Table) -> int:
    """Where the last slice of some rows ends."""
    newest = int(pc.max(rows[START]).as_py())
    return layout.slicing.next_edge(newest) if layout.slicing is not None else newest + 1
