"""Which node could be computed from which: from a node with all of its dimensions, unless a reason is against it.

Dimension sets are indexed by the dimensions in them, and nodes by their dimension set and tree, so what is asked about
a node costs what is answered, however many nodes have other dimensions or other slices. Reasons are worked out
when somebody asks for them: with nothing shared there are as many as pairs of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from weft.algebra.windows import Clock
from weft.plan.dimensions import Dimension, keeps_rows_of

Dimensions = frozenset[Dimension]


class AnyNode(Protocol):
    """A node as far as it matters here, be it wanted or computed."""

    @property
    def clock(self) -> Clock: ...

    @property
    def dimensions(self) -> Collection[Dimension]: ...

    @property
    def tree(self) -> str: ...

    @property
    def counts_values(self) -> bool: ...


@dataclass(frozen=True)
class NotShared:
    """A node is not computed from another, and why."""

    node: str
    other: str
    reason: str


def refuse(node: AnyNode, source: AnyNode) -> str:
    """Why a source with all dimensions of a node still cannot feed it; empty when it can."""
    if not source.clock.feeds(node.clock):
        return "running-totals-have-no-slices"
    if source.tree != node.tree and node.clock.sliced:
        return "other-slices"
    names = [dimension.name for dimension in source.dimensions]
    if not keeps_rows_of(names, (dimension.name for dimension in node.dimensions)):
        return "only-rows-that-match"
    # Value counts may have as many rows as the stream itself; their other statistics would cost as much again.
    if source.counts_values and not node.counts_values:
        return "value-counts-are-too-wide"
    if node.dimensions == source.dimensions and node.clock is source.clock:
        return "same-node"
    return ""


class Supersets:
    """Dimension sets, and which of them hold all of another; what was worked out is kept until there are new sets."""

    def __init__(self) -> None:
        self._sets: set[Dimensions] = set()
        self._with: dict[str, list[Dimensions]] = {}
        self._wider: dict[Dimensions, tuple[Dimensions, ...]] = {}

    def add(self, sets: Iterable[Dimensions]) -> None:
        """Add dimension sets."""
        for dimensions in sets:
            if dimensions not in self._sets:
                self._sets.add(dimensions)
                self._wider.clear()
                for dimension in dimensions:
                    self._with.setdefault(dimension.name, []).append(dimensions)

    def of(self, dimensions: Dimensions) -> tuple[Dimensions, ...]:
        """The known sets that hold all of these dimensions, this very set included."""
        wider = self._wider.get(dimensions)
        if wider is None:
            holding = (self._with.get(dimension.name, []) for dimension in dimensions)
            fewest: Collection[Dimensions] = min(holding, key=len, default=self._sets)
            wider = self._wider[dimensions] = tuple(other for other in fewest if dimensions <= other)
        return wider


class Finer:
    """For each of a set of nodes, the other nodes that it could be computed from."""

    def __init__(self, nodes: Mapping[str, AnyNode], supersets: Supersets | None = None) -> None:
        self._nodes = nodes
        self._dimensions = {name: frozenset(node.dimensions) for name, node in nodes.items()}
        self._trees: dict[Dimensions, dict[str, list[str]]] = {}
        for name, node in nodes.items():
            self._trees.setdefault(self._dimensions[name], {}).setdefault(node.tree, []).append(name)
        self._supersets = Supersets() if supersets is None else supersets
        self._supersets.add(self._trees)
        self._crowds = Counter(node.tree for node in nodes.values())
        self._of: dict[str, tuple[str, ...]] = {}

    def of(self, name: str) -> tuple[str, ...]:
        """The nodes that the named node could be computed from (vertical expansion)."""
        finer = self._of.get(name)
        if finer is None:
            node = self._nodes[name]
            if node.clock.sliced and self._crowds[node.tree] == 1:
                return ()
            # Slices of another tree serve totals only.
            others = self._wider(name, node.tree if node.clock.sliced else None)
            finer = self._of[name] = tuple(other for other in others if not refuse(node, self._nodes[other]))
        return finer

    def refusals(self, name: str) -> Iterator[NotShared]:
        """The nodes that have all dimensions of the named node, and still cannot feed it."""
        node = self._nodes[name]
        for other in self._wider(name, None):
            reason = refuse(node, self._nodes[other])
            if reason:
                yield NotShared(name, other, reason)

    def _wider(self, name: str, tree: str | None) -> Iterator[str]:
        """The other nodes with all dimensions of the named node, of a tree or, where that is None, of all trees."""
        for dimensions in self._supersets.of(self._dimensions[name]):
            trees = self._trees.get(dimensions, {})
            for names in trees.values() if tree is None else [trees.get(tree, ())]:
                yield from (other for other in names if other != name)
