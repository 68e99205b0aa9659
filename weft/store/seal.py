"""Sealing: rows of closed slices move from the files of their ticks into blocks, each exactly once.

Needs: the watermark passed the new sealed moment, so all rows on time for the sealed slices are here.
Keeps: the rows of a window are the blocks that cover it, plus stragglers, plus what is not sealed yet; every partial
row is in exactly one of the three. Files of different layouts are never mixed (weft/store/compact.py).
Cost: a row is copied once for its slice and once in FAN_OUT**level for each level.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.aggregates.statistics import Statistic
from weft.algebra.windows import micros
from weft.backend.interface import Backend, Merge, Rows, Selection, Source
from weft.backend.keys import Aligned, Constant, Either, Greatest, Key, Same
from weft.errors import StateError
from weft.plan.blocks import FAN_OUT, due_blocks, floor_to, span, useful_levels
from weft.plan.layout import Layout
from weft.plan.network import Node
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, STRAGGLER, row_schema
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.cells import Cuts, cells_of
from weft.store.change import Change, Product, Sealed, end_of, gathered
from weft.store.compact import by_layout, due_blocks_group, due_totals_group
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")

# Sealing takes a few statements whatever there is to seal: files of so few rows together wait until they are so many.
FEW_ROWS, PATIENCE = 20_000, 4 * FAN_OUT


def seal(node: Node, state: StreamState, retention: int | None, cuts_read: Cuts, backend: Backend) -> Change | None:
    """Make the change of a node's files that is due, or None; `retention` is how far back windows are read."""
    expired = _expired(state.synopses[node.id], state.watermark, retention)
    try:
        change = (
            _seal_or_merge(node, state, retention, backend)
            if node.clock.sliced
            else _merge_totals(node, state, cuts_read, backend)
        )
    except (OSError, StateError):
        raise
    except Exception as error:
        # A failed merge stops no stream, whatever the reason: slices are read as they are, and go when they are old.
        log.warning("node not sealed", extra={"node": node.id, "reason": str(error)})
        change = None
    if change is None and not expired:
        return None
    change = change or Change(node.id, (), ())
    gone = {file.id for file in change.removed}
    removed = (*change.removed, *(file for file in expired if file.id not in gone))
    return replace(change, removed=removed, gone_to=max((file.time_to for file in expired), default=EARLIEST))


@dataclass(frozen=True)
class Sealing:
    """A node's slices before `after` become blocks; slices before `before` were sealed up to `before_batch` already."""

    node: Node
    batch_id: int
    before: int
    before_batch: int
    after: int
    unit: int
    heights: tuple[int, ...]

    def due(self, level: int) -> tuple[int, int] | None:
        """The blocks of a level that are complete now, as a span of time."""
        height = self.heights[level - 1]
        return due_blocks(level, unit=self.unit, height=height, sealed=self.before, new_sealed=self.after)


def sealing_due(node: Node, state: StreamState) -> Sealing | None:
    """How far a node can be sealed now; None where that is not worth it yet."""
    synopsis = state.synopses[node.id]
    before = synopsis.node.sealed_time
    after = floor_to(state.watermark, span(synopsis.unit, 1)) if state.watermark is not None else before
    ticks = [file.rows for file in synopsis.data if file.kind == "tick"]
    # What ticks add to no more only gets older.
    if after <= before or not synopsis.fed or len(ticks) < (FAN_OUT if sum(ticks) >= FEW_ROWS else PATIENCE):
        return None
    heights = _heights(synopsis, node, before)
    return Sealing(node, state.batch_id, before, synopsis.node.sealed_batch, after, synopsis.unit, heights)


def _seal_or_merge(node: Node, state: StreamState, retention: int | None, backend: Backend) -> Change | None:
    sealing = sealing_due(node, state)
    if sealing is None:
        return _merge_blocks(node, state, retention, backend)
    data = state.synopses[node.id].data
    # A layout that brings no new row may still have blocks to complete, from its older slices.
    fresh, sealed = (
        by_layout((file for file in data if file.kind == kind), state.layouts, node) for kind in ("tick", "block")
    )
    products = (
        _blocks(sealing, layout, fresh.get(layout, []), sealed.get(layout, []), backend)
        for layout in {**fresh, **sealed}
    )
    added = tuple(product for product in products if product is not None)
    removed = tuple(file for file in data if file.kind == "tick" and _is_before(file, sealing.after, backend))
    return Change(node.id, removed, added, Sealed(state.batch_id, sealing.after, sealing.heights))


def _is_before(file: SegmentRow, moment: int, backend: Backend) -> bool:
    """Whether all rows of a file start before a moment; its last row may be long before the end of the file."""
    if file.time_from >= moment or file.time_to <= moment:
        return file.time_from < moment
    newest = backend.stored(file).greatest
    return newest is None or newest < moment


def _blocks(
    sealing: Sealing, layout: Layout, ticks: list[SegmentRow], sealed: list[SegmentRow], backend: Backend
) -> Product | None:
    """Gather the closed rows of these tick files, and the blocks of every level that are complete now."""
    statistics = stored_statistics(sealing.node, layout)
    parts = [backend.merge(fresh_slices(sealing, ticks, statistics))]
    end = end_of(layout, parts[0]) if parts[0].count else EARLIEST
    for level in range(1, len(sealing.heights) + 1):
        due = sealing.due(level)
        if due is None:
            break
        near = [file for file in sealed if file.time_to > due[0] and file.time_from < due[1]]
        blocks = backend.merge(blocks_of_level(sealing, level, due, (*parts, *near), statistics))
        if blocks.count:
            # The end is not due[1]: a file must not seem to reach into windows that it was never asked to serve.
            end = max([end, *(min(file.time_to, due[1]) for file in near)])
        parts.append(blocks)
    rows = backend.filter(_selection(sealing.node, statistics, parts), order=(LEVEL, START))
    if rows.least is None:
        return None
    first = min((file.batch_from for file in ticks), default=sealing.batch_id)
    return Product(rows, layout, 0, "block", first, sealing.batch_id, rows.least, end)


def fresh_slices(sealing: Sealing, ticks: Sequence[SegmentRow], statistics: Sequence[Statistic]) -> Merge:
    """Merge the rows of ticks that start before the new sealed moment and were not sealed yet, by slice."""
    partly = tuple(file for file in ticks if file.batch_to <= sealing.before_batch)
    whole = tuple(file for file in ticks if file.batch_to > sealing.before_batch)
    sources = (
        Source(partly, span=(sealing.before, sealing.after)),
        Source(whole, span=(EARLIEST, sealing.after)),
    )
    level = Either(START, sealing.before, STRAGGLER, 0, LEVEL)
    return _merge(sealing.node, sources, (Same(START), Same(LATE), level), statistics)


def blocks_of_level(
    sealing: Sealing,
    level: int,
    due: tuple[int, int],
    rows: Sequence[SegmentRow | Rows],
    statistics: Sequence[Statistic],
) -> Merge:
    """Merge the blocks of a level from the rows of the level below."""
    length = span(sealing.unit, level)
    below = Source(tuple(rows), span=due, level=level - 1)
    keys = (Aligned(START, length), Same(LATE), Constant(level, LEVEL, tiny=True))
    return _merge(sealing.node, (below,), keys, statistics)


def _merge(
    node: Node, sources: tuple[Source, ...], keys: tuple[Key, ...], statistics: Sequence[Statistic]
) -> Merge:
    """Merge the sources by the keys and the node's dimensions."""
    schema = row_schema(node.dimensions, statistics)
    dimensions = (Same(dimension.name) for dimension in node.dimensions)
    rows = Selection(sources, tuple(schema.names), schema)
    return Merge(rows, (*keys, *dimensions), tuple(statistics), schema=schema)


def _selection(node: Node, statistics: Sequence[Statistic], rows: Sequence[SegmentRow | Rows]) -> Selection:
    schema = row_schema(node.dimensions, statistics)
    return Selection((Source(tuple(rows)),), tuple(schema.names), schema)


def _merge_blocks(node: Node, state: StreamState, retention: int | None, backend: Backend) -> Change | None:
    """Merge several block files of a rank into a file of the next; their rows stay as they are."""
    blocks = [file for file in state.synopses[node.id].data if file.kind == "block"]
    due = due_blocks_group(blocks, state.layouts, node, retention)
    if due is None:
        return None
    layout, group = due
    rows = backend.filter(_selection(node, stored_statistics(node, layout), group), order=(LEVEL, START))
    return Change(node.id, tuple(group), (gathered(rows, layout, group),))


def _merge_totals(node: Node, state: StreamState, cuts_read: Cuts, backend: Backend) -> Change | None:
    """Merge files of totals into one row a group; `start` is then the last tick that changed the group."""
    due = due_totals_group(state.synopses[node.id].data, state.layouts, node, cuts_read)
    if due is None:
        return None
    layout, group = due
    beside = (Greatest(START), Constant(ON_TIME, LATE), Constant(0, LEVEL, tiny=True))
    merge = _merge(node, (Source(tuple(group)),), (), stored_statistics(node, layout))
    rows = backend.merge(replace(merge, beside=beside, cells=cells_of(node, layout, cuts_read)))
    return Change(node.id, tuple(group), (gathered(rows, layout, group),))


def _expired(synopsis: Synopsis, watermark: int | None, retention: int | None) -> tuple[SegmentRow, ...]:
    """List the files that end before everything that can still be read."""
    if watermark is None or retention is None or not synopsis.clock.sliced:
        return ()
    return tuple(file for file in synopsis.data if file.time_to <= watermark - retention)


def _heights(synopsis: Synopsis, node: Node, sealed: int) -> tuple[int, ...]:
    """Return the heights of all levels that the longest window can use; a new level starts at the sealed moment."""
    # Rows do not come together however long a block is.
    longest = 0 if node.holds_rows else max((micros(window.range) for window in node.windows), default=0)
    levels = useful_levels(synopsis.unit, longest)
    missing = max(0, levels - len(synopsis.heights))
    return (*synopsis.heights, *(sealed for _ in range(missing)))


def stored_statistics(node: Node, layout: Layout) -> tuple[Statistic, ...]:
    """The statistics that files of this layout hold."""
    return tuple(statistic for statistic in node.statistics if statistic.name in layout.statistics)
