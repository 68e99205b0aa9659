"""The lattice of dimension sets: which group-by is computed from which, as queries come and go (ARGUS).

A node is a dimension set and the statistics kept for it; each set has a single node. A node can be computed from
any node with all of its dimensions and more (vertical expansion), and the smaller that node is the less there is to
read. Statistics that a new query needs are added to the node it reads and to all nodes that this is computed from
(horizontal expansion). A new node may be a better parent for nodes that are there already: these are rerouted.

Always true: a parent has all dimensions of its children and, but for holistic statistics, all their statistics; a
node keeps exactly the statistics that its readers and its children need. Holistic statistics cannot be merged, so a
node that has any is computed from the stream; others with the same dimensions share it all the same.

Cost: O(nodes) for a change, and O(nodes of a level) for what depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

Dimensions = frozenset[str]


@dataclass(frozen=True)
class Asked:
    """What a query asks of its node."""

    dimensions: Dimensions
    statistics: frozenset[str]
    holistic: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LatticeNode:
    """A group-by that is kept: `size` is its number of groups, `parent` None where it is computed from the stream."""

    dimensions: Dimensions
    size: int
    parent: Dimensions | None = None
    readers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidate:
    """A node that a query could be computed from, and the statistics that it would have to gain for it."""

    dimensions: Dimensions
    size: int
    missing: frozenset[str]


@dataclass(frozen=True)
class LatticeChange:
    """What a query's coming or going did: nodes by their dimensions."""

    node: Dimensions
    created: bool = False
    removed: tuple[Dimensions, ...] = ()
    gained: Mapping[Dimensions, frozenset[str]] = field(default_factory=dict)
    rerouted: tuple[Dimensions, ...] = ()
    # would have been rerouted, were they not computed from a node that is
    pruned: tuple[Dimensions, ...] = ()


class Lattice:
    """All group-bys of a stream.

    >>> lattice = Lattice(stream_size=600_000)
    >>> b = lattice.add("B", ["hospital", "day"], ["sum(fee)", "count"], size=9_000)
    >>> a = lattice.add("A", ["hospital", "day", "category"], ["sum(fee)", "count"], size=80_000)
    >>> sorted(lattice.nodes[b.node].parent), [sorted(node) for node in a.rerouted]
    (['category', 'day', 'hospital'], [['day', 'hospital']])
    """

    def __init__(self, *, stream_size: int) -> None:
        self.stream_size = stream_size
        self.nodes: dict[Dimensions, LatticeNode] = {}
        self.asked: dict[str, Asked] = {}
        self._statistics: dict[Dimensions, frozenset[str]] = {}

    def statistics(self, dimensions: Iterable[str]) -> frozenset[str]:
        """What a node keeps: all that its readers and its children need."""
        return self._statistics[frozenset(dimensions)]

    def find(self, dimensions: Iterable[str], statistics: Iterable[str] = ()) -> tuple[Candidate, ...]:
        """The nodes that a query could be computed from, its own included, the smallest first."""
        wanted, needs = frozenset(dimensions), frozenset(statistics)
        candidates = [
            Candidate(node.dimensions, node.size, needs - self._statistics.get(node.dimensions, frozenset()))
            for node in self.nodes.values()
            if wanted <= node.dimensions
        ]

        def size(candidate: Candidate) -> tuple[int, int, list[str]]:
            return candidate.size, len(candidate.missing), sorted(candidate.dimensions)

        return tuple(sorted(candidates, key=size))

    def choose(self, dimensions: Iterable[str], statistics: Iterable[str] = ()) -> Candidate | None:
        """The finer node with the smallest size, or None where none is smaller than the stream itself."""
        wanted = frozenset(dimensions)
        for candidate in self.find(wanted, statistics):
            if candidate.dimensions != wanted:
                return candidate if candidate.size < self.stream_size else None
        return None

    def add(
        self,
        name: str,
        dimensions: Iterable[str],
        statistics: Iterable[str],
        *,
        size: int,
        holistic: Iterable[str] = (),
    ) -> LatticeChange:
        """Add a query and its node. `size` is the expected number of groups, and counts where its node is new."""
        if name in self.asked:
            raise ValueError(f"there is a query {name!r} already")
        asked = Asked(frozenset(dimensions), frozenset(statistics), frozenset(holistic))
        before = dict(self._statistics)
        node = self.nodes.get(asked.dimensions)
        created = node is None
        if node is None:
            node = LatticeNode(asked.dimensions, size)
        self.asked[name] = asked
        self.nodes[asked.dimensions] = replace(node, readers=node.readers | {name})
        if created or asked.holistic:
            self._choose_parent(asked.dimensions)
        self._settle()
        rerouted, pruned = self._reroute(asked.dimensions)
        removed = self._sweep()
        self._settle()
        gained = {key: new for key, held in self._statistics.items() if (new := held - before.get(key, frozenset()))}
        return LatticeChange(asked.dimensions, created, removed, gained, tuple(rerouted), tuple(pruned))

    def remove(self, name: str) -> LatticeChange:
        """Forget a query, and every node that nobody reads and nothing is computed from any more."""
        asked = self.asked.pop(name)
        node = self.nodes[asked.dimensions]
        self.nodes[asked.dimensions] = replace(node, readers=node.readers - {name})
        if asked.holistic:
            # it may no longer be bound to the stream
            self._choose_parent(asked.dimensions)
        removed = self._sweep()
        self._settle()
        return LatticeChange(asked.dimensions, removed=removed)

    def resize(self, dimensions: Iterable[str], size: int) -> LatticeChange:
        """Take a measured size for a node; its children look for a smaller parent, and others may come to it."""
        changed = frozenset(dimensions)
        self.nodes[changed] = replace(self.nodes[changed], size=size)
        moved = []
        for child in self._children(changed):
            self._choose_parent(child, holding_all=True)
            if self.nodes[child].parent != changed:
                moved.append(child)
        rerouted, pruned = self._reroute(changed)
        removed = self._sweep()
        self._settle()
        return LatticeChange(changed, removed=removed, rerouted=(*moved, *rerouted), pruned=tuple(pruned))

    def _choose_parent(self, dimensions: Dimensions, *, holding_all: bool = False) -> None:
        """Choose a node's parent; with `holding_all` among the nodes that need no new statistics for it."""
        node, parent = self.nodes[dimensions], None
        if not self._holistic(dimensions):
            needs = self._statistics.get(dimensions, frozenset()) if holding_all else frozenset()
            parent = next(
                (
                    other.dimensions
                    for other in self.find(dimensions, needs)
                    if other.dimensions != dimensions and other.size < self.stream_size and not other.missing
                ),
                None,
            )
        self.nodes[dimensions] = replace(node, parent=parent)

    def _reroute(self, dimensions: Dimensions) -> tuple[list[Dimensions], list[Dimensions]]:
        """Connect nodes to this node where it has all their statistics and is smaller than their parent.

        Pruning: a node that is computed from a rerouted node keeps its parent, however well it would qualify.
        """
        here, held = self.nodes[dimensions], self._statistics[dimensions]
        able = [
            node
            for node in self.nodes.values()
            if node.dimensions < dimensions
            and not self._holistic(node.dimensions)
            and self._statistics[node.dimensions] <= held
        ]
        better = {node.dimensions for node in able if here.size < self._parent_size(node)}
        below = (coarser for coarser in better if any(above in better for above in self._ancestors(coarser)))
        pruned = sorted(below, key=sorted)
        rerouted = sorted(better.difference(pruned), key=sorted)
        for coarser in rerouted:
            self.nodes[coarser] = replace(self.nodes[coarser], parent=dimensions)
        return rerouted, pruned

    def _parent_size(self, node: LatticeNode) -> int:
        return self.stream_size if node.parent is None else self.nodes[node.parent].size

    def _ancestors(self, dimensions: Dimensions) -> list[Dimensions]:
        ancestors = []
        above = self.nodes[dimensions].parent
        while above is not None:
            ancestors.append(above)
            above = self.nodes[above].parent
        return ancestors

    def _children(self, dimensions: Dimensions) -> list[Dimensions]:
        return [node.dimensions for node in self.nodes.values() if node.parent == dimensions]

    def _holistic(self, dimensions: Dimensions) -> bool:
        return any(self.asked[name].holistic for name in self.nodes[dimensions].readers)

    def _sweep(self) -> tuple[Dimensions, ...]:
        """Forget the nodes that nobody reads and nothing is computed from, the coarsest first."""
        used = {node.parent for node in self.nodes.values()}
        unread = (dimensions for dimensions, node in self.nodes.items() if not node.readers)
        idle = sorted((dimensions for dimensions in unread if dimensions not in used), key=sorted)
        for dimensions in idle:
            del self.nodes[dimensions]
        return (*idle, *self._sweep()) if idle else ()

    def _settle(self) -> None:
        """Work out the statistics of all nodes, the coarsest first: a parent has more dimensions than its children."""
        needed: dict[Dimensions, set[str]] = {dimensions: set() for dimensions in self.nodes}
        for dimensions in sorted(self.nodes, key=len):
            node = self.nodes[dimensions]
            for name in node.readers:
                needed[dimensions] |= self.asked[name].statistics
            if node.parent is not None:
                needed[node.parent] |= needed[dimensions]
        for dimensions, node in self.nodes.items():
            for name in node.readers:
                needed[dimensions] |= self.asked[name].holistic
        self._statistics = {dimensions: frozenset(statistics) for dimensions, statistics in needed.items()}
