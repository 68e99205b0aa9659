"""From the new rows of base nodes to those of all nodes: lateness marked, coarser group-bys merged from finer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.windows import Sliced
from weft.backend.duck import Duck
from weft.backend.merge import merge_sql, quoted
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.segments.segment import EARLIEST
from weft.store.ledger import write_ledger


@dataclass(frozen=True)
class Lateness:
    """Which slices of a tick are late, judged against the watermark at its start.

    late: slices that ended by then: some window that holds them may be closed. dead: those with no open window at all.
    """

    watermark: int
    late: frozenset[int]
    dead: frozenset[int]


def judge(starts: frozenset[int], slicing: Slicing, windows: Iterable[Sliced], watermark: int | None) -> Lateness:
    """Judge the slices of a tree once each; there are few of them, whatever the number of rows."""
    if watermark is None:
        return Lateness(ON_TIME, frozenset(), frozenset())
    late = frozenset(start for start in starts if start < watermark and slicing.next_edge(start) <= watermark)
    dead = frozenset(start for start in late if all(window.last_end(start) <= watermark for window in windows))
    return Lateness(watermark, late, dead)


@dataclass(frozen=True)
class Dropped:
    """Rows of a tick that no window of a tree could use: how many, of which kinds of windows, and up to where."""

    rows: int
    windows: frozenset[str]
    until: int


@dataclass(frozen=True)
class NewRows:
    """What a tick adds: rows and counts of late rows by node, and what each tree had no use for."""

    rows: dict[str, pa.Table]
    ledgers: dict[str, pa.Table]
    drops: tuple[Dropped, ...] = ()

    @property
    def dropped(self) -> int:
        """How many rows of the batch no window could use: a row that any tree kept is in use."""
        return min((one.rows for one in self.drops), default=0)


def new_rows(
    duck: Duck, network: Network, partials: Mapping[str, pa.Table], watermark: int | None, batch_id: int
) -> NewRows:
    """The new rows of every node: base nodes' as Spark made them, the others merged from their parents' new rows."""
    lateness = {
        tree: judge(_slices(network, tree, partials), slicing, windows, watermark)
        for tree, (slicing, windows) in network.trees.items()
    }
    made: dict[str, pa.Table] = {}
    for node in network.nodes:
        if node.parent is not None:
            made[node.id] = merge_from(duck, node, made[node.parent], batch_id=batch_id)
        else:
            rows = partials[node.id]
            made[node.id] = _mark(rows, lateness[node.tree]) if node.clock.sliced else rows
    if not any(one.late for one in lateness.values()):
        return NewRows(made, {})
    sliced = [node for node in network.stored.values() if node.clock.sliced]
    counted = {node.id: _count_late(duck, node, made[node.id], lateness[node.tree], batch_id) for node in sliced}
    # Running totals took every row, however late; only now is dropped what no window can use.
    alive = {node.id: _without_dead(made[node.id], lateness[node.tree]) for node in sliced}
    first = {node.tree: node.id for node in reversed(sliced)}
    drops = tuple(
        Dropped(
            _row_count(made[first[tree]]) - _row_count(alive[first[tree]]),
            frozenset(map(str, windows)),
            max((slicing.next_edge(start) for start in lateness[tree].dead), default=EARLIEST),
        )
        for tree, (slicing, windows) in network.trees.items()
    )
    return NewRows({**made, **alive}, {name: one for name, one in counted.items() if one is not None}, drops)


def _slices(network: Network, tree: str, partials: Mapping[str, pa.Table]) -> frozenset[int]:
    mine = (node for node in network.base if node.clock.sliced and node.tree == tree)
    starts = (pc.unique(partials[node.id][START]).to_pylist() for node in mine)
    return frozenset(start for each in starts for start in each)


def _mark(rows: pa.Table, lateness: Lateness) -> pa.Table:
    """The rows, each late one with the watermark that it came after."""
    if not lateness.late:
        return rows
    late = pc.is_in(rows[START], value_set=pa.array(lateness.late, pa.int64()))
    marks = pc.if_else(late, pa.scalar(lateness.watermark, pa.int64()), pa.scalar(ON_TIME, pa.int64()))
    return rows.set_column(rows.column_names.index(LATE), LATE, marks)


def _without_dead(rows: pa.Table, lateness: Lateness) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[START], value_set=pa.array(lateness.dead, pa.int64()))))


def _row_count(rows: pa.Table) -> int:
    return int(pc.sum(rows[ROW_COUNT.name]).as_py() or 0)


def merge_from(duck: Duck, node: Node, rows: pa.Table, *, batch_id: int) -> pa.Table:
    """A node's rows from the rows of a finer one."""
    if node.clock.sliced:
        keys = [(START, START), (LATE, LATE)]
    else:
        keys = [(f"CAST({batch_id} AS BIGINT)", START), (f"CAST({ON_TIME} AS BIGINT)", LATE)]
    keys += [("CAST(0 AS TINYINT)", LEVEL), *((quoted(one.name), one.name) for one in node.dimensions)]
    kept = [one for one in node.statistics if one.name in rows.column_names]
    merged = duck.run(merge_sql("weft_rows", keys, kept), {"weft_rows": rows})
    return conform(merged, row_schema(node.dimensions, kept))


def _count_late(duck: Duck, node: Node, rows: pa.Table, lateness: Lateness, batch_id: int) -> pa.Table | None:
    """How many rows of each group reached no open window of each of the node's windows; None where none."""
    missed = []
    for window in node.windows:
        closed = [start for start in lateness.late if window.last_end(start) <= lateness.watermark]
        if closed:
            missed.append((window, rows.filter(pc.is_in(rows[START], value_set=pa.array(closed, pa.int64())))))
    return write_ledger(duck, node, missed, batch_id, lateness.watermark)
