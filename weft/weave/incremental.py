"""Incremental Weave Share: windows come and go, the plan follows at once, and is made anew only when it has aged.

A new window goes into the tree with which it saves most; the tree that it made may then merge with others. A window
that leaves may let its tree merge. Either costs a look at every tree, not at every pair.

What the plan would cost if it were made anew is known only when that is done: these are the points of the plan-cost
curve, and in between its slope says what to expect. The plan is made anew when it costs more than expected by more
than the tolerance (Eq. 6); and when the number of windows has changed by more than the tolerance since the last point,
because a slope is good only near the point where it was taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from weft.algebra.windows import Sliding
from weft.weave.operations import Operations
from weft.weave.plans import Rate, WeavePlan, as_fraction, plan_of
from weft.weave.policies import best_partner
from weft.weave.pricing import Bundle, Pricing, as_number, total_cost
from weft.weave.share import weave_share

# Windows that have left are forgotten when they are more than the others, and more than a few.
FEW = 64


@dataclass(frozen=True)
class CurvePoint:
    """What a plan made from nothing cost, and for how many windows."""

    windows: int
    cost: Fraction


class IncrementalWeave:
    """A plan that windows are added to and removed from.

    With `automatic=False` it never makes a plan anew by itself: `due` says when it should be done, perhaps elsewhere
    and in the background, by handing the plan of `weave_share(weave.windows, rate=...)` to `adopt`. A tolerance of 0
    makes the plan anew on every change, an infinite tolerance never.

    >>> from datetime import timedelta
    >>> s = lambda n: timedelta(seconds=n)
    >>> weave = IncrementalWeave(rate=1.2, tolerance=0.2)
    >>> for length, slide in ((16, 4), (10, 5), (8, 4)):
    ...     weave.add(Sliding(range=s(length), slide=s(slide)))
    >>> float(weave.plan.cost)
    4.3
    """

    def __init__(
        self,
        windows: Iterable[Sliding] = (),
        *,
        rate: Rate,
        tolerance: float = 0.2,
        automatic: bool = True,
        operations: Operations | None = None,
    ) -> None:
        if tolerance < 0:
            raise ValueError("the tolerance is a part of the cost, 0.2 for a fifth, and cannot be negative")
        self.rate = as_fraction(rate)
        # a tolerance without end is a number that no deviation reaches
        self.tolerance = None if tolerance == float("inf") else Fraction(str(tolerance))
        self.automatic = automatic
        self.reconstructions = 0
        self.curve: list[CurvePoint] = []
        self._operations = operations
        self._load([[window] for window in windows])
        if self.count:
            self.reconstruct()

    @property
    def count(self) -> int:
        """How many windows there are."""
        return sum(self._live.values())

    @property
    def windows(self) -> tuple[Sliding, ...]:
        return tuple(self._live.elements())

    @property
    def plan(self) -> WeavePlan:
        groups = [self._pricing.window_indexes(tree) for tree in self._trees.values()]
        return plan_of(tuple(self._pricing.windows), groups, self.rate)

    @property
    def cost(self) -> Fraction:
        """Aggregations a second of the plan, as the search has them."""
        return as_number(self._cost)

    def add(self, window: Sliding) -> None:
        """Weave a window into the plan."""
        self._insert(window)
        self._keep_up()

    def remove(self, window: Sliding) -> None:
        """Take a window out; a KeyError where there is no such window."""
        if not self._live[window]:
            raise KeyError(f"no such window: {window}")
        self._live[window] -= 1
        strand = self._pricing.drop(self._indexes[window].pop())
        home = self._home[strand]
        left = self._trees[home].strands
        if not self._pricing.strands[strand].window_indexes:
            left = left - {strand}
            del self._home[strand]
        self._forget(home)
        for tree in self._cheaper(left):
            self._settle(tree)
        if len(self._pricing.windows) > 2 * self.count + FEW:
            self._load([list(tree) for tree in self.plan.trees])
        self._keep_up()

    @property
    def expected_cost(self) -> Fraction:
        """What a plan made anew is expected to cost: the last point of the curve, and the slope from there."""
        if not self.curve:
            return self.rate
        last = self.curve[-1]
        slope = last.cost / last.windows
        for point in reversed(self.curve[:-1]):
            if point.windows != last.windows:
                slope = (last.cost - point.cost) / (last.windows - point.windows)
                break
        # a pass over the rows is the least that any plan costs
        return max(self.rate, last.cost + slope * (self.count - last.windows))

    @property
    def deviation(self) -> Fraction:
        """By which part the plan costs more than expected (Eq. 6)."""
        expected = self.expected_cost
        return self.cost / expected - 1 if expected else Fraction(0)

    @property
    def due(self) -> bool:
        """Whether the plan should be made anew."""
        if self.tolerance is None or not self.count:
            return False
        if not self.curve:
            return True
        at = self.curve[-1].windows
        grown = Fraction(max(self.count, at), max(1, min(self.count, at))) - 1
        return self.deviation > self.tolerance or grown > self.tolerance

    def reconstruct(self) -> None:
        """Make the plan anew, and keep the cheaper of the two."""
        fresh = weave_share(self.windows, rate=self.rate, operations=self._operations)
        self.adopt(fresh if fresh.cost < self.plan.cost else self.plan)

    def adopt(self, plan: WeavePlan) -> None:
        """Take over a plan that was made elsewhere; windows that came since are added, windows that left are not."""
        if plan.windows:
            self.curve.append(CurvePoint(len(plan.windows), plan.cost))
        self.reconstructions += 1
        missing = Counter(self._live)
        trees: list[list[Sliding]] = []
        for tree in plan.trees:
            trees.append([])
            for window in tree:
                if missing[window] > 0:
                    missing[window] -= 1
                    trees[-1].append(window)
        self._load(trees)
        for window in missing.elements():
            self._insert(window)

    def _keep_up(self) -> None:
        if self.automatic and self.due:
            self.reconstruct()

    def _load(self, trees: Iterable[Iterable[Sliding]]) -> None:
        """Start from these trees. Windows with the same edges end up in the first tree that has any of them."""
        self._pricing = Pricing(rate=self.rate)
        self._live: Counter[Sliding] = Counter()
        self._indexes: dict[Sliding, list[int]] = {}
        self._home: dict[int, int] = {}
        self._trees: dict[int, Bundle] = {}
        self._next, self._cost, self._universe = 0, 0, 0
        groups = [{self._take(window) for window in tree} for tree in trees]
        seen: set[int] = set()
        for strands in groups:
            for tree in self._cheaper(strands - seen):
                self._put(tree)
            seen |= strands
        self._universe = self._pricing.universe

    def _take(self, window: Sliding) -> int:
        index = len(self._pricing.windows)
        strand = self._pricing.add(window)
        self._indexes.setdefault(window, []).append(index)
        self._live[window] += 1
        return strand

    def _insert(self, window: Sliding) -> None:
        strand = self._take(window)
        self._refresh()
        home = self._home.get(strand)
        if home is None:
            self._settle(self._pricing.bundle([strand]))
            return
        # its edges are there already: no other tree is cheaper for it, and none became a better partner
        for tree in self._cheaper(self._forget(home).strands):
            self._put(tree)

    def _cheaper(self, strands: Collection[int]) -> list[Bundle]:
        """A tree of these strands, or a tree for each where that is cheaper, as it may get to be."""
        apart = [self._pricing.bundle([strand]) for strand in strands]
        if len(apart) <= 1:
            return apart
        whole = self._pricing.bundle(strands)
        return [whole] if self._pricing.cost(whole) <= total_cost(self._pricing, apart) else apart

    def _settle(self, tree: Bundle) -> None:
        """Put a tree into the plan, merged with the others as long as that saves."""
        while True:
            known = list(self._trees)
            partner = best_partner(self._pricing, tree, list(self._trees.values()))
            if self._operations is not None:
                self._operations.evaluations += len(known)
            if partner is None:
                self._put(tree)
                return
            tree = self._pricing.join(self._forget(known[partner]), tree)

    def _put(self, tree: Bundle) -> None:
        self._trees[self._next] = tree
        for strand in tree.strands:
            self._home[strand] = self._next
        self._cost += self._pricing.cost(tree)
        self._next += 1

    def _forget(self, number: int) -> Bundle:
        tree = self._trees.pop(number)
        self._cost -= self._pricing.cost(tree)
        return tree

    def _refresh(self) -> None:
        """Price all trees anew where a window of a new kind has changed what prices are computed from."""
        if self._universe == self._pricing.universe:
            return
        self._universe = self._pricing.universe
        self._trees = {number: self._pricing.bundle(tree.strands) for number, tree in self._trees.items()}
        self._cost = sum(map(self._pricing.cost, self._trees.values()))
