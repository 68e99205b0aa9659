"""The network of a stream: every node that its queries need, what each is computed from, and who reads it.

Three steps, each a function of its own. `collect` states what queries ask for; a `Decision` (see weft/plan/search.py)
says what is computed from what, and which nodes that nobody asked for are worth making; `assemble` makes the network
of the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from weft.aggregates.statistics import ROW_COUNT, Statistic
from weft.algebra.expressions import column_names, identity
from weft.algebra.windows import Clock, Sliced
from weft.plan.dimensions import TICK, Cut, Dimension, by_name
from weft.plan.finer import Finer, NotShared
from weft.plan.layout import Layout
from weft.plan.match import LookedFor, Match, looked_for
from weft.plan.needs import Needs
from weft.plan.slices import Slicing, slicing


@dataclass(frozen=True)
class Node:
    """A shared partial aggregate. A node without readers is not stored: it is only there to derive others from."""

    id: str
    clock: Clock
    dimensions: tuple[Dimension, ...]
    statistics: tuple[Statistic, ...]
    windows: tuple[Sliced, ...]
    counts_values: bool
    readers: tuple[str, ...]
    parent: str | None = None
    tree: str = ""
    slicing: Slicing | None = None
    # Since which batch queries that moved read it; 0 where none did.
    epoch: int = 0

    @cached_property
    def keys(self) -> tuple[Dimension, ...]:
        """Its dimensions without the tick, which is known when its rows are computed."""
        return tuple(dimension for dimension in self.dimensions if not dimension.ticks)

    @property
    def holds_rows(self) -> bool:
        """Whether it holds rows that are selected, each for itself."""
        return TICK in self.dimensions

    @property
    def matches(self) -> str | None:
        """The name of its dimension of matches, None for a node that holds every row."""
        return next((dimension.name for dimension in self.dimensions if dimension.matches), None)

    def layout(self, network: Network) -> Layout:
        """The layout of the rows that the node writes now."""
        cuts = dict(network.cuts)
        own_cuts = tuple(
            sorted((cell.name, frozenset(map(repr, cuts[cell.name]))) for cell in self.dimensions if cell.name in cuts)
        )
        names = frozenset(statistic.name for statistic in self.statistics)
        return Layout(names, own_cuts, self.slicing, self.epoch)


@dataclass(frozen=True)
class Network:
    """All nodes of a stream, parents first. Retired nodes are computed no more, and kept while somebody reads them."""

    stream: str
    cuts: tuple[tuple[str, tuple[Cut, ...]], ...]
    nodes: tuple[Node, ...]
    retired: tuple[Node, ...] = ()
    # Cuts that queries read before they moved.
    past_cuts: tuple[tuple[str, tuple[Cut, ...]], ...] = ()
    # What the nodes with a dimension of matches look for, by its name.
    matches: tuple[tuple[str, tuple[Match, ...]], ...] = ()

    @cached_property
    def cuts_read(self) -> Mapping[str, Mapping[str, Cut]]:
        """The cuts of every dimension with cells that any query reads, now or from before it moved, by their text."""
        read: dict[str, dict[str, Cut]] = {}
        for name, points in (*self.cuts, *self.past_cuts):
            read.setdefault(name, {}).update((repr(point), point) for point in points)
        return read

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def base(self) -> tuple[Node, ...]:
        """The nodes that are computed from the stream's rows."""
        return tuple(node for node in self.nodes if node.parent is None)

    @cached_property
    def counters(self) -> tuple[Node, ...]:
        """Nodes that nobody stores, which count what arrived where all others hold just the rows that match."""
        whole = {node.tree for node in self.base if node.clock.sliced and not node.matches}
        missing = {node.tree: node for node in self.base if node.clock.sliced and node.tree not in whole}
        if not missing and self.base and all(node.matches for node in self.base):
            missing = {"": self.base[0]}
        return tuple(
            replace(
                node,
                id=identity("counter", tree),
                dimensions=(),
                statistics=(ROW_COUNT,),
                counts_values=False,
                readers=(),
            )
            for tree, node in sorted(missing.items())
        )

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the stream that are read."""
        matched = (match.where for _, matches in self.matches for match in matches)
        expressions = [
            *matched,
            *(dimension.expression for node in self.base for dimension in node.keys),
            *(part for node in self.base for kept in node.statistics for part in kept.expressions),
        ]
        return frozenset[str]().union(*map(column_names, expressions))

    @cached_property
    def stored(self) -> Mapping[str, Node]:
        """The nodes whose new rows are kept."""
        return {node.id: node for node in self.nodes if node.readers}

    @cached_property
    def children(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that are computed from each parent."""
        children: dict[str, list[Node]] = {}
        for node in self.nodes:
            if node.parent is not None:
                children.setdefault(node.parent, []).append(node)
        return {parent: tuple(nodes) for parent, nodes in children.items()}

    @cached_property
    def finer(self) -> Finer:
        """Which of the nodes that somebody reads could be computed from which, and why others could not."""
        return Finer(self.stored)

    @cached_property
    def looked_for(self) -> Mapping[str, LookedFor]:
        """What the matches cost that are looked for in the nodes with a dimension of matches, by its name."""
        return {name: looked_for(matches) for name, matches in self.matches}

    def refusals(self, node: str) -> Iterator[NotShared]:
        """The nodes that a stored node is not computed from though they have all of its dimensions."""
        return self.finer.refusals(node)

    @cached_property
    def with_files(self) -> Mapping[str, Node]:
        """The nodes that have files, or may have: stored and retired nodes."""
        return {**self.stored, **{node.id: node for node in self.retired}}

    @cached_property
    def layouts(self) -> Mapping[str, Layout]:
        """The layout of the rows that each node with files writes now."""
        return {name: node.layout(self) for name, node in self.with_files.items()}

    @cached_property
    def trees(self) -> Mapping[str, tuple[Slicing, tuple[Sliced, ...]]]:
        """Each tree's slicing and windows."""
        windows: dict[str, set[Sliced]] = {}
        slicings: dict[str, Slicing] = {}
        for node in self.nodes:
            if node.slicing is not None:
                windows.setdefault(node.tree, set()).update(node.windows)
                slicings[node.tree] = node.slicing
        return {tree: (slicings[tree], tuple(sorted(windows[tree], key=str))) for tree in sorted(windows)}

    @property
    def windows(self) -> tuple[Sliced, ...]:
        return tuple(sorted({window for node in self.nodes for window in node.windows}, key=str))


@dataclass
class Wanted:
    """What all queries together want of a node."""

    clock: Clock
    dimensions: frozenset[Dimension]
    tree: str = ""
    counts_values: bool = True
    statistics: set[Statistic] = field(default_factory=lambda: {ROW_COUNT})
    windows: set[Sliced] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    # What is looked for in a node that holds just the rows that match.
    matches: set[Match] = field(default_factory=set)

    @cached_property
    def closed(self) -> frozenset[Statistic]:
        """Its statistics with those that they need; asked when all of them are known."""
        return frozenset(self.statistics).union(*(statistic.needs for statistic in self.statistics))

    @cached_property
    def looked_for(self) -> LookedFor:
        """What its matches cost together; asked when all of them are known."""
        return looked_for(self.matches)


@dataclass(frozen=True)
class Decision:
    """What is computed from what, and the nodes that nobody asked for, by id."""

    parents: Mapping[str, str]
    unions: Mapping[str, Wanted] = field(default_factory=dict)


@dataclass(frozen=True)
class Past:
    """What a query needed before it moved, until which batch, and the moment from which on it has no rows there."""

    needs: Needs
    until: int
    moment: int


def build_network(
    stream: str,
    queries: Mapping[str, Needs],
    decision: Decision | None = None,
    pasts: Mapping[str, Sequence[Past]] | None = None,
) -> Network:
    """The network that serves these queries, by name; without a decision, all that can be shared is shared."""
    wanted = collect(queries)
    network = assemble(stream, queries.values(), wanted, decision or share_everything(wanted, Finer(wanted)))
    return with_pasts(network, queries, pasts) if pasts else network


def collect(queries: Mapping[str, Needs]) -> dict[str, Wanted]:
    """The nodes that queries read, each with everything that is asked of it (horizontal expansion)."""
    wanted: dict[str, Wanted] = {}
    for name, needs in queries.items():
        for part in needs.parts:
            entry = wanted.get(part.node)
            if entry is None:
                entry = wanted[part.node] = Wanted(needs.window.clock, part.dimensions, needs.tree)
            entry.counts_values &= bool(part.values)
            entry.statistics.update(part.statistics)
            entry.readers.add(name)
            entry.windows.update(needs.window.as_sliced())
            if needs.match is not None:
                entry.matches.add(needs.match)
    return wanted


def share_everything(wanted: Mapping[str, Wanted], finer: Finer) -> Decision:
    """Derive every node that can be derived, from the node with the fewest dimensions.

    Of nodes with as many dimensions a node without slices comes first: it has a row a group, not a row a slice.
    """

    def size(other: str) -> tuple[int, bool, str]:
        return len(wanted[other].dimensions), wanted[other].clock.sliced, other

    candidates = {node: finer.of(node) for node in wanted}
    return Decision({node: min(others, key=size) for node, others in candidates.items() if others})


def assemble(
    stream: str,
    queries: Collection[Needs],
    wanted: Mapping[str, Wanted],
    decision: Decision,
) -> Network:
    """The network of a decision: parents first, and every parent with the statistics of its children."""
    everything = {**wanted, **decision.unions}
    parents = decision.parents
    ordered = sorted(everything, key=lambda node: (_depth(node, parents), node))
    statistics = kept_statistics(everything, parents)
    slicings = slicings_of(everything)
    nodes = tuple(
        Node(
            id=node,
            clock=entry.clock,
            dimensions=by_name(entry.dimensions),
            statistics=tuple(sorted(statistics[node], key=lambda statistic: statistic.name)),
            windows=tuple(sorted(entry.windows, key=str)),
            counts_values=entry.counts_values,
            readers=tuple(sorted(entry.readers)),
            parent=parents.get(node),
            tree=entry.tree,
            slicing=slicings[entry.tree] if entry.clock.sliced else None,
        )
        for node, entry in ((node, everything[node]) for node in ordered)
    )
    return Network(stream, all_cuts(queries), nodes, matches=all_matches(queries))


def kept_statistics(nodes: Mapping[str, Wanted], parents: Mapping[str, str]) -> dict[str, frozenset[Statistic]]:
    """The statistics that each node keeps: its own, those that they need, and all that its children keep."""
    kept = {node: wanted.closed for node, wanted in nodes.items()}
    for node in sorted(parents, key=lambda child: -_depth(child, parents)):
        kept[parents[node]] |= kept[node]
    return kept


def all_cuts(queries: Iterable[Needs]) -> tuple[tuple[str, tuple[Cut, ...]], ...]:
    """The cuts of every dimension with cells, over all queries."""
    cuts: dict[str, set[Cut]] = {}
    for needs in queries:
        for name, points in needs.cuts:
            cuts.setdefault(name, set()).update(points)
    return tuple(sorted((name, tuple(sorted(points))) for name, points in cuts.items()))


def all_matches(queries: Iterable[Needs]) -> tuple[tuple[str, tuple[Match, ...]], ...]:
    """The matches of every dimension of matches, over all queries, in the order of their numbers."""
    matches: dict[str, dict[int, Match]] = {}
    for needs in queries:
        if needs.match is not None:
            matches.setdefault(needs.match.dimension.name, {})[needs.match.number] = needs.match
    return tuple((name, tuple(own[number] for number in sorted(own))) for name, own in sorted(matches.items()))


def slicings_of(
    wanted: Mapping[str, Wanted], slice_windows: Callable[[Iterable[Sliced]], Slicing | None] = slicing
) -> dict[str, Slicing | None]:
    """The slicing of every tree, which serves all windows of its nodes."""
    windows: dict[str, set[Sliced]] = {}
    for entry in wanted.values():
        if entry.clock.sliced:
            windows.setdefault(entry.tree, set()).update(entry.windows)
    return {tree: slice_windows(of_tree) for tree, of_tree in windows.items()}


def with_pasts(network: Network, queries: Mapping[str, Needs], pasts: Mapping[str, Sequence[Past]]) -> Network:
    """Add what moved queries still read: the nodes that they left, and since when the other nodes serve them."""
    epochs: dict[str, int] = {}
    left: dict[str, Needs] = {}
    for name, steps in pasts.items():
        after = [*(later.needs for later in steps[1:]), queries[name]]
        for number, (step, now) in enumerate(zip(steps, after, strict=True)):
            # Two steps may end with the same batch in an old catalog: each needs a name of its own.
            left[f"{name}, step {number}, until batch {step.until}"] = step.needs
            for part in (*step.needs.parts, *now.parts):
                epochs[part.node] = max(step.until, epochs.get(part.node, 0))
    before = collect(left)
    # Statistics that only the past of a query reads are kept on: sealing would drop the columns.
    nodes = tuple(
        replace(
            node,
            epoch=epochs.get(node.id, 0),
            statistics=tuple(
                sorted({*node.statistics, *_closed(before, node.id)}, key=lambda statistic: statistic.name)
            ),
        )
        if node.readers
        else node
        for node in network.nodes
    )
    gone = {node: entry for node, entry in before.items() if node not in network.stored}
    retired = assemble(network.stream, left.values(), gone, Decision({})).nodes
    return replace(
        network,
        nodes=_fed(nodes),
        past_cuts=all_cuts(left.values()),
        retired=tuple(replace(node, epoch=epochs.get(node.id, 0)) for node in retired),
    )


def _closed(before: Mapping[str, Wanted], node: str) -> set[Statistic]:
    """The statistics that the past wants of a node, with the statistics that these need."""
    wanted = before[node].statistics if node in before else set()
    return wanted | {needed for statistic in wanted for needed in statistic.needs}


def _fed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes, every parent with the statistics of its children."""
    by_id = {node.id: node for node in nodes}
    for node in reversed(nodes):
        if node.parent is not None:
            parent = by_id[node.parent]
            both = {*parent.statistics, *by_id[node.id].statistics}
            by_id[parent.id] = replace(parent, statistics=tuple(sorted(both, key=lambda statistic: statistic.name)))
    return tuple(by_id[node.id] for node in nodes)


def _depth(node: str, parents: Mapping[str, str]) -> int:
    depth = 0
    while node in parents:
        node, depth = parents[node], depth + 1
    return depth
