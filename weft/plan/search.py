"""The search over all that the optimizer may choose: trees of windows, forms of predicates, base nodes and unions.

A candidate says for every shape of query (its dimension sets and its window) which tree it is in and whether its
predicate is kept as a single truth (weft/plan/candidates.py). What is computed from what follows by
weft/plan/decide.py, the price by weft/plan/cost.py.

The search may be stopped after any candidate, and goes on from there when it is run again. So what promises most comes
first: everything shared, nothing shared, every predicate whole, and where the queries are now; the trees that Weave
Share finds; many predicates at once in their other form; then single shapes, the dearest first, as long as any
of it saves. What it returns is never priced above sharing everything or sharing nothing, because both are candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from weft.plan.candidates import CandidatePlan, Candidates, ShapePlacement, apart
from weft.plan.decide import decider_for
from weft.plan.dimensions import Dimension, by_name
from weft.plan.facts import Facts
from weft.plan.placement import AT_HOME, Placement
from weft.plan.prices import Costs
from weft.plan.shapes import Choice, shapes_of
from weft.plan.woven import woven

# How many candidates a search prices at most, and fewer where pricing a candidate is much work.
EFFORT, SHAPES_PRICED, LEAST_EFFORT = 400, 100_000, 12


class Budget:
    """So many seconds from now on, by a clock that is handed in; without a clock it never ends."""

    def __init__(self, clock: Callable[[], float] | None = None, seconds: float = 0.0) -> None:
        self._clock = clock
        self._end = 0.0 if clock is None else clock() + seconds

    def spent(self) -> bool:
        """Whether the time is over."""
        return self._clock is not None and self._clock() >= self._end


ENDLESS = Budget()


@dataclass(frozen=True)
class SearchResult:
    """What a search chose: each query's placement, the price, and the prices of sharing everything and nothing.

    finished: nothing is left to be tried, as far as the search would ever go.
    """

    placements: Mapping[str, Placement]
    price: float
    everything: float
    nothing: float
    tried: int
    finished: bool = True

    @property
    def prices(self) -> dict[str, float]:
        """The seconds of a tick as planned, and if everything or nothing were shared."""
        return {"planned": self.price, "everything": self.everything, "nothing": self.nothing}


class Search:
    """A search for the best placements of the queries of a stream."""

    def __init__(self, queries: Mapping[str, Choice], facts: Facts, costs: Costs, effort: int = EFFORT) -> None:
        self.shapes = shapes_of(queries)
        self._queries = queries
        self._effort = min(effort, max(LEAST_EFFORT, SHAPES_PRICED // max(1, len(self.shapes))))
        sets = {dimensions for shape in self.shapes for form in (shape.shards, shape.matched) for dimensions in form}
        self._decider = decider_for(sets, (form for choice in queries.values() for form in choice.forms), facts, costs)
        self._candidates = Candidates(self.shapes, queries, self._decider)
        self._budget = ENDLESS
        # The best candidate so far, the steps that are left, and the prices of sharing everything and nothing.
        self._best: CandidatePlan | None = None
        self._steps: Iterator[CandidatePlan] | None = None
        self._simple: tuple[float, float] | None = None

    @property
    def tried(self) -> int:
        """How many candidates were priced so far."""
        return self._candidates.priced

    def run(self, now: Mapping[str, Placement] | None = None, budget: Budget = ENDLESS) -> SearchResult:
        """Search until nothing promises more or the budget is spent; run again, it goes on where it was."""
        self._budget = budget
        simple = self._simple_prices()
        self._start(now)
        if self._steps is None:
            self._steps = self._walk()
        finished = False
        while not finished and not budget.spent():
            candidate = next(self._steps, None) if self.tried < self._effort else None
            if candidate is not None:
                self._consider(candidate)
            finished = candidate is None
        return self._result(now or {}, simple, finished)

    def quick(self, now: Mapping[str, Placement] | None = None, budget: Budget = ENDLESS) -> SearchResult:
        """Look at the essential candidates only, those first that are priced soonest, until the budget is spent."""
        now = now or {}
        everything, nothing = self._simple_prices()
        best, price = self._candidates.of({}), everything
        for number, candidate in enumerate((*self._essentials(), self._candidates.of(now))):
            # The first promises most where queries are many: it is looked at however little time there is.
            if number and budget.spent():
                break
            best, price = min((best, price), (candidate, self._candidates.price(candidate)), key=lambda known: known[1])
        if nothing < price:
            return SearchResult(apart(self._queries), nothing, everything, nothing, self.tried, False)
        return SearchResult(self._candidates.placements(best, now), price, everything, nothing, self.tried, False)

    def glance(self, now: Mapping[str, Placement] | None = None) -> SearchResult | None:
        """Look at a single candidate, every predicate whole and together, where queries are too many for a quick look.

        What sharing everything costs is not worked out but for the least that it can cost. None where no predicate can
        be kept whole.
        """
        candidate = next(self._essentials())
        if not any(matched for _, matched in candidate):
            return None
        price, least = self._candidates.price(candidate), self._candidates.least_shared()
        return SearchResult(self._candidates.placements(candidate, now or {}), price, least, least, self.tried, False)

    def place(
        self, fresh: Iterable[str], now: Mapping[str, Placement], budget: Budget = ENDLESS
    ) -> dict[str, Placement]:
        """Place new queries while all others stay: where their like is, or at the cheapest of a few placements.

        The new ones are first placed together, in either form, then one by one until the budget is spent.
        """
        names, best = set(fresh), self._candidates.of(now)
        free = []
        for index, shape in enumerate(self.shapes):
            settled = any(name not in names and name in now for name in shape.queries)
            if not settled and (shape.in_trees or shape.can_match):
                free.append(index)
        together = self._with(best, {index: (best[index][0], self.shapes[index].can_match) for index in free})
        if together != best and not budget.spent():
            best = min(best, together, key=self._candidates.price)
        for index in free:
            shape = self.shapes[index]
            trees = {shape.own_tree, *(tree for tree, _ in best)} if shape.in_trees else {""}
            forms = (False, True) if shape.can_match else (False,)
            options = [(tree, form) for tree in sorted(trees) for form in forms]
            for option in options:
                if budget.spent():
                    break
                best = min(best, self._with(best, {index: option}), key=self._candidates.price)
        placed = self._candidates.placements(best, now)
        return {name: placed[name] for name in names}

    def price_of(self, placements: Mapping[str, Placement]) -> float:
        """The seconds of a tick with queries placed like this."""
        alike = ({placements.get(name, AT_HOME) for name in shape.queries} for shape in self.shapes)
        if all(len(chosen) == 1 for chosen in alike):
            return self._candidates.settle(self._candidates.of(placements))
        return self._candidates.as_placed(placements)

    def _simple_prices(self) -> tuple[float, float]:
        """The prices of sharing everything and nothing."""
        if self._simple is None:
            self._simple = self._candidates.everything(), self._candidates.nothing()
        return self._simple

    def _start(self, now: Mapping[str, Placement] | None) -> None:
        """Know a best candidate: where the queries are now, if no other is better."""
        candidate = self._candidates.of(now or {})
        if self._best is None:
            self._candidates.settle(candidate)
            self._best = candidate
        elif now is not None:
            self._candidates.settle(candidate)
            if self._consider(candidate):
                self._steps = None

    def _result(self, now: Mapping[str, Placement], simple: tuple[float, float], finished: bool) -> SearchResult:
        assert self._best is not None
        everything, nothing = simple
        price = self._candidates.settle(self._best)
        if everything < price:
            self._best = self._candidates.of({})
            price = self._candidates.settle(self._best)
        if nothing < price:
            return SearchResult(apart(self._queries), nothing, everything, nothing, self.tried, finished)
        placements = self._candidates.placements(self._best, now)
        return SearchResult(placements, price, everything, nothing, self.tried, finished)

    def _consider(self, candidate: CandidatePlan) -> bool:
        """Go on from a candidate if it is better than the best so far."""
        assert self._best is not None
        if self._candidates.price(candidate) < self._candidates.price(self._best):
            self._best = candidate
            return True
        return False

    def _essentials(self) -> Iterator[CandidatePlan]:
        """Everything whole and together, everything shared, and every shape by itself."""
        yield tuple(("", shape.can_match) for shape in self.shapes)
        yield self._candidates.of({})
        yield tuple((shape.own_tree if shape.in_trees else "", shape.can_match) for shape in self.shapes)

    def _walk(self) -> Iterator[CandidatePlan]:
        """All that is worth a look, what promises most first; each candidate is considered before the next is made."""
        yield from self._essentials()
        yield from self._weave(refined=False)
        yield from self._change_forms()
        yield from self._weave(refined=True)
        yield from self._change_single()

    def _weave(self, *, refined: bool) -> Iterator[CandidatePlan]:
        """Trees as Weave Share finds them, for all windows together, then for each dimension set."""
        for trees in woven(self.shapes, self._decider, self._spent, refined=refined):
            best = self._so_far
            yield self._with(best, {index: (tree, best[index][1]) for index, tree in trees.items()})

    def _change_forms(self) -> Iterator[CandidatePlan]:
        """Keep many predicates at once in the other form: those that promise most, then those with a dimension."""
        flexible = [index for index, shape in enumerate(self.shapes) if shape.can_match]
        before: CandidatePlan | None = None
        while flexible and before != self._so_far:
            before = self._so_far
            shares, promise = self._candidates.shares(before), {}
            for index in flexible:
                promise[index] = shares[index] - self._candidates.alone(index, not before[index][1])
            ordered = sorted(flexible, key=lambda index: (-promise[index], index))
            size = len(ordered)
            while size:
                yield self._in_other_form(before, ordered[:size])
                size //= 2
        for dimension in self._droppable(flexible):
            before = self._so_far
            with_it = [
                index
                for index in flexible
                if any(dimension in one for one in self.shapes[index].form(before[index][1]))
                and not any(dimension in one for one in self.shapes[index].form(not before[index][1]))
            ]
            if with_it:
                yield self._in_other_form(before, with_it)

    def _droppable(self, flexible: Iterable[int]) -> list[Dimension]:
        """The dimensions that predicates need which may also be kept whole, those with the most kinds first."""
        found: set[Dimension] = set()
        for index in flexible:
            shape = self.shapes[index]
            found |= frozenset[Dimension]().union(*shape.shards) - frozenset[Dimension]().union(*shape.matched)
        kinds = {one: self._decider.estimates.kinds(frozenset({one.name})) for one in found}
        return sorted(by_name(found), key=lambda one: -kinds[one])

    def _change_single(self) -> Iterator[CandidatePlan]:
        """Change single shapes, the dearest first: their form, or their tree for another or for one of their own."""
        before: CandidatePlan | None = None
        while before != self._so_far:
            before = self._so_far
            shares = self._candidates.shares(before)
            for index in sorted(range(len(self.shapes)), key=lambda index: (-shares[index], index)):
                shape, (tree, matched) = self.shapes[index], self._so_far[index]
                if shape.can_match:
                    yield self._with(self._so_far, {index: (tree, not matched)})
                others = sorted({tree for tree, _ in self._so_far} | {shape.own_tree}) if shape.in_trees else ()
                for other in others:
                    best = self._so_far
                    yield self._with(best, {index: (other, best[index][1])})

    @property
    def _so_far(self) -> CandidatePlan:
        assert self._best is not None
        return self._best

    def _spent(self) -> bool:
        return self._budget.spent()

    @staticmethod
    def _with(candidate: CandidatePlan, changes: Mapping[int, ShapePlacement]) -> CandidatePlan:
        changed = list(candidate)
        for index, placement in changes.items():
            changed[index] = placement
        return tuple(changed)

    def _in_other_form(self, candidate: CandidatePlan, indexes: Iterable[int]) -> CandidatePlan:
        return self._with(candidate, {index: (candidate[index][0], not candidate[index][1]) for index in indexes})
