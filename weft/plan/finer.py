"""Which node could be computed from which: from one with all of its dimensions, unless there is a reason against it.

Dimension sets are indexed by the dimensions in them, and nodes by their dimension set and tree, so what is asked about
one node costs what is answered, however many nodes have other dimensions or other slices. Reasons are made when
somebody asks for them: with nothing shared there are as many as pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from weft.algebra.windows import Clock
from weft.plan.dimensions import Dimension

Dimensions = frozenset[Dimension]


class Groups(Protocol):
    """A node as far as it matters here, wanted or made."""

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


def refuse(mine: Groups, theirs: Groups) -> str:
    """Why a node with all of my dimensions still cannot feed me; empty when it can."""
    if not theirs.clock.feeds(mine.clock):
        return "running-totals-have-no-slices"
    if theirs.tree != mine.tree and mine.clock.sliced:
        return "other-slices"
    # Value counts may have as many rows as the stream itself; their other statistics would cost as much again.
    if theirs.counts_values and not mine.counts_values:
        return "value-counts-are-too-wide"
    if mine.dimensions == theirs.dimensions and mine.clock is theirs.clock:
        return "same-node"
    return ""


class Supersets:
    """Dimension sets, and which of them hold all of another; what was worked out is kept until there are new sets."""

    def __init__(self) -> None:
        self._sets: set[Dimensions] = set()
        self._with: dict[str, list[Dimensions]] = {}
        self._wider: dict[Dimensions, tuple[Dimensions, ...]] = {}

    def add(self, sets: Iterable[Dimensions]) -> None:
        """Know these sets too."""
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
    """For every one of some nodes, those of the others that it could be computed from."""

    def __init__(self, nodes: Mapping[str, Groups], supersets: Supersets | None = None) -> None:
        self._nodes = nodes
        self._dimensions = {name: frozenset(node.dimensions) for name, node in nodes.items()}
        self._trees: dict[Dimensions, dict[str, list[str]]] = {}
        for name, node in nodes.items():
            self._trees.setdefault(self._dimensions[name], {}).setdefault(node.tree, []).append(name)
        self._supersets = Supersets() if supersets is None else supersets
        self._supersets.add(self._trees)
        self._of: dict[str, tuple[str, ...]] = {}

    def of(self, name: str) -> tuple[str, ...]:
        """The nodes that this one could be computed from (vertical expansion)."""
        finer = self._of.get(name)
        if finer is None:
            mine = self._nodes[name]
            # Slices of another tree serve totals only.
            others = self._wider(name, mine.tree if mine.clock.sliced else None)
            finer = self._of[name] = tuple(other for other in others if not refuse(mine, self._nodes[other]))
        return finer

    def refusals(self, name: str) -> Iterator[NotShared]:
        """The nodes that have all dimensions of this one, and still cannot feed it."""
        mine = self._nodes[name]
        for other in self._wider(name, None):
            reason = refuse(mine, self._nodes[other])
            if reason:
                yield NotShared(name, other, reason)

    def _wider(self, name: str, tree: str | None) -> Iterator[str]:
        """The other nodes that have all dimensions of this one, of one tree or of all."""
        for dimensions in self._supersets.of(self._dimensions[name]):
            trees = self._trees.get(dimensions, {})
            for names in trees.values() if tree is None else [trees.get(tree, ())]:
                yield from (other for other in names if other != name)
