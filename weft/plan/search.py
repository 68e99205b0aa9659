"""One search over all that the optimizer may choose: trees of windows, forms of predicates, base nodes and unions.

A candidate says for every shape of query (its dimension sets and its window) which tree it is in and whether its
predicate is kept as one truth. What is computed from what follows by weft/plan/decide.py, the price by
weft/plan/cost.py. The search starts with sharing everything; tries the trees that Weave Share finds, for all windows
and for those of each dimension set; tries truths; then moves single shapes, as long as any of it saves. What it returns
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

# How many candidates a search prices at most, and fewer where pricing one is much work.
EFFORT, SHAPES_PRICED, LEAST_EFFORT = 400, 100_000, 12
# A predicate of more kinds than this is not worth a dimension for each.
MOST_TRUTHS = 32
# Weave Share's rate is rows for one fragment's worth of work; what a fragment costs here depends on more, so several
# rates are tried.
RATES = (0.1, 1.0, 10.0)
# How far each plan of Weave Share is refined: a second or so.
REFINING = 60_000
# Beyond this many windows one rate must do.
MANY_WINDOWS = 200


@dataclass(frozen=True)
class Choice:
    """A query as the search sees it: what it needs in either form (None where there is only one)."""

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


Place = tuple[str, bool]
Candidate = tuple[Place, ...]


@dataclass(frozen=True)
class SearchResult:
    """What a search chose: each query's place, the price, and what it would be to share everything or nothing."""

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
    """A search for the queries of one stream."""

    def __init__(self, queries: Mapping[str, Choice], facts: Facts, costs: Costs, effort: int = EFFORT) -> None:
        self.shapes = _shapes(queries)
        self._queries, self.tried = queries, 0
        self._effort = min(effort, max(LEAST_EFFORT, SHAPES_PRICED // max(1, len(self.shapes))))
        sets = (dimensions for shape in self.shapes for form in (shape.shards, shape.truths) for dimensions in form)
        self._decider = decider_for(sets, (one.shards for one in queries.values()), facts, costs)
        self._prices: dict[Candidate, float] = {}

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
        """Where new queries go while all others stay: where their like is, or the cheapest of a few places."""
        names = set(fresh)
        candidate = list(self._candidate(now))
        for place, shape in enumerate(self.shapes):
            settled = [name for name in shape.queries if name not in names and name in now]
            if settled or not shape.in_trees and not shape.can_be_truths:
                continue
            trees = {_own(shape), *(tree for tree, _ in candidate)} if shape.in_trees else {""}
            forms = (False, True) if shape.can_be_truths else (False,)
            options = [(tree, form) for tree in sorted(trees) for form in forms]
            options.sort(key=lambda option: (self._replaced(candidate, place, option), option))
            candidate[place] = options[0]
        placed = self._placements(tuple(candidate), now)
        return {name: placed[name] for name in names}

    def price(self, candidate: Candidate) -> float:
        """The seconds of a tick."""
        found = self._prices.get(candidate)
        if found is None:
            self.tried += 1
            draft = self._draft(candidate)
            found = self._prices[candidate] = self._decider.price(draft, self._decider.decide(draft, _union_name()))
        return found

    def price_of(self, placements: Mapping[str, Placement]) -> float:
        """The seconds of a tick with queries placed like this."""
        return self.price(self._candidate(placements))

    def everything(self) -> float:
        """The price with one tree, and every node made of another that can be."""
        draft = self._draft(tuple(("", False) for _ in self.shapes))
        return self._decider.price(draft, share_everything(draft.wanted, self._decider.finer(draft)))

    def nothing(self) -> float:
        """The price with every query by itself: its own slices, its own predicate, its own base nodes."""
        wanted: dict[str, Wanted] = {}
        eager: dict[str, set[Sliced]] = {}
        for name, one in self._queries.items():
            needs = one.truths or one.shards
            for place, part in enumerate(needs.parts):
                mine = Wanted(needs.window.clock, part.dimensions, name)
                mine.statistics.update(part.statistics)
                mine.windows.update(needs.window.as_sliced())
                eager[f"{name} {place}"] = mine.windows if one.eager else set()
                wanted[f"{name} {place}"] = mine
        draft = Draft(wanted, eager, {node: 1 for node, windows in eager.items() if windows})
        return self._decider.price(draft, Decision({}))

    def _weave(self, best: Candidate) -> Candidate:
        """The trees that Weave Share finds: for all windows together, then for those of each dimension set."""
        sets: dict[Dimensions, list[int]] = {}
        for place, shape in enumerate(self.shapes):
            for dimensions in shape.shards if shape.in_trees else ():
                sets.setdefault(dimensions, []).append(place)
        everyone = [place for place, shape in enumerate(self.shapes) if shape.in_trees]
        for places in [everyone, *sorted(sets.values(), key=len, reverse=True)]:
            windows = {window for place in places for window in self.shapes[place].window.as_sliced()}
            if len(windows) < 2 or self.tried >= self._effort:
                continue
            for rate in self._rates(places, len(windows)):
                refine = len(windows) <= MANY_WINDOWS
                plan = weave_share(sorted(windows, key=str), rate=rate, refine=refine, effort=REFINING)
                trees = {window: _label(tree) for tree in plan.trees for window in tree}
                trial = list(best)
                for place in places:
                    for window in self.shapes[place].window.as_sliced():
                        trial[place] = (trees[window], best[place][1])
                best = min(best, tuple(trial), key=self.price)
        return best

    def _rates(self, places: Iterable[int], windows: int) -> list[float]:
        """Weave Share's rates for these shapes: rows a second over what a fragment's groups cost."""
        facts, costs = self._decider.facts, self._decider.costs
        a_row = costs.group + costs.measure
        groups = [
            self._decider.estimates.kinds(frozenset(one.name for one in dimensions))
            for place in places
            for dimensions in self.shapes[place].shards
        ]
        fragment = min(max(groups, default=1.0), facts.rows) * (costs.out + costs.store + costs.visit)
        rate = facts.rows / facts.span * 1e6 * a_row / max(fragment, 1e-12)
        return [round(max(rate * factor, 1e-6), 6) for factor in (RATES if windows <= MANY_WINDOWS else (1.0,))]

    def _truths(self, best: Candidate) -> Candidate:
        """One truth in place of values and cells, wherever that saves."""
        for place, shape in enumerate(self.shapes):
            if shape.can_be_truths and self.tried < self._effort:
                best = min(best, self._with(best, place, (best[place][0], not best[place][1])), key=self.price)
        return best

    def _move(self, best: Candidate) -> Candidate:
        """Single shapes to other trees, or to one of their own, until nothing saves or the effort is spent."""
        improved = True
        while improved and self.tried < self._effort:
            before = best
            for place, shape in enumerate(self.shapes):
                if not shape.in_trees:
                    continue
                for tree in sorted({tree for tree, _ in best} | {_own(shape)}):
                    if self.tried >= self._effort:
                        return best
                    best = min(best, self._with(best, place, (tree, best[place][1])), key=self.price)
            improved = best != before
        return best

    @staticmethod
    def _with(candidate: Candidate, place: int, what: Place) -> Candidate:
        return (*candidate[:place], what, *candidate[place + 1 :])

    def _replaced(self, candidate: list[Place], place: int, what: Place) -> float:
        return self.price(self._with(tuple(candidate), place, what))

    def _draft(self, candidate: Candidate) -> Draft:
        wanted: dict[str, Wanted] = {}
        eager: dict[str, set[Sliced]] = {}
        families: dict[str, int] = {}
        serial: dict[tuple[Dimensions, str, Clock], str] = {}
        for (tree, truths), shape in zip(candidate, self.shapes, strict=True):
            home, clock = (tree if shape.in_trees else ""), shape.window.clock
            for dimensions, one in (shape.truths if truths else shape.shards).items():
                key = (dimensions, home, clock)
                node = serial.setdefault(key, f"n{len(serial)}")
                mine = wanted.get(node)
                if mine is None:
                    mine = wanted[node] = Wanted(clock, dimensions, home)
                mine.counts_values &= one.counts_values
                mine.statistics |= one.statistics
                mine.windows |= one.windows
                if shape.eager and shape.in_trees:
                    eager.setdefault(node, set()).update(shape.window.as_sliced())
                    families[node] = 1
        return Draft(wanted, eager, families)

    def _candidate(self, placements: Mapping[str, Placement]) -> Candidate:
        """Where each shape's queries are; the place of the first speaks for all of them."""
        found = []
        for shape in self.shapes:
            placed = next((placements[name] for name in shape.queries if name in placements), Placement())
            truths = placed.truths and shape.can_be_truths
            found.append((placed.of(shape.window).tree, truths))
        return tuple(found)

    def _placements(self, candidate: Candidate, now: Mapping[str, Placement]) -> dict[str, Placement]:
        """The queries' placements, with trees under the names that most of their queries know them by."""
        members: dict[str, list[str]] = {}
        for (tree, _), shape in zip(candidate, self.shapes, strict=True):
            if shape.in_trees:
                members.setdefault(tree, []).extend(shape.queries)
        names: dict[str, str] = {}
        fresh = (f"t{number}" for number in count(1))
        taken = {placement.tree for placement in now.values()}
        for tree in sorted(members, key=lambda one: (-len(members[one]), one)):
            known: dict[str, int] = {}
            for name in members[tree]:
                if name in now and now[name].tree not in names.values():
                    known[now[name].tree] = known.get(now[name].tree, 0) + 1
            if known:
                names[tree] = max(known, key=lambda one: (known[one], one))
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
    return {name: Placement(f"own {name}", one.truths is not None) for name, one in queries.items()}


def likeness(one: Choice) -> tuple[object, ...]:
    """What a placement depends on; queries that are alike in it are placed alike."""
    return one.shards.window, one.eager, one.truths is None, tuple(part.dimensions for part in one.shards.parts)


def _shapes(queries: Mapping[str, Choice]) -> list[Shape]:
    shapes: dict[tuple[object, ...], Shape] = {}
    for name, one in queries.items():
        shape = shapes.setdefault(likeness(one), Shape(one.shards.window, eager=one.eager))
        shape.queries.append(name)
        _want(shape.shards, one.shards)
        if one.truths is not None:
            _want(shape.truths, one.truths)
    return list(shapes.values())


def _want(nodes: dict[Dimensions, Wanted], needs: Needs) -> None:
    for part in needs.parts:
        one = nodes.setdefault(part.dimensions, Wanted(needs.window.clock, part.dimensions))
        one.counts_values &= bool(part.values)
        one.statistics.update(part.statistics)
        one.windows.update(needs.window.as_sliced())


def _label(tree: Iterable[Sliced]) -> str:
    return "; ".join(sorted(map(str, tree)))


def _own(shape: Shape) -> str:
    """A tree of the shape's own."""
    return f"own {shape.queries[0]}"


def _union_name() -> Callable[[Dimensions, Clock, str], str]:
    numbers = count()
    return lambda dimensions, clock, tree: f"u{next(numbers)}"
