"""From the new rows of base nodes to the new rows of all nodes: lateness marked, coarser nodes merged from finer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.aggregates.statistics import Statistic
from weft.algebra.windows import Sliced
from weft.backend.interface import Backend, Merge, Rows, Selection, Source
from weft.backend.keys import Constant, Key, Same
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, row_schema
from weft.segments.segment import EARLIEST
from weft.store.ledger import entries


@dataclass(frozen=True)
class Lateness:
    """Which slices of a tick are late, judged against the watermark at its start.

    late: slices that ended by then: a window that holds them may be closed. dead: late slices without any open window.
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
    """The rows of a tick that no window of a tree could use: how many, for which kinds of windows, and up to where."""

    rows: int
    windows: frozenset[str]
    until: int


@dataclass(frozen=True)
class NewRows:
    """What a tick adds: rows and counts of late rows by node, and what each tree had no use for."""

    rows: dict[str, Rows]
    ledgers: dict[str, Rows]
    drops: tuple[Dropped, ...] = ()

    @property
    def dropped(self) -> int:
        """How many rows of the batch no window could use: a row that any tree kept is in use."""
        return min((drop.rows for drop in self.drops), default=0)


def new_rows(
    backend: Backend, network: Network, partials: Mapping[str, Rows], watermark: int | None, batch_id: int
) -> NewRows:
    """Return the new rows of every node: a base node's as Spark made them, others merged from their parent's rows."""
    starts = _slices(backend, network, partials)
    lateness = {
        tree: judge(frozenset(starts.get(tree, ())), slicing, windows, watermark)
        for tree, (slicing, windows) in network.trees.items()
    }
    rows: dict[str, Rows] = {}
    for node in network.nodes:
        if node.parent is not None:
            rows[node.id] = backend.merge(derived(node, _all_of(node, rows[node.parent]), batch_id))
        elif node.clock.sliced and lateness[node.tree].late:
            judged = lateness[node.tree]
            rows[node.id] = backend.mark(partials[node.id], judged.late, judged.watermark)
        else:
            rows[node.id] = partials[node.id]
    if watermark is None or not any(judged.late for judged in lateness.values()):
        return NewRows(rows, {})
    return _without_dead(backend, network, rows, partials, lateness, batch_id)


def _counting(network: Network) -> list[Node]:
    """The nodes that are computed from rows and count every row."""
    return [node for node in (*network.base, *network.counters) if not node.matches]


def _without_dead(
    backend: Backend,
    network: Network,
    rows: dict[str, Rows],
    counted: Mapping[str, Rows],
    lateness: Mapping[str, Lateness],
    batch_id: int,
) -> NewRows:
    """Leave out the rows that no window can use, and count how many rows each kind of window missed.

    Running totals took every row, however late; only now is dropped what no window can use.
    """
    sliced = [node for node in network.stored.values() if node.clock.sliced]
    ledgers = {}
    for node in sliced:
        missed = _missed(node, lateness[node.tree])
        if missed:
            ledger = entries(node, rows[node.id], missed, batch_id, lateness[node.tree].watermark)
            ledgers[node.id] = backend.merge(ledger)
    alive = {
        node.id: backend.without(rows[node.id], lateness[node.tree].dead) for node in sliced if lateness[node.tree].dead
    }
    first = {node.tree: counted[node.id] for node in reversed(_counting(network)) if node.clock.sliced}
    drops = tuple(
        Dropped(
            backend.count(first[tree]) - backend.count(backend.without(first[tree], lateness[tree].dead)),
            frozenset(map(str, windows)),
            max((slicing.next_edge(start) for start in lateness[tree].dead), default=EARLIEST),
        )
        for tree, (slicing, windows) in network.trees.items()
    )
    return NewRows({**rows, **alive}, {name: ledger for name, ledger in ledgers.items() if ledger.count}, drops)


def _slices(backend: Backend, network: Network, partials: Mapping[str, Rows]) -> dict[str, set[int]]:
    """The slices that each tree has rows of in this tick."""
    starts: dict[str, set[int]] = {}
    for node in (*network.base, *network.counters):
        if node.clock.sliced:
            starts.setdefault(node.tree, set()).update(backend.starts(partials[node.id]))
    return starts


def _missed(node: Node, lateness: Lateness) -> dict[Sliced, list[int]]:
    """For each kind of the node's windows the late slices all of whose windows were closed."""
    missed = {
        window: [start for start in lateness.late if window.last_end(start) <= lateness.watermark]
        for window in node.windows
    }
    return {window: starts for window, starts in missed.items() if starts}


def in_one_piece(backend: Backend, node: Node, rows: Rows, batch_id: int) -> Rows:
    """Merge a base node's rows, of which several statements made parts, into one row a group."""
    return backend.merge(derived(node, _all_of(node, rows), batch_id))


def _all_of(node: Node, rows: Rows) -> Selection:
    """Select what a node needs of the rows of a finer node."""
    schema = row_schema(node.dimensions, node.statistics)
    return Selection((Source((rows,)),), tuple(schema.names), schema)


def derived(node: Node, rows: Selection, batch_id: int, statistics: tuple[Statistic, ...] | None = None) -> Merge:
    """Merge a node's rows from the rows of a finer node; with `statistics`, only these."""
    merged = node.statistics if statistics is None else statistics
    if node.clock.sliced:
        keys: tuple[Key, ...] = (Same(START), Same(LATE))
    else:
        keys = (Constant(batch_id, START), Constant(ON_TIME, LATE))
    dimensions = (Same(dimension.name) for dimension in node.dimensions)
    schema = row_schema(node.dimensions, merged)
    return Merge(rows, (*keys, Constant(0, LEVEL, tiny=True), *dimensions), merged, schema=schema)
