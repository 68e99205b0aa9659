"""Candidates of a search: each says for every shape which tree it is in, and in which form its predicate is kept.

A candidate becomes a draft, a draft a price. A search prices hundreds of candidates which differ in a few shapes, so
what was made for one is kept for the next: nodes by the shapes that want them, slices by their windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from weft.algebra.windows import Clock, Sliced
from weft.plan.decide import Decider, Draft
from weft.plan.finer import Dimensions
from weft.plan.network import Decision, Wanted
from weft.plan.placement import AT_HOME, Placement
from weft.plan.shapes import Choice, Shape, want
from weft.plan.slices import Slicing, slicing

ShapePlacement = tuple[str, bool]
CandidatePlan = tuple[ShapePlacement, ...]


class Candidates:
    """The candidates for these shapes, and their prices."""

    def __init__(self, shapes: Sequence[Shape], queries: Mapping[str, Choice], decider: Decider) -> None:
        self._shapes, self._queries, self._decider = shapes, queries, decider
        self.priced = 0
        self._prices: dict[CandidatePlan, float] = {}
        # The names of nodes by what they are; those of each shape in a tree and a form; and what is wanted of a node
        # by shapes in their forms.
        self._names: dict[tuple[Dimensions, str, Clock], str] = {}
        self._nodes: dict[tuple[int, str, bool], tuple[tuple[str, Wanted], ...]] = {}
        self._wanted: dict[tuple[str, tuple[int, ...]], Wanted] = {}
        self._slicings: dict[frozenset[Sliced], Slicing | None] = {}

    def price(self, candidate: CandidatePlan) -> float:
        """The seconds of a tick under a candidate, if base nodes are joined where that saves."""
        price = self._prices.get(candidate)
        if price is None:
            self.priced += 1
            draft = self._draft(candidate)
            price = self._prices[candidate] = self._decider.price(draft, self._decider.joined(draft, _union_name()))
        return price

    def settle(self, candidate: CandidatePlan) -> float:
        """The price of a candidate, or that of deriving all that can be derived, which is as good a plan for it."""
        draft = self._draft(candidate)
        price = min(self.price(candidate), self._decider.price(draft, self._decider.simple(draft)))
        self._prices[candidate] = price
        return price

    def everything(self) -> float:
        """The price with a single tree, and every node derived that can be."""
        draft = self._draft(self.of({}))
        return self._decider.price(draft, self._decider.simple(draft))

    def least_shared(self) -> float:
        """The least that everything in a single tree can cost: as if all its nodes were made of others."""
        return sum(map(self._decider.stored_price, self._draft(self.of({})).wanted.values()))

    def nothing(self) -> float:
        """The price with every query by itself: its own slices, its own predicate, its own base nodes."""
        return self._decider.price(self._draft_of(apart(self._queries)), Decision({}))

    def as_placed(self, placements: Mapping[str, Placement]) -> float:
        """The price with every query where it is placed, also where queries of a shape are placed apart."""
        draft = self._draft_of(placements)
        decisions = self._decider.joined(draft, _union_name()), self._decider.simple(draft)
        return min(self._decider.price(draft, decision) for decision in decisions)

    def _draft_of(self, placements: Mapping[str, Placement]) -> Draft:
        """The draft of the queries, each with a placement of its own."""
        homes: dict[tuple[str, Clock], dict[Dimensions, Wanted]] = {}
        ahead: dict[tuple[str, Clock, Dimensions], set[Sliced]] = {}
        for name, choice in self._queries.items():
            window = choice.shards.window
            placement = placements.get(name, AT_HOME).of(window)
            needs = choice.matched if placement.matches and choice.matched is not None else choice.shards
            home = choice.home or placement.tree, window.clock
            want(homes.setdefault(home, {}), needs)
            for part in needs.parts if choice.eager and window.clock.sliced else ():
                ahead.setdefault((*home, part.dimensions), set()).update(window.as_sliced())
        wanted, eager = {}, {}
        for (tree, clock), nodes in homes.items():
            for dimensions, entry in nodes.items():
                node = self._names.setdefault((dimensions, tree, clock), f"n{len(self._names)}")
                wanted[node] = replace(entry, tree=tree)
                eager[node] = ahead.get((tree, clock, dimensions), set())
        finished = {node: windows for node, windows in eager.items() if windows}
        return Draft(wanted, finished, dict.fromkeys(finished, 1), self._slicing)

    def shares(self, candidate: CandidatePlan) -> list[float]:
        """The seconds that the nodes of each shape take under a candidate; a node is paid by all who read it."""
        draft = self._draft(candidate)
        decision = self._decider.joined(draft, _union_name())
        seconds = self._decider.node_prices(draft, decision)
        children: dict[str, list[str]] = {}
        for node, parent in decision.parents.items():
            children.setdefault(parent, []).append(node)
        for union in decision.unions:
            for child in children[union]:
                seconds[child] += seconds[union] / len(children[union])
        readers: dict[str, int] = {}
        of_shapes = [self._nodes_of(index, placement) for index, placement in enumerate(candidate)]
        for nodes in of_shapes:
            for node, _ in nodes:
                readers[node] = readers.get(node, 0) + 1
        return [sum(seconds[node] / readers[node] for node, _ in nodes) for nodes in of_shapes]

    def alone(self, index: int, matched: bool) -> float:
        """The seconds of the stored nodes of a shape in a form, apart from what they are made from."""
        return sum(self._decider.stored_price(wanted) for wanted in self._shapes[index].form(matched).values())

    def of(self, placements: Mapping[str, Placement]) -> CandidatePlan:
        """The candidate of these placements; the placement of a shape's first query speaks for all its queries."""
        candidate = []
        for shape in self._shapes:
            placed = next((placements[name] for name in shape.queries if name in placements), Placement())
            candidate.append((placed.of(shape.window).tree, placed.matches and shape.can_match))
        return tuple(candidate)

    def placements(self, candidate: CandidatePlan, now: Mapping[str, Placement]) -> dict[str, Placement]:
        """The queries' placements, with trees under the names that most of their queries know them by."""
        members: dict[str, list[str]] = {}
        for (tree, _), shape in zip(candidate, self._shapes, strict=True):
            if shape.in_trees:
                members.setdefault(tree, []).extend(shape.queries)
        names: dict[str, str] = {}
        given: set[str] = set()
        fresh = (f"t{number}" for number in count(1))
        taken = {placement.tree for placement in now.values()}
        for tree in sorted(members, key=lambda label: (-len(members[label]), label)):
            known: dict[str, int] = {}
            for name in members[tree]:
                if name in now and now[name].tree not in given:
                    known[now[name].tree] = known.get(now[name].tree, 0) + 1
            if known:
                names[tree] = max(known, key=lambda label: (known[label], label))
            elif "" not in given and "" not in taken:
                names[tree] = ""
            else:
                names[tree] = next(name for name in fresh if name not in taken)
            given.add(names[tree])
        return {
            name: Placement(names[tree] if shape.in_trees else "", matched)
            for (tree, matched), shape in zip(candidate, self._shapes, strict=True)
            for name in shape.queries
        }

    def _draft(self, candidate: CandidatePlan) -> Draft:
        askers: dict[str, list[int]] = {}
        asked: dict[str, list[Wanted]] = {}
        eager: dict[str, set[Sliced]] = {}
        for index, placement in enumerate(candidate):
            for node, entry in self._nodes_of(index, placement):
                askers.setdefault(node, []).append(2 * index + placement[1])
                asked.setdefault(node, []).append(entry)
                shape = self._shapes[index]
                if shape.eager and shape.in_trees:
                    eager.setdefault(node, set()).update(shape.window.as_sliced())
        wanted = {node: self._together(node, tuple(askers[node]), entries) for node, entries in asked.items()}
        return Draft(wanted, eager, dict.fromkeys(eager, 1), self._slicing)

    def _nodes_of(self, index: int, placement: ShapePlacement) -> tuple[tuple[str, Wanted], ...]:
        """The nodes of a shape under a placement, each with what the shape wants of it."""
        tree, matched = placement
        key = (index, tree, matched)
        nodes = self._nodes.get(key)
        if nodes is None:
            shape = self._shapes[index]
            home, clock = (tree if shape.in_trees else shape.home), shape.window.clock
            found = []
            for dimensions, asked in shape.form(matched).items():
                name = self._names.setdefault((dimensions, home, clock), f"n{len(self._names)}")
                entry = replace(asked, tree=home)
                found.append((name, entry))
            nodes = self._nodes[key] = tuple(found)
        return nodes

    def _together(self, node: str, askers: tuple[int, ...], entries: list[Wanted]) -> Wanted:
        """What all askers want of a node; nobody may change it, as it is also in other drafts."""
        if len(entries) == 1:
            return entries[0]
        wanted = self._wanted.get((node, askers))
        if wanted is None:
            first = entries[0]
            wanted = self._wanted[node, askers] = Wanted(
                first.clock,
                first.dimensions,
                first.tree,
                all(entry.counts_values for entry in entries),
                set().union(*(entry.statistics for entry in entries)),
                set().union(*(entry.windows for entry in entries)),
                matches=set().union(*(entry.matches for entry in entries)),
            )
        return wanted

    def _slicing(self, windows: Iterable[Sliced]) -> Slicing | None:
        """The slicing of these windows, worked out once."""
        known = frozenset(windows)
        if known not in self._slicings:
            self._slicings[known] = slicing(known)
        return self._slicings[known]


def apart(queries: Mapping[str, Choice]) -> dict[str, Placement]:
    """Every query by itself, but for selections, which are never elsewhere."""
    return {
        name: Placement() if choice.home else Placement(f"own {name}", choice.matched is not None)
        for name, choice in queries.items()
    }


def _union_name() -> Callable[[Dimensions, Clock, str], str]:
    numbers = count()
    return lambda dimensions, clock, tree: f"u{next(numbers)}"
