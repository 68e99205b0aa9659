"""What is computed from rows and what from other nodes, for queries that have placements: pairs that pay are joined.

A base node costs every row once more, a derived node only the partial rows of its parent. Two base nodes can be derived
from the union of their dimensions, a node that nobody asked for: it costs a row once instead of twice, and has more
groups. `decide` starts with the cheapest parent for every node, or none, and joins base nodes as long as that saves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from weft.aggregates.statistics import hashable
from weft.algebra.windows import Clock, Sliced
from weft.plan.cost import (
    Costs,
    Load,
    Width,
    add,
    amounts_of_node,
    amounts_of_rows,
    tests_for,
    visits,
    width_of,
)
from weft.plan.dimensions import Dimension, keeps_rows_of
from weft.plan.facts import Estimates, Facts
from weft.plan.finer import Dimensions, Finer, Supersets, refuse
from weft.plan.jobs import MOST_KEYS
from weft.plan.needs import Needs
from weft.plan.network import Decision, Wanted, all_cuts, share_everything, slicings_of
from weft.plan.slices import Slicing

# Beyond this many base nodes only the nodes with the fewest rows are joined in pairs: only they can gain.
MOST_JOINED = 200
# Sharing is left, and a union that nobody asked for is made, only if that saves this much of a tick, in seconds: counts
# are guesses until the stream runs.
LEAST_SAVING = 2e-3


@dataclass
class Draft:
    """A network to be: the nodes that are wanted, and their windows that are finished ahead."""

    wanted: Mapping[str, Wanted]
    eager: Mapping[str, set[Sliced]]
    families: Mapping[str, int]
    slicings: Mapping[str, Slicing | None] = field(init=False)
    width: Width = field(init=False)

    def __post_init__(self) -> None:
        self.slicings = slicings_of(self.wanted)
        self.width = width_of(self.wanted.values())


@dataclass
class BaseGroup:
    """Base nodes that are derived from their union, which is a member of the group or a node that nobody asked for."""

    dimensions: Dimensions
    clock: Clock
    tree: str
    members: tuple[str, ...]
    rows: float
    # The member that is the union itself, if any is, and how many values the other members have.
    top: str | None
    derived: int


class Decider:
    """Decides drafts of a stream; the supersets of each dimension set are worked out once for all drafts."""

    def __init__(self, estimates: Estimates, costs: Costs, cuts: Mapping[str, int]) -> None:
        self.estimates, self.costs, self.facts = estimates, costs, estimates.facts
        self._cuts = cuts
        self._names: dict[Dimensions, frozenset[str]] = {}
        self._supersets = Supersets()

    def rows(self, draft: Draft, dimensions: Dimensions, clock: Clock, tree: str) -> float:
        """The partial rows that a node with these dimensions has in a tick."""
        names = self._names.get(dimensions)
        if names is None:
            names = self._names[dimensions] = frozenset(dimension.name for dimension in dimensions)
        slicing = draft.slicings[tree] if clock.sliced else None
        return self.estimates.rows(names, None if slicing is None else slicing.mean_length())

    def _rows(self, draft: Draft, nodes: Mapping[str, Wanted]) -> dict[str, float]:
        """The partial rows of each node in a tick."""
        return {node: self.rows(draft, wanted.dimensions, wanted.clock, wanted.tree) for node, wanted in nodes.items()}

    def decide(self, draft: Draft, name: Callable[[Dimensions, Clock, str], str]) -> Decision:
        """Decide what is derived from what, at no higher price than deriving all that can be derived.

        `name` names unions.
        """
        finer = self.finer(draft)
        simple = share_everything(draft.wanted, finer)
        joined = self._with_joins(draft, finer, name)
        if joined.parents == simple.parents:
            return joined
        return min(joined, simple, key=lambda decision: self.price(draft, decision))

    def _with_joins(self, draft: Draft, finer: Finer, name: Callable[[Dimensions, Clock, str], str]) -> Decision:
        rows = self._rows(draft, draft.wanted)
        base = self._base_cost(draft)
        parents = {}
        for node in draft.wanted:
            parent = min(finer.of(node), key=lambda other: (rows[other], other), default=None)
            if parent is not None:
                derived = rows[parent] * _values(draft.wanted[node]) * self.costs.derive
                if derived <= base + rows[node] * _columns(draft) * self.costs.out + LEAST_SAVING:
                    parents[node] = parent
        groups = [
            BaseGroup(wanted.dimensions, wanted.clock, wanted.tree, (node,), rows[node], node, 0)
            for node, wanted in draft.wanted.items()
            if node not in parents
        ]
        unions = {}
        for group in self._join(draft, groups, base):
            if len(group.members) == 1:
                continue
            top = group.top
            if top is None:
                top = name(group.dimensions, group.clock, group.tree)
                unions[top] = Wanted(group.clock, group.dimensions, group.tree, counts_values=False)
            parents |= {node: top for node in group.members if node != top}
        return Decision(parents, unions)

    def finer(self, draft: Draft) -> Finer:
        """The nodes that each node could be derived from."""
        return Finer(draft.wanted, self._supersets)

    def price(self, draft: Draft, decision: Decision) -> float:
        """The seconds of a tick under a decision."""
        everything = {**draft.wanted, **decision.unions}
        rows = self._rows(draft, everything)
        base = [wanted for node, wanted in everything.items() if node not in decision.parents]
        # A parent keeps the statistics of its children, so only the keys depend on what the base nodes are.
        width = Width(width_of(base).keys, draft.width.measures)
        parts = []
        for node, wanted in everything.items():
            parent = decision.parents.get(node)
            finished = sum(visits(window, rows[node]) for window in draft.eager.get(node, ()))
            load = Load(
                rows[node],
                None if parent is None else rows[parent],
                _values(wanted),
                node in draft.wanted,
                finished,
                draft.families.get(node, 0),
            )
            parts.append(amounts_of_node(load, self.facts, width))
        sorting = [everything[node] for node in _sorting(everything, decision.parents)]
        tests = sum(tests_for(nodes, draft.slicings, self._cuts) for nodes in (base, sorting))
        parts.append(amounts_of_rows(self.facts, tests, _jobs(base) + _jobs(sorting)))
        return self.costs.price(add(parts))

    def _base_cost(self, draft: Draft) -> float:
        """The seconds that another base node costs for all rows of a tick."""
        costs, width = self.costs, draft.width
        return self.facts.rows * (costs.group + costs.key * width.keys + costs.measure * width.measures)

    def _cost(self, draft: Draft, group: BaseGroup, base: float) -> float:
        return base + group.rows * (self.costs.out * _columns(draft) + self.costs.derive * group.derived)

    def _join(self, draft: Draft, groups: list[BaseGroup], base: float) -> list[BaseGroup]:
        """Join the two groups that save most until no pair saves."""
        groups.sort(key=lambda group: (group.rows, group.members))
        alive = dict(enumerate(groups[:MOST_JOINED]))
        heap: list[tuple[float, int, int]] = []

        def offer(a: int, b: int) -> None:
            joined = self._joined(draft, alive[a], alive[b])
            if joined is not None:
                apart = self._cost(draft, alive[a], base) + self._cost(draft, alive[b], base)
                gain = apart - self._cost(draft, joined, base)
                if gain > LEAST_SAVING:
                    heapq.heappush(heap, (-gain, a, b))

        for a in alive:
            for b in range(a):
                offer(a, b)
        serial = len(groups)
        while heap:
            _, a, b = heapq.heappop(heap)
            if a not in alive or b not in alive:
                continue
            joined = self._joined(draft, alive.pop(a), alive.pop(b))
            assert joined is not None
            alive[serial] = joined
            for other in list(alive):
                if other != serial:
                    offer(serial, other)
            serial += 1
        return [*alive.values(), *groups[MOST_JOINED:]]

    def _joined(self, draft: Draft, left: BaseGroup, right: BaseGroup) -> BaseGroup | None:
        """Join two groups; None where slices or rows differ, or value counts would have to keep what is not counted."""
        if left.clock.sliced and right.clock.sliced and left.tree != right.tree:
            return None
        clock = left.clock.joined(right.clock)
        tree = left.tree if left.clock.sliced else right.tree
        dimensions = left.dimensions | right.dimensions
        names = [dimension.name for dimension in dimensions]
        if not all(keeps_rows_of(names, (dimension.name for dimension in side.dimensions)) for side in (left, right)):
            return None
        whole = (dimensions, clock)
        tops = [group.top for group in (left, right) if group.top and (group.dimensions, group.clock) == whole]
        members = (*left.members, *right.members)
        if tops and any(refuse(draft.wanted[node], draft.wanted[tops[0]]) for node in members if node != tops[0]):
            return None
        rows = self.rows(draft, dimensions, clock, tree)
        derived = sum(_values(draft.wanted[node]) for node in members if node not in tops[:1])
        return BaseGroup(dimensions, clock, tree, members, rows, tops[0] if tops else None, derived)


def decider_for(sets: Iterable[Dimensions], queries: Iterable[Needs], facts: Facts, costs: Costs) -> Decider:
    """A decider that knows these dimension sets, and the cuts of these queries."""
    cuts = {name: len(points) for name, points in all_cuts(queries)}
    return Decider(Estimates(facts, frozenset[Dimension]().union(*sets), cuts), costs, cuts)


def _columns(draft: Draft) -> int:
    return draft.width.keys + draft.width.measures


def _values(wanted: Wanted) -> int:
    return len(wanted.dimensions) + len(wanted.statistics)


def _sorting(nodes: Mapping[str, Wanted], parents: Mapping[str, str]) -> set[str]:
    """The base nodes that meet every row once more, in a job of statistics that need a sort: their own or a child's."""
    sorting = set()
    for node, wanted in nodes.items():
        if not all(map(hashable, wanted.statistics)):
            base = node
            while base in parents:
                base = parents[base]
            sorting.add(base)
    return sorting


def _jobs(nodes: Collection[Wanted]) -> int:
    """How many Spark jobs it takes to compute these nodes, roughly: their keys are counted, not packed into lots."""
    keys = {dimension for node in nodes for dimension in node.dimensions} | {(node.clock, node.tree) for node in nodes}
    return -(-len(keys) // MOST_KEYS)
