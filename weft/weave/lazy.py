"""The greedy merges for thousands of strands: gains of grown trees are estimated, and checked before they are used.

For two strands the common edges are known in closed form. When x and y become a tree z, what z has in common with
any other tree t is estimated from what x and y had in common with t and with each other. So a merge costs O(n)
additions and not O(n) counts of edges. Estimates only say what to look at next, so they are floats; before two trees
are merged their true gain is counted, and a gain that was estimated too high goes back into the queue.

Cost: O(n^2) time and memory for n strands.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from heapq import nlargest
from itertools import compress, repeat
from operator import itemgetter

from weft.weave.pricing import ONE, Bundle, Pricing

# Partners that a tree remembers: when the best is gone, the next is at hand without looking at all others again.
REMEMBERED = 32
# Gains that differ by less than this part of a pass over the rows are as good as equal.
SLACK = 200
# The gaps of trees that are gone are closed when one tree in so many is gone.
FORGET = 4

INFINITE = float("inf")

# gain, index of the partner, and the partner's age: an entry is void when the partner has changed since
Partner = tuple[float, int, int]


class LazyMerges:
    """The trees so far, what any two have in common, and for each the partners that seem best.

    Holds: every partner of a tree whose gain is over the tree's floor is among its candidates, best last, and `_best`
    of a tree is not below the gain of any partner, but for the slack.
    """

    def __init__(self, pricing: Pricing, bundles: Sequence[Bundle]) -> None:
        self._pricing = pricing
        self._row_cost = pricing.row_cost / ONE
        self._trees = list(bundles)
        self._rate = [bundle.rate / ONE for bundle in bundles]
        self._overlap = [bundle.overlap / ONE for bundle in bundles]
        self._common: list[list[float]] = []
        for index in range(len(bundles)):
            row = self._first_row(bundles, index)
            for earlier, value in zip(self._common, row, strict=True):
                earlier.append(value)
            self._common.append([*row, 0.0])
        self._age = [0] * len(bundles)
        self._gone: set[int] = set()
        self._candidates: list[list[Partner]] = [[] for _ in bundles]
        self._floor = [0.0] * len(bundles)
        self._best = [0.0] * len(bundles)
        for index in range(len(bundles)):
            self._look(index)

    def run(self, until: int = 1) -> list[Bundle]:
        """Merge until no merge saves, or `until` trees are left; the trees."""
        while len(self._trees) - len(self._gone) > until:
            highest = max(self._best)
            if highest <= 0:
                break
            index = self._best.index(highest)
            candidate = self._top(index)
            if candidate is not None and self._holds(index, candidate):
                self._merge(index, candidate[1])
                if FORGET * len(self._gone) > len(self._trees):
                    self._forget_the_gone()
        return [tree for index, tree in enumerate(self._trees) if index not in self._gone]

    def _first_row(self, bundles: Sequence[Bundle], index: int) -> list[float]:
        """Common edges a second with all earlier trees."""
        tree, earlier = bundles[index], bundles[:index]
        if all(len(bundle.strands) == 1 for bundle in bundles[: index + 1]):
            (number,) = tree.strands
            return self._pricing.common_rates(number, [strand for bundle in earlier for strand in bundle.strands])
        # where not even the bound on the gain is positive, the common edges are not needed
        return [
            (tree.rate + other.rate - self._pricing.joint_rate(tree, other)) / ONE
            if self._pricing.most_gain(tree, other) > 0
            else 0.0
            for other in earlier
        ]

    def _gains(self, index: int) -> list[float]:
        """The gain of a tree with every other (Eq. 5)."""
        rate, overlap, row_cost = self._rate[index], self._overlap[index], self._row_cost
        gains = [
            row_cost - (other_rate - common) * overlap - (rate - common) * factor
            for other_rate, factor, common in zip(self._rate, self._overlap, self._common[index], strict=True)
        ]
        gains[index] = 0.0
        return gains

    def _look(self, index: int, gains: list[float] | None = None) -> None:
        """Find the best partners of a tree among all."""
        gains = gains or self._gains(index)
        best = nlargest(REMEMBERED, zip(gains, range(len(gains)), self._age, strict=True), key=itemgetter(0))
        worthwhile = [candidate for candidate in best if candidate[0] > 0]
        self._floor[index] = worthwhile[-1][0] if len(worthwhile) == REMEMBERED else 0.0
        self._candidates[index] = worthwhile[::-1]
        self._best[index] = worthwhile[0][0] if worthwhile else 0.0

    def _top(self, index: int) -> Partner | None:
        """The best partner if it has the gain that `_best` promises; else `_best` is put right."""
        candidates = self._candidates[index]
        promised = self._best[index]
        while candidates and self._age[candidates[-1][1]] != candidates[-1][2]:
            candidates.pop()
        if candidates:
            self._best[index] = candidates[-1][0]
            return candidates[-1] if self._best[index] == promised else None
        # no partner is left that the tree knows: trees that know a partner go first, if their gain is nearly as good
        floor = max(self._floor[index] - self._row_cost / SLACK, self._floor[index] / 2)
        if promised > floor:
            self._best[index] = floor
        else:
            self._look(index)
        return None

    def _holds(self, index: int, candidate: Partner) -> bool:
        """Whether the true gain of a pair is what was expected; if not, it waits for its turn with the true gain."""
        expected, partner, age = candidate
        left, right = self._trees[index], self._trees[partner]
        gain = self._pricing.gain(left, right) / ONE
        if gain > 0 and gain >= expected - self._row_cost / SLACK:
            return True
        common = (left.rate + right.rate - self._pricing.joint_rate(left, right)) / ONE
        self._common[index][partner] = self._common[partner][index] = common
        candidates = self._candidates[index]
        candidates.pop()
        if gain > self._floor[index]:
            insort(candidates, (gain, partner, age))
        self._best[index] = candidates[-1][0] if candidates else self._floor[index]
        return False

    def _merge(self, index: int, partner: int) -> None:
        """Merge two trees: the merged tree stands at `index`, `partner` is gone."""
        merged = self._pricing.join(self._trees[index], self._trees[partner])
        joint = self._joint_row(index, partner, merged.rate / ONE)
        self._trees[index] = merged
        self._gone.add(partner)
        self._rate[index], self._overlap[index] = merged.rate / ONE, merged.overlap / ONE
        # a tree that is gone has so many edges that no merge with it saves
        self._rate[partner], self._overlap[partner] = INFINITE, 0.0
        self._age[index] += 1
        self._age[partner] += 1
        self._candidates[partner], self._best[partner], self._floor[partner] = [], 0.0, INFINITE
        self._common[index] = joint
        for row, value in zip(self._common, joint, strict=True):
            row[index] = value
        self._announce(index)

    def _joint_row(self, index: int, partner: int, rate: float) -> list[float]:
        """The common edges a second of the merged tree with every other tree.

        What all three have in common is at least about what it would be if both parts met the other independently, and
        more where the parts are alike.
        """
        with_merged, with_partner = self._common[index], self._common[partner]
        both = with_merged[partner]
        alike, likewise = both / self._rate[index], both / self._rate[partner]
        joint = [
            left + right - max(left * right / rate_there, min(left * alike, right * likewise))
            for left, right, rate_there in zip(with_merged, with_partner, self._rate, strict=True)
        ]
        joint = list(map(min, joint, repeat(rate)))
        joint[partner] = joint[index] = 0.0
        return joint

    def _announce(self, index: int) -> None:
        """Tell all trees of the merged tree, and find its own partners."""
        age, gains = self._age[index], self._gains(index)
        for other, (gain, floor) in enumerate(zip(gains, self._floor, strict=True)):
            if gain > floor and other != index:
                insort(self._candidates[other], (gain, index, age))
                if gain > self._best[other]:
                    self._best[other] = gain
        self._look(index, gains)

    def _forget_the_gone(self) -> None:
        """Close the gaps that trees leave when they are merged into others."""
        stays = [index not in self._gone for index in range(len(self._trees))]
        moved = {old: new for new, old in enumerate(compress(range(len(stays)), stays))}
        self._candidates = [
            [
                (gain, moved[partner], age)
                for gain, partner, age in candidates
                if partner in moved and self._age[partner] == age
            ]
            for candidates in compress(self._candidates, stays)
        ]
        self._common = [list(compress(row, stays)) for row in compress(self._common, stays)]
        self._trees = list(compress(self._trees, stays))
        self._rate = list(compress(self._rate, stays))
        self._overlap = list(compress(self._overlap, stays))
        self._age = list(compress(self._age, stays))
        self._floor = list(compress(self._floor, stays))
        self._best = list(compress(self._best, stays))
        self._gone = set()
