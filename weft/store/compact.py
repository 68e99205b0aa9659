"""Which files are merged into a larger file: a fixed number of neighbours of a rank at a time, of one layout.

Layouts are not mixed, so that what one layout lacks is not missing from the files of another. No row is read here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from weft.plan.blocks import FAN_OUT
from weft.plan.layout import Layout
from weft.plan.network import Node
from weft.segments.segment import SegmentRow
from weft.store.cells import Cuts, without_cuts

# A file this long is merged no further: rewriting it would cost more than opening it beside another.
MAX_ROWS = 4_000_000

Group = tuple[Layout, list[SegmentRow]]


def mergeable(
    files: Iterable[SegmentRow], retention: int | None, fan_out: int = FAN_OUT, *, totals: bool = False
) -> list[list[SegmentRow]]:
    """Group `fan_out` neighbours of a rank, unless the merged file would outlive its rows by too long or grow too big.

    Totals never have more rows than there are groups, however many files they come from.
    """
    ranks: dict[int, list[SegmentRow]] = {}
    for file in sorted(files, key=lambda file: file.batch_from):
        ranks.setdefault(file.rank, []).append(file)
    groups = []
    for _, same in sorted(ranks.items()):
        group = same[:fan_out]
        lasts = max(file.time_to for file in group) - min(file.time_from for file in group)
        if (
            len(group) == fan_out
            and (totals or sum(file.rows for file in group) <= MAX_ROWS)
            and (retention is None or lasts <= max(1, retention // fan_out))
        ):
            groups.append(group)
    return groups


def by_layout(files: Iterable[SegmentRow], layouts: Mapping[str, Layout], node: Node) -> dict[Layout, list[SegmentRow]]:
    """The files of each layout, without statistics that nobody needs any more: merging drops their columns."""
    needed = {statistic.name for statistic in node.statistics}
    groups: dict[Layout, list[SegmentRow]] = {}
    for file in files:
        layout = layouts[file.layout]
        groups.setdefault(replace(layout, statistics=layout.statistics & needed), []).append(file)
    return groups


def due_blocks_group(
    files: Iterable[SegmentRow], layouts: Mapping[str, Layout], node: Node, retention: int | None
) -> Group | None:
    """Choose the next block files to be merged, if any are due."""
    for layout, alike in by_layout(files, layouts, node).items():
        for group in mergeable(alike, retention):
            return layout, group
    return None


def due_totals_group(
    files: Sequence[SegmentRow], layouts: Mapping[str, Layout], node: Node, cuts_read: Cuts
) -> Group | None:
    """Choose the next files of totals to be merged: such between which no file of another layout ends.

    Cuts that nobody reads any more tell no layouts apart, or files of thresholds that come and go would stay for ever.
    A query that a file of a layout cannot serve counts from its end on, by the tick that changed a group last: a
    file that holds ticks before that end and after it would be counted whole.
    """
    fewer = {name: without_cuts(layouts[name], cuts_read) for name in {file.layout for file in files}}
    groups = by_layout(files, fewer, node)
    for layout, alike in groups.items():
        ends = sorted(file.time_to for other, group in groups.items() if other != layout for file in group)
        runs: dict[int, list[SegmentRow]] = {}
        for file in alike:
            runs.setdefault(bisect_right(ends, file.time_from), []).append(file)
        for run in runs.values():
            for group in mergeable(run, None, totals=True):
                return layout, _with_all_as_long(group, run)
    return None


def _with_all_as_long(group: list[SegmentRow], files: Sequence[SegmentRow]) -> list[SegmentRow]:
    """The group with the files above it that have no more rows than it has: merging them too costs no more again.

    Running totals never expire, and a file of them never has more rows than there are groups. Once files are that long,
    all of them are merged, however many ticks there were.
    """
    rows, rank = sum(file.rows for file in group), group[0].rank
    return [*(file for file in files if file.rank > rank and file.rows <= rows), *group]


def due_results(files: Sequence[SegmentRow], reach: int | None, fan_out: int) -> Iterator[list[SegmentRow]]:
    """Group the files of finished windows of a family that are merged: such without a gap between them.

    Over a gap, a merged file would seem to hold windows that were never finished.
    """
    runs: list[list[SegmentRow]] = []
    for file in sorted(files, key=lambda file: file.batch_from):
        if runs and runs[-1][-1].time_to == file.time_from:
            runs[-1].append(file)
        else:
            runs.append([file])
    for run in runs:
        yield from mergeable(run, reach, fan_out)
