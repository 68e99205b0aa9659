"""The search over all that the optimizer may choose: trees of windows, forms of predicates, base nodes and unions.

A candidate says for every shape of query (its dimension sets and its window) which tree it is in and whether its
predicate is kept as a single truth. What is computed from what follows by weft/plan/decide.py, the price by
weft/plan/cost.py. The search starts with sharing everything; tries the trees that Weave Share finds, for all windows
and for each dimension set; tries truths; then moves single shapes, as long as any of it saves. What it returns
is never priced above sharing everything or sharing nothing, because both are candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from weft.algebra.windows import Clock, Sliced, Window
from weft.plan.cost import Costs
from weft.plan.decide import Draft, decider_for
from weft.plan.facts import Facts
from weft.plan.finer import Dimensions
from weft.plan.needs import Needs
from weft.plan.network import Decision, Wanted, share_everything
from weft.plan.placement import Placement
from weft.weave.share import weave_share

# How many candidates a search prices at most, and fewer where pricing a candidate is much work.
EFFORT, SHAPES_PRICED, LEAST_EFFORT = 400, 100_000, 12
# A predicate of more kinds than this is not worth a dimension for each.
MOST_TRUTHS = 32
# Weave Share's rate is rows for a fragment's worth of work; what a fragment costs here depends on more, so several
# rates are tried.
RATES = (0.1, 1.0, 10.0)
# How far each plan of Weave Share is refined: a second or so.
REFINING = 60_000
# Beyond this many windows a single rate must do.
MANY_WINDOWS = 200


@dataclass(frozen=True)
class Choice:
    """A query as the search sees it: what it needs in either form (None where there is only a single form)."""

    shards: Needs
    truths: Needs | None = None
    eager: bool = False


@dataclass
class Shape:
    """Queries that differ in nothing that a placement depends on."""

    window: Window
    queries: list[str] = field(default_factory=list)
    # The nodes in either form: dimensions, and what is wanted of each.
    shards: dict[Dimensions, Wanted] = field(default_factory=dict)
    truths: dict[Dimensions, Wanted] = field(default_factory=dict)
    eager: bool = False

    @property
    def in_trees(self) -> bool:
        """Whether it has slices, and so a tree to be in."""
        return self.window.clock.sliced

    @property
    def can_be_truths(self) -> bool:
        return 0 < len(self.truths) <= MOST_TRUTHS * len(self.shards)


ShapePlacement = tuple[str, bool]
CandidatePlan = tuple[ShapePlacement, ...]


@dataclass(frozen=True)
class SearchResult:
    """What a search chose: each query's placement, the price, and the prices of sharing everything and nothing."""

    placements: Mapping[str, Placement]
    price: float
    everything: float
    nothing: float
    tried: int

    @property
    def prices(self) -> dict[str, float]:
        """The seconds of a tick as planned, and if everything or nothing were shared."""
        return {"planned": self.price, "everything": self.everything, "nothing": self.nothing}


class Search:
    """A search for the best placements of the queries of a stream."""

    def __init__(self, queries: Mapping[str, Choice], facts: Facts, costs: Costs, effort: int = EFFORT) -> None:
        self.shapes = _shapes(queries)
        self._queries, self.tried = queries, 0
        self._effort = min(effort, max(LEAST_EFFORT, SHAPES_PRICED // max(1, len(self.shapes))))
        sets = (dimensions for shape in self.shapes for form in (shape.shards, shape.truths) for dimensions in form)
        self._decider = decider_for(sets, (choice.shards for choice in queries.values()), facts, costs)
        self._prices: dict[CandidatePlan, float] = {}

    def run(self, now: Mapping[str, Placement] | None = None) -> SearchResult:
        """Search from sharing everything, and from where queries are now if that is better."""
        together = tuple(("", False) for _ in self.shapes)
        everything, nothing = self.everything(), self.nothing()
        best = min([together, *([self._candidate(now)] if now is not None else [])], key=self.price)
        best = self._weave(best)
        best = self._truths(best)
        best = self._move(best)
        price = self.price(best)
        if nothing < price:
            return SearchResult(apart(self._queries), nothing, everything, nothing, self.tried)
        return SearchResult(self._placements(best, now or {}), price, everything, nothing, self.tried)

    def place(self, fresh: Iterable[str], now: Mapping[str, Placement]) -> dict[str, Placement]:
        """Place new queries while all others stay: where their like is, or at the cheapest of a few placements."""
        names = set(fresh)
        candidate = list(self._candidate(now))
        for index, shape in enumerate(self.shapes):
            settled = [name for name in shape.queries if name not in names and name in now]
            if settled or not shape.in_trees and not shape.can_be_truths:
                continue
            trees = {_own(shape), *(tree for tree, _ in candidate)} if shape.in_trees else {""}
            forms = (False, True) if shape.can_be_truths else (False,)
            options = [(tree, form) for tree in sorted(trees) for form in forms]
            options.sort(key=lambda option: (self._replaced(candidate, index, option), option))
            candidate[index] = options[0]
        placed = self._placements(tuple(candidate), now)
        return {name: placed[name] for name in names}

    def price(self, candidate: CandidatePlan) -> float:
        """The seconds of a tick under a candidate plan."""
        price = self._prices.get(candidate)
        if price is None:
            self.tried += 1
            draft = self._draft(candidate)
            price = self._prices[candidate] = self._decider.price(draft, self._decider.decide(draft, _union_name()))
        return price

    def price_of(self, placements: Mapping[str, Placement]) -> float:
        """The seconds of a tick with queries placed like this."""
        return self.price(self._candidate(placements))

    def everything(self) -> float:
        """The price with a single tree, and every node derived that can be."""
        draft = self._draft(tuple(("", False) for _ in self.shapes))
        return self._decider.price(draft, share_everything(draft.wanted, self._decider.finer(draft)))

    def nothing(self) -> float:
        """The price with every query by itself: its own slices, its own predicate, its own base nodes."""
        wanted: dict[str, Wanted] = {}
        eager: dict[str, set[Sliced]] = {}
        for name, choice in self._queries.items():
            needs = choice.truths or choice.shards
            for index, part in enumerate(needs.parts):
                entry = Wanted(needs.window.clock, part.dimensions, name)
                entry.statistics.update(part.statistics)
                entry.windows.update(needs.window.as_sliced())
                eager[f"{name} {index}"] = entry.windows if choice.eager else set()
                wanted[f"{name} {index}"] = entry
        draft = Draft(wanted, eager, {node: 1 for node, windows in eager.items() if windows})
        return self._decider.price(draft, Decision({}))

    def _weave(self, best: CandidatePlan) -> CandidatePlan:
        """Try the trees that Weave Share finds: for all windows together, then for each dimension set."""
        sets: dict[Dimensions, list[int]] = {}
        for index, shape in enumerate(self.shapes):
            for dimensions in shape.shards if shape.in_trees else ():
                sets.setdefault(dimensions, []).append(index)
        everyone = [index for index, shape in enumerate(self.shapes) if shape.in_trees]
        for indexes in [everyone, *sorted(sets.values(), key=len, reverse=True)]:
            windows = {window for index in indexes for window in self.shapes[index].window.as_sliced()}
            if len(windows) < 2 or self.tried >= self._effort:
                continue
            for rate in self._rates(indexes, len(windows)):
                refine = len(windows) <= MANY_WINDOWS
                plan = weave_share(sorted(windows, key=str), rate=rate, refine=refine, effort=REFINING)
                trees = {window: _label(tree) for tree in plan.trees for window in tree}
                trial = list(best)
                for index in indexes:
                    for window in self.shapes[index].window.as_sliced():
                        trial[index] = (trees[window], best[index][1])
                best = min(best, tuple(trial), key=self.price)
        return best

    def _rates(self, indexes: Iterable[int], windows: int) -> list[float]:
        """Weave Share's rates for these shapes: rows a second over what a fragment's groups cost."""
        facts, costs = self._decider.facts, self._decider.costs
        a_row = costs.group + costs.measure
        groups = [
            self._decider.estimates.kinds(frozenset(dimension.name for dimension in dimensions))
            for index in indexes
            for dimensions in self.shapes[index].shards
        ]
        fragment = min(max(groups, default=1.0), facts.rows) * (costs.out + costs.store + costs.visit)
        rate = facts.rows / facts.span * 1e6 * a_row / max(fragment, 1e-12)
        return [round(max(rate * factor, 1e-6), 6) for factor in (RATES if windows <= MANY_WINDOWS else (1.0,))]

    def _truths(self, best: CandidatePlan) -> CandidatePlan:
        """Try a single truth in place of values and cells, and keep it wherever that saves."""
        for index, shape in enumerate(self.shapes):
            if shape.can_be_truths and self.tried < self._effort:
                best = min(best, self._with(best, index, (best[index][0], not best[index][1])), key=self.price)
        return best

    def _move(self, best: CandidatePlan) -> CandidatePlan:
        """Move single shapes to other trees, or to trees of their own, until nothing saves or the effort is spent."""
        improved = True
        while improved and self.tried < self._effort:
            before = best
            for index, shape in enumerate(self.shapes):
                if not shape.in_trees:
                    continue
                for tree in sorted({tree for tree, _ in best} | {_own(shape)}):
                    if self.tried >= self._effort:
                        return best
                    best = min(best, self._with(best, index, (tree, best[index][1])), key=self.price)
            improved = best != before
        return best

    @staticmethod
    def _with(candidate: CandidatePlan, index: int, placement: ShapePlacement) -> CandidatePlan:
        return (*candidate[:index], placement, *candidate[index + 1 :])

    def _replaced(self, candidate: list[ShapePlacement], index: int, placement: ShapePlacement) -> float:
        return self.price(self._with(tuple(candidate), index, placement))

    def _draft(self, candidate: CandidatePlan) -> Draft:
        wanted: dict[str, Wanted] = {}
        eager: dict[str, set[Sliced]] = {}
        families: dict[str, int] = {}
        serial: dict[tuple[Dimensions, str, Clock], str] = {}
        for (tree, truths), shape in zip(candidate, self.shapes, strict=True):
            home, clock = (tree if shape.in_trees else ""), shape.window.clock
            for dimensions, asked in (shape.truths if truths else shape.shards).items():
                key = (dimensions, home, clock)
                node = serial.setdefault(key, f"n{len(serial)}")
                entry = wanted.get(node)
                if entry is None:
                    entry = wanted[node] = Wanted(clock, dimensions, home)
                entry.counts_values &= asked.counts_values
                entry.statistics |= asked.statistics
                entry.windows |= asked.windows
                if shape.eager and shape.in_trees:
                    eager.setdefault(node, set()).update(shape.window.as_sliced())
                    families[node] = 1
        return Draft(wanted, eager, families)

    def _candidate(self, placements: Mapping[str, Placement]) -> CandidatePlan:
        """The candidate plan of these placements; the placement of a shape's first query speaks for all its queries."""
        candidate = []
        for shape in self.shapes:
            placed = next((placements[name] for name in shape.queries if name in placements), Placement())
            truths = placed.matches and shape.can_be_truths
            candidate.append((placed.of(shape.window).tree, truths))
        return tuple(candidate)

    def _placements(self, candidate: CandidatePlan, now: Mapping[str, Placement]) -> dict[str, Placement]:
        """The queries' placements, with trees under the names that most of their queries know them by."""
        members: dict[str, list[str]] = {}
        for (tree, _), shape in zip(candidate, self.shapes, strict=True):
            if shape.in_trees:
                members.setdefault(tree, []).extend(shape.queries)
        names: dict[str, str] = {}
        fresh = (f"t{number}" for number in count(1))
        taken = {placement.tree for placement in now.values()}
        for tree in sorted(members, key=lambda label: (-len(members[label]), label)):
            known: dict[str, int] = {}
            for name in members[tree]:
                if name in now and now[name].tree not in names.values():
                    known[now[name].tree] = known.get(now[name].tree, 0) + 1
            if known:
                names[tree] = max(known, key=lambda label: (known[label], label))
            elif "" not in names.values() and "" not in taken:
                names[tree] = ""
            else:
                names[tree] = next(name for name in fresh if name not in taken)
        return {
            name: Placement(names[tree] if shape.in_trees else "", truths)
            for (tree, truths), shape in zip(candidate, self.shapes, strict=True)
            for name in shape.queries
        }


def apart(queries: Mapping[str, Choice]) -> dict[str, Placement]:
    """Every query by itself."""
    return {name: Placement(f"own {name}", choice.truths is not None) for name, choice in queries.items()}


def likeness(choice: Choice) -> tuple[object, ...]:
    """What a placement depends on; queries that are alike in it are placed alike."""
    shards = choice.shards
    return shards.window, choice.eager, choice.truths is None, tuple(part.dimensions for part in shards.parts)


def _shapes(queries: Mapping[str, Choice]) -> list[Shape]:
    shapes: dict[tuple[object, ...], Shape] = {}
    for name, choice in queries.items():
        shape = shapes.setdefault(likeness(choice), Shape(choice.shards.window, eager=choice.eager))
        shape.queries.append(name)
        _want(shape.shards, choice.shards)
        if choice.truths is not None:
            _want(shape.truths, choice.truths)
    return list(shapes.values())


def _want(nodes: dict[Dimensions, Wanted], needs: Needs) -> None:
    for part in needs.parts:
        entry = nodes.setdefault(part.dimensions, Wanted(needs.window.clock, part.dimensions))
        entry.counts_values &= bool(part.values)
        entry.statistics.update(part.statistics)
        entry.windows.update(needs.window.as_sliced())


def _label(tree: Iterable[Sliced]) -> str:
    return "; ".join(sorted(map(str, tree)))


def _own(shape: Shape) -> str:
    """A tree of the shape's own."""
    return f"own {shape.queries[0]}"


def _union_name() -> Callable[[Dimensions, Clock, str], str]:
    numbers = count()
    return lambda dimensions, clock, tree: f"u{next(numbers)}"
