"""Weave Share's greedy merges (Figure 2): the pair of trees that saves most, again and again, until none saves.

Two ways that give the same plan: with the cost lookup every pair is priced once, and again when either of its trees was
merged (O(n^2) prices); without it all pairs are priced in every round (O(n^3)). Trees stand in the order of their
first windows, and of equal gains the first pair wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from weft.weave.pricing import Bundle, Pricing
from weft.weave.probing import ProbingWork


def merge_greedily(
    pricing: Pricing, bundles: Sequence[Bundle], *, cost_lookup: bool = True, work: ProbingWork | None = None
) -> list[Bundle]:
    """Merge trees until no two are worth merging."""
    return _with_lookup(pricing, bundles, work) if cost_lookup else _without_lookup(pricing, bundles, work)


def _gain(pricing: Pricing, left: Bundle, right: Bundle, work: ProbingWork | None) -> int:
    if work:
        work.evaluated(left, right)
    return pricing.gain(left, right)


def _with_lookup(pricing: Pricing, bundles: Sequence[Bundle], work: ProbingWork | None) -> list[Bundle]:
    """Merge with a lookup table, a heap: the best pair is on top, pairs with a tree that has changed are skipped."""
    alive = dict(enumerate(bundles))
    age = dict.fromkeys(alive, 0)
    table: list[tuple[int, int, int, int, int]] = []
    looked_up = 0

    def remember(first: int, second: int) -> None:
        nonlocal looked_up
        gain = _gain(pricing, alive[first], alive[second], work)
        if gain > 0:
            looked_up += 1
            heappush(table, (-gain, first, second, age[first], age[second]))

    for second in alive:
        for first in range(second):
            remember(first, second)
    while table:
        _, first, second, *ages = heappop(table)
        looked_up += 1
        if ages != [age[first], age[second]]:
            continue
        left, right = alive[first], alive.pop(second)
        if work:
            work.merged(left, right)
        alive[first] = pricing.join(left, right)
        age[first] += 1
        age[second] += 1
        for index in alive:
            if index != first:
                remember(min(index, first), max(index, first))
    if work:
        work.operations.lookups += looked_up
    return list(alive.values())


def _without_lookup(pricing: Pricing, bundles: Sequence[Bundle], work: ProbingWork | None) -> list[Bundle]:
    alive = list(bundles)
    # prices are remembered here as well, so that a run ends in our lifetime; the work is counted as if they were not
    prices: dict[tuple[frozenset[int], frozenset[int]], int] = {}
    while True:
        best, pair = 0, None
        for index, left in enumerate(alive):
            for later in range(index + 1, len(alive)):
                right = alive[later]
                if work:
                    work.evaluated(left, right)
                key = (left.strands, right.strands)
                gain = prices.get(key)
                if gain is None:
                    gain = prices[key] = pricing.gain(left, right)
                if gain > best:
                    best, pair = gain, (index, later)
        if pair is None:
            return alive
        left, right = alive[pair[0]], alive[pair[1]]
        if work:
            work.merged(left, right)
        alive[pair[0]] = pricing.join(left, right)
        del alive[pair[1]]
