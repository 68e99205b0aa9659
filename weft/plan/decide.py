"""What is computed from rows and what from other nodes, for queries that have placements: pairs that pay are joined.

A base node costs every row once more, a derived node only the partial rows of its parent. Two base nodes can be derived
from the union of their dimensions, a node that nobody asked for: it costs a row once instead of twice, and has more
groups. `decide` starts with the cheapest parent for every node, or none, and joins base nodes as long as that saves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from weft.aggregates.statistics import Statistic, hashable
from weft.algebra.windows import Clock, Sliced
from weft.plan.cost import (
    NOTHING,
    Likeness,
    Load,
    Width,
    amounts_of_node,
    amounts_of_rows,
    in_statements,
    likeness,
    tests_for,
    visits,
    width_of,
)
from weft.plan.dimensions import Dimension
from weft.plan.facts import Estimates, Facts
from weft.plan.finer import Dimensions, Finer, Supersets
from weft.plan.jobs import MOST_KEYS
from weft.plan.join import LEAST_SAVING, BaseGroup, Joins, Rates
from weft.plan.match import Match
from weft.plan.needs import Needs
from weft.plan.network import Decision, Wanted, all_cuts, kept_statistics, share_everything, slicings_of
from weft.plan.prices import DUCKDB, SPARK, Costs
from weft.plan.slices import Slicing, slicing


@dataclass
class Draft:
    """A network to be: the nodes that are wanted, and their windows that are finished ahead."""

    wanted: Mapping[str, Wanted]
    eager: Mapping[str, set[Sliced]]
    families: Mapping[str, int]
    slice_windows: InitVar[Callable[[Iterable[Sliced]], Slicing | None]] = slicing
    slicings: Mapping[str, Slicing | None] = field(init=False)
    # The mean length of the slices of each tree.
    lengths: dict[str, float | None] = field(init=False)
    width: Width = field(init=False)

    def __post_init__(self, slice_windows: Callable[[Iterable[Sliced]], Slicing | None]) -> None:
        self.slicings = slicings_of(self.wanted, slice_windows)
        self.lengths = {tree: None if cut is None else cut.mean_length() for tree, cut in self.slicings.items()}
        self.width = width_of(self.wanted.values())


class Decider:
    """Decides drafts of a stream; the supersets of each dimension set are worked out once for all drafts."""

    def __init__(self, estimates: Estimates, costs: Costs, cuts: Mapping[str, int], columns: int) -> None:
        self.estimates, self.costs, self.facts = estimates, costs, estimates.facts
        self._columns = columns
        self._cuts = cuts
        self._masks: dict[Dimensions, int] = {}
        self._supersets = Supersets()
        # What was worked out of prices, by kernel and width.
        self._seconds: dict[tuple[str, Width], dict[tuple[object, ...], float]] = {}

    def mask(self, dimensions: Dimensions) -> int:
        """The dimensions as a number, but for matches, of which a node says itself how many there are."""
        mask = self._masks.get(dimensions)
        if mask is None:
            names = (dimension.name for dimension in dimensions if not dimension.matches)
            mask = self._masks[dimensions] = self.estimates.mask(names)
        return mask

    def _rows(self, draft: Draft, nodes: Mapping[str, Wanted]) -> dict[str, float]:
        """The partial rows of each node in a tick."""
        lengths = draft.lengths
        return {
            node: self._rows_of(wanted, lengths[wanted.tree] if wanted.clock.sliced else None)
            for node, wanted in nodes.items()
        }

    def _rows_of(self, wanted: Wanted, length: float | None) -> float:
        """The partial rows of a node in a tick, in slices of a length."""
        mask = self.mask(wanted.dimensions)
        if wanted.matches:
            return self.estimates.matched_rows(mask, length, wanted.looked_for)
        return self.estimates.rows_in(length)[mask]

    def _group(self, node: str, wanted: Wanted, rows: float) -> BaseGroup:
        """A base node as a group of its own."""
        values, mask = _values(wanted), self.mask(wanted.dimensions)
        return BaseGroup(
            wanted.dimensions,
            mask,
            wanted.clock,
            wanted.tree,
            (node,),
            rows,
            values,
            node,
            values,
            wanted.counts_values,
        )

    def decide(self, draft: Draft, name: Callable[[Dimensions, Clock, str], str]) -> Decision:
        """Decide what is derived from what, at no higher price than deriving all that can be derived.

        `name` names unions.
        """
        simple, joined = self.simple(draft), self.joined(draft, name)
        if joined.parents == simple.parents:
            return joined
        return min(joined, simple, key=lambda decision: self.price(draft, decision))

    def simple(self, draft: Draft) -> Decision:
        """The decision to derive all that can be derived."""
        return share_everything(draft.wanted, self._finer(draft))

    def joined(self, draft: Draft, name: Callable[[Dimensions, Clock, str], str]) -> Decision:
        """The decision to derive what is cheaper to derive, and to join base nodes as long as that saves."""
        finer = self._finer(draft)
        rows = self._rows(draft, draft.wanted)
        rates = self._rates(draft)
        parents = {}
        for node in draft.wanted:
            parent = min(finer.of(node), key=lambda other: (rows[other], other), default=None)
            if parent is not None:
                derived = self.costs.merge + rows[parent] * _values(draft.wanted[node]) * self.costs.derive
                if derived <= rates.base + rows[node] * rates.out + LEAST_SAVING:
                    parents[node] = parent
        groups = [
            self._group(node, wanted, rows[node])
            for node, wanted in draft.wanted.items()
            # What only some rows are in is not made from a union that all rows are in.
            if node not in parents and not wanted.matches
        ]
        unions = {}
        for group in Joins(self.estimates, draft.lengths, rates).join(groups):
            if len(group.members) == 1:
                continue
            top = group.top
            if top is None:
                top = name(group.dimensions, group.clock, group.tree)
                unions[top] = Wanted(group.clock, group.dimensions, group.tree, counts_values=False)
            parents |= {node: top for node in group.members if node != top}
        return Decision(parents, unions)

    def _finer(self, draft: Draft) -> Finer:
        """The nodes that each node could be derived from."""
        return Finer(draft.wanted, self._supersets)

    def price(self, draft: Draft, decision: Decision) -> float:
        """The seconds of a tick under a decision, by the kernel that takes less."""
        return min(sum(nodes.values()) + rest for nodes, rest in self._prices(draft, decision))

    def node_prices(self, draft: Draft, decision: Decision) -> dict[str, float]:
        """The seconds of each node in a tick under a decision."""
        return min(self._prices(draft, decision), key=lambda priced: sum(priced[0].values()) + priced[1])[0]

    def _prices(self, draft: Draft, decision: Decision) -> list[tuple[dict[str, float], float]]:
        """For each kernel the seconds of each node in a tick, and of what a tick takes whatever its nodes are."""
        everything, parents = {**draft.wanted, **decision.unions}, decision.parents
        base = [wanted for node, wanted in everything.items() if node not in parents]
        again = [everything[node] for node in _sorting(everything, parents)]
        # Spark computes each node of matches by itself; the job of all rows only counts them.
        reading, sorting = _together(map(_counted, base)), _together(node for node in again if not node.matches)
        alone = [[node] for node in (*base, *again) if node.matches]
        jobs = _jobs(reading) + _jobs(sorting)
        prices = []
        for kernel, lots in ((SPARK, [reading, sorting, *alone]), (DUCKDB, [_together(base)])):
            tests = sum(tests_for(nodes, draft.slicings, self._cuts, kernel) for nodes in lots)
            rest = self.costs.price(amounts_of_rows(self.facts, tests, jobs, kernel, self._columns))
            prices.append((self._by_node(draft, decision, kernel), rest))
        return prices

    def _by_node(self, draft: Draft, decision: Decision, kernel: str) -> dict[str, float]:
        everything, parents = {**draft.wanted, **decision.unions}, decision.parents
        rows = self._rows(draft, everything)
        kept = kept_statistics(everything, parents)
        # Base nodes keep what all nodes have, so only the keys depend on which these are.
        keys = width_of([wanted for node, wanted in everything.items() if node not in parents]).keys
        width = Width(keys, draft.width.measures)
        # Nobody reads unions, so that they are like no other node.
        alone = kernel == SPARK or len(draft.wanted) == 1
        made = {} if alone else in_statements(self._base(draft, parents, kept))
        seconds = {}
        for node, wanted in everything.items():
            parent = parents.get(node)
            eager = draft.eager.get(node)
            load = (
                rows[node],
                None if parent is None else rows[parent],
                len(wanted.dimensions) + len(kept[node]),
                node in draft.wanted,
                sum(visits(window, rows[node]) for window in eager) if eager else 0.0,
                draft.families.get(node, 0),
                *(made.get(node) or (wanted.looked_for if wanted.matches else NOTHING, 1)),
            )
            seconds[node] = self._node_seconds(load, width, kernel)
        return seconds

    @staticmethod
    def _base(
        draft: Draft, parents: Mapping[str, str], kept: Mapping[str, frozenset[Statistic]]
    ) -> dict[str, tuple[Likeness, set[Match]]]:
        """The wanted nodes that are computed from rows: what they are like, and the matches that they hold."""

        def like(node: str, wanted: Wanted) -> Likeness:
            return likeness(wanted, draft.slicings[wanted.tree] if wanted.clock.sliced else None, kept[node])

        return {
            node: (like(node, wanted), wanted.matches)
            for node, wanted in draft.wanted.items()
            if node not in parents
        }

    def stored_price(self, wanted: Wanted) -> float:
        """The least seconds of a stored node: as if it were made of a node with as few rows as it has itself."""
        cut = slicing(wanted.windows)
        length = None if cut is None else cut.mean_length()
        rows = self._rows_of(wanted, length)
        return self._node_seconds((rows, rows, _values(wanted), True), Width(0, 0), SPARK)

    def _node_seconds(self, load: tuple[Any, ...], width: Width, kernel: str) -> float:
        """The seconds of a node with this load; there are many nodes that are alike in it, in a draft and in the next.
        """
        known = self._seconds.get((kernel, width))
        if known is None:
            known = self._seconds[kernel, width] = {}
        seconds = known.get(load)
        if seconds is None:
            amounts = amounts_of_node(Load(*load), self.facts, width, kernel)
            seconds = known[load] = self.costs.price(amounts)
        return seconds

    def _rates(self, draft: Draft) -> Rates:
        """What another base node costs for all rows of a tick, and its partial rows, by the kernel that is likelier."""
        costs, width, rows, nodes = self.costs, draft.width, self.facts.rows, len(draft.wanted)
        values = max(map(_values, draft.wanted.values()), default=0)
        on_spark = costs.set + rows * (costs.group + costs.key * width.keys + costs.measure * width.measures)
        in_a_pass = costs.line + costs.part + costs.term * values + rows * costs.put * (1 + values)
        whole_pass = costs.begin + rows * (costs.take + costs.carry * self._columns) + nodes * in_a_pass
        if whole_pass < costs.job + rows * costs.read + nodes * on_spark:
            return Rates(in_a_pass, costs.hand * values, costs.merge, costs.derive)
        return Rates(on_spark, costs.out * (width.keys + width.measures), costs.merge, costs.derive)


def decider_for(sets: Iterable[Dimensions], queries: Iterable[Needs], facts: Facts, costs: Costs) -> Decider:
    """A decider that knows these dimension sets, and the cuts of these queries."""
    needs = list(queries)
    cuts = {name: len(points) for name, points in all_cuts(needs)}
    columns = frozenset[str]().union(*(asked.columns for asked in needs))
    return Decider(Estimates(facts, frozenset[Dimension]().union(*sets), cuts), costs, cuts, len(columns))


def _values(wanted: Wanted) -> int:
    return len(wanted.dimensions) + len(wanted.closed)


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


def _counted(node: Wanted) -> Wanted:
    """What a job of all rows computes of a base node: of the rows that match only how many rows there are."""
    return Wanted(node.clock, frozenset(), node.tree) if node.matches else node


def _together(nodes: Iterable[Wanted]) -> list[Wanted]:
    """Nodes that have the dimensions of all of these together, one for each clock and tree."""
    sets: dict[tuple[Clock, str], list[Dimensions]] = {}
    for node in nodes:
        sets.setdefault((node.clock, node.tree), []).append(node.dimensions)
    return [Wanted(clock, frozenset[Dimension]().union(*of_tree), tree) for (clock, tree), of_tree in sets.items()]


def _jobs(nodes: Collection[Wanted]) -> int:
    """How many Spark jobs it takes to compute these nodes, roughly: their keys are counted, not packed into lots."""
    keys = {dimension for node in nodes for dimension in node.dimensions} | {(node.clock, node.tree) for node in nodes}
    return -(-len(keys) // MOST_KEYS)
