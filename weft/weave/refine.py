"""Past the greedy merges: merges, moves, swaps and splits of trees, from two starts, until nothing helps.

Greedy merging never takes a step back. Here every change that makes the plan cheaper is taken, whichever it is:

    merge   two trees are merged
    move    a strand goes to another tree, or gets a tree of its own
    swap    two strands of different trees are exchanged
    split   a tree becomes two; small trees are tried in every way, large trees by growing a second tree out of them
    two     a move that does not help by itself, and another move or a split that makes up for it

The second start is a single tree of everything, which is taken apart instead of put together; the cheaper end wins.
Cost: `effort` changes looked at and strands in trees that are priced, so a plan for thousands of windows is improved
as far as that goes; and no longer than until somebody says stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations

from weft.weave.pricing import Bundle, Pricing, total_cost

# Trees up to this size are split in every way: 2 ** (n - 1) of them.
MOST_SPLIT_ALL_WAYS = 9
EFFORT = 400_000

Strands = frozenset[int]
Change = tuple[tuple[Strands, ...], tuple[Strands, ...]]


class Refiner:
    """Remembers the price of every tree it has looked at; `effort` is how many changes and strands it may look at."""

    def __init__(self, pricing: Pricing, effort: int = EFFORT, stop: Callable[[], bool] = lambda: False) -> None:
        self._pricing, self._stop = pricing, stop
        self._costs: dict[Strands, int] = {}
        self.effort = effort

    def best_of(self, starts: Iterable[Sequence[Bundle]]) -> list[Bundle]:
        """Improve every start as far as it goes; the cheapest end."""
        ends = [self.improve(start) for start in starts]
        return min(ends, key=lambda bundles: total_cost(self._pricing, bundles))

    def improve(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Take changes that help until none is left."""
        trees = {bundle.strands for bundle in bundles}
        for bundle in bundles:
            self._costs[bundle.strands] = self._pricing.cost(bundle)
        helped = True
        while helped and self.effort > 0:
            helped = False
            for neighbours in (merges, moves, swaps, self._splits, self._two_steps):
                while self.effort > 0 and self._take_best(trees, neighbours(trees)):
                    helped = True
        return [self._pricing.bundle(strands) for strands in sorted(trees, key=min)]

    def _take_best(self, trees: set[Strands], changes: Iterable[Change]) -> bool:
        """Apply the change that saves most, if any saves."""
        best, chosen = 0, None
        for change in changes:
            # A look at trees whose price is known costs time too: there are millions of pairs of moves.
            self.effort -= 1
            saved = self._saved(change)
            if saved > best:
                best, chosen = saved, change
            if self.effort <= 0 or self._stop():
                self.effort = 0
                break
        if chosen is None:
            return False
        old, new = chosen
        trees.difference_update(old)
        trees.update(new)
        return True

    def _saved(self, change: Change) -> int:
        old, new = change
        return sum(map(self._cost, old)) - sum(map(self._cost, new))

    def _cost(self, strands: Strands) -> int:
        cost = self._costs.get(strands)
        if cost is None:
            self.effort = 0 if self._stop() else self.effort - len(strands)
            cost = self._costs[strands] = self._pricing.cost(self._pricing.bundle(strands))
        return cost

    def _splits(self, trees: Iterable[Strands]) -> Iterator[Change]:
        for tree in ordered(trees):
            if 2 <= len(tree) <= MOST_SPLIT_ALL_WAYS:
                yield from every_split(tree)
            elif len(tree) > MOST_SPLIT_ALL_WAYS:
                for seed in sorted(tree):
                    yield self._grown_out(tree, seed)

    def _two_steps(self, trees: Iterable[Strands]) -> Iterator[Change]:
        """Moves, each followed by a change of the trees that it touched; the first may cost a pass over the rows."""
        before = set(trees)
        for first in moves(before):
            if self.effort <= 0:
                return
            if self._saved(first) <= -self._pricing.row_cost:
                continue
            old, new = first
            between = before.difference(old).union(new)
            for second in chain(moves(between), self._splits(new)):
                if not set(new).isdisjoint(second[0]):
                    after = between.difference(second[0]).union(second[1])
                    yield tuple(before - after), tuple(after - before)

    def _grown_out(self, tree: Strands, seed: int) -> Change:
        """Start a second tree with a strand, and move the strands to it that make both trees together cheaper."""
        left, out = tree - {seed}, frozenset({seed})
        now = self._cost(left) + self._cost(out)
        for strand in sorted(left):
            if len(left) == 1 or self.effort <= 0:
                break
            after = self._cost(left - {strand}) + self._cost(out | {strand})
            if after < now:
                left, out, now = left - {strand}, out | {strand}, after
        return (tree,), (left, out)


def ordered(trees: Iterable[Strands]) -> list[Strands]:
    """The same trees in the same order, whatever order a set has them in."""
    return sorted(trees, key=min)


def merges(trees: Iterable[Strands]) -> Iterator[Change]:
    """Every merge of two trees."""
    for left, right in combinations(ordered(trees), 2):
        yield (left, right), (left | right,)


def moves(trees: Iterable[Strands]) -> Iterator[Change]:
    """Every move of a strand to another tree, or to a tree of its own."""
    known = ordered(trees)
    for source in known:
        if len(source) == 1:
            continue
        for strand in sorted(source):
            yield (source,), (source - {strand}, frozenset({strand}))
            for target in known:
                if target is not source:
                    yield (source, target), (source - {strand}, target | {strand})


def swaps(trees: Iterable[Strands]) -> Iterator[Change]:
    """Every exchange of two strands of different trees."""
    for left, right in combinations(ordered(trees), 2):
        # two trees of a single strand each stay as they are
        if len(left) + len(right) == 2:
            continue
        for leaving in sorted(left):
            for coming in sorted(right):
                yield (left, right), (left - {leaving} | {coming}, right - {coming} | {leaving})


def every_split(tree: Strands) -> Iterator[Change]:
    """Every way to split a tree in two; the first strand stays on the left, so that no split comes twice."""
    first, *others = sorted(tree)
    for size in range(len(others)):
        for chosen in combinations(others, size):
            left = frozenset({first, *chosen})
            yield (tree,), (left, tree - left)
