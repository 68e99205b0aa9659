"""The network of one stream: every node that its queries need, what each is computed from, and who reads it.

Three steps, each a function of its own. `find` states which nodes could be computed from which, and why others could
not; `decide` picks (share all that can be shared, from the node with the fewest rows as far as that was measured, with
the fewest dimensions where not);
`assemble` makes the network of the decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from weft.aggregates.statistics import ROWS, Statistic
from weft.plan.dimensions import Cut, Dimension, by_name
from weft.plan.layout import Layout
from weft.plan.needs import Needs
from weft.plan.slices import Slicing, slicing
from weft.plan.windows import Window


@dataclass(frozen=True)
class Node:
    """A shared partial aggregate."""

    id: str
    running: bool
    dimensions: tuple[Dimension, ...]
    statistics: tuple[Statistic, ...]
    windows: tuple[Window, ...]
    counts_values: bool
    readers: tuple[str, ...]
    parent: str | None = None

    def layout(self, network: Network) -> Layout:
        """What the rows that it writes now can answer."""
        cuts = dict(network.cuts)
        mine = tuple(
            sorted((one.name, frozenset(map(repr, cuts[one.name]))) for one in self.dimensions if one.name in cuts)
        )
        return Layout(frozenset(one.name for one in self.statistics), mine, None if self.running else network.slicing)


@dataclass(frozen=True)
class NotShared:
    """A node is not computed from another, and why."""

    node: str
    other: str
    reason: str


@dataclass(frozen=True)
class Network:
    """All nodes of a stream, parents first."""

    stream: str
    slicing: Slicing | None
    cuts: tuple[tuple[str, tuple[Cut, ...]], ...]
    nodes: tuple[Node, ...]
    refusals: tuple[NotShared, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        return {node.id: node for node in self.nodes}

    @property
    def base(self) -> tuple[Node, ...]:
        """The nodes that are computed from the stream's rows."""
        return tuple(node for node in self.nodes if node.parent is None)

    @property
    def windows(self) -> tuple[Window, ...]:
        return tuple(sorted({window for node in self.nodes for window in node.windows}, key=str))


@dataclass
class Wanted:
    """What all queries together want of one node."""

    running: bool
    dimensions: frozenset[Dimension]
    counts_values: bool = True
    statistics: set[Statistic] = field(default_factory=lambda: {ROWS})
    windows: set[Window] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)


def build_network(stream: str, queries: Mapping[str, Needs], sizes: Mapping[str, int] | None = None) -> Network:
    """The network that serves these queries, by name; `sizes` are the rows that nodes had in a tick, where known."""
    wanted = collect(queries)
    candidates, refusals = find(wanted)
    return assemble(stream, queries.values(), wanted, decide(wanted, candidates, sizes or {}), refusals)


def collect(queries: Mapping[str, Needs]) -> dict[str, Wanted]:
    """The nodes that queries read, each with everything that is asked of it (horizontal expansion)."""
    wanted: dict[str, Wanted] = {}
    for name, needs in queries.items():
        for part in needs.parts:
            entry = wanted.get(part.node)
            if entry is None:
                entry = wanted[part.node] = Wanted(needs.window is None, part.dimensions)
            entry.counts_values &= part.value is not None
            entry.statistics.update(part.statistics)
            entry.readers.add(name)
            if needs.window is not None:
                entry.windows.add(needs.window)
    return wanted


def find(wanted: Mapping[str, Wanted]) -> tuple[dict[str, tuple[str, ...]], tuple[NotShared, ...]]:
    """For every node, the nodes it could be computed from (vertical expansion), and the refusals with reasons."""
    candidates: dict[str, tuple[str, ...]] = {}
    refusals: list[NotShared] = []
    for node, mine in wanted.items():
        finer = []
        for other, theirs in wanted.items():
            if other == node or not mine.dimensions <= theirs.dimensions:
                continue
            reason = _refuse(mine, theirs)
            if reason:
                refusals.append(NotShared(node, other, reason))
            else:
                finer.append(other)
        candidates[node] = tuple(finer)
    return candidates, tuple(sorted(refusals, key=lambda one: (one.node, one.other)))


def _refuse(mine: Wanted, theirs: Wanted) -> str:
    """Why a node with all of my dimensions still cannot feed me; empty when it can."""
    if theirs.running and not mine.running:
        return "running-totals-have-no-slices"
    # Value counts may have as many rows as the stream itself; their other statistics would cost as much again.
    if theirs.counts_values and not mine.counts_values:
        return "value-counts-are-too-wide"
    if mine.dimensions == theirs.dimensions and mine.running == theirs.running:
        return "same-node"
    return ""


def decide(
    wanted: Mapping[str, Wanted], candidates: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int]
) -> dict[str, str]:
    """The parent of every node that has one: the smallest candidate.

    Smallest is the one whose last tick had the fewest rows. Where nobody counted yet, it is the one with the fewest
    dimensions, a running one first: it has one row a group, not one a slice.
    """

    def size(other: str) -> tuple[bool, int, int, bool, str]:
        mine = wanted[other]
        return other not in sizes, sizes.get(other, 0), len(mine.dimensions), not mine.running, other

    return {node: min(finer, key=size) for node, finer in candidates.items() if finer}


def assemble(
    stream: str,
    queries: Iterable[Needs],
    wanted: Mapping[str, Wanted],
    parents: Mapping[str, str],
    refusals: tuple[NotShared, ...],
) -> Network:
    """The network of a decision: parents first, and every parent with the statistics of its children."""
    ordered = sorted(wanted, key=lambda node: (_depth(node, parents), node))
    statistics = {node: set(wanted[node].statistics) for node in ordered}
    for node in reversed(ordered):
        statistics[node] |= {needed for one in statistics[node] for needed in one.needs}
        if node in parents:
            statistics[parents[node]] |= statistics[node]
    cuts: dict[str, set[Cut]] = {}
    for needs in queries:
        for name, points in needs.cuts:
            cuts.setdefault(name, set()).update(points)
    nodes = tuple(
        Node(
            id=node,
            running=wanted[node].running,
            dimensions=by_name(wanted[node].dimensions),
            statistics=tuple(sorted(statistics[node], key=lambda one: one.name)),
            windows=tuple(sorted(wanted[node].windows, key=str)),
            counts_values=wanted[node].counts_values,
            readers=tuple(sorted(wanted[node].readers)),
            parent=parents.get(node),
        )
        for node in ordered
    )
    slices = slicing({window for node in nodes for window in node.windows})
    return Network(
        stream, slices, tuple(sorted((name, tuple(sorted(points))) for name, points in cuts.items())), nodes, refusals
    )


def _depth(node: str, parents: Mapping[str, str]) -> int:
    depth = 0
    while node in parents:
        node, depth = parents[node], depth + 1
    return depth
