"""Weave Share's greedy merges (Figure 2): the pair of trees that saves most, again and again, until none saves.

Two ways that give the same plan: with the cost lookup every pair is priced once, and again when one of its trees was
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
    """Trees of which no two are worth merging."""
    return _with_lookup(pricing, bundles, work) if cost_lookup else _without_lookup(pricing, bundles, work)


def _gain(pricing: Pricing, one: Bundle, other: Bundle, work: ProbingWork | None) -> int:
    if work:
        work.evaluated(one, other)
    return pricing.gain(one, other)


def _with_lookup(pricing: Pricing, bundles: Sequence[Bundle], work: ProbingWork | None) -> list[Bundle]:
    """The lookup table is a heap: the best pair is on top, pairs of trees that have changed since are skipped."""
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
        one, other = alive[first], alive.pop(second)
        if work:
            work.merged(one, other)
        alive[first] = pricing.join(one, other)
        age[first] += 1
        age[second] += 1
        for place in alive:
            if place != first:
                remember(min(place, first), max(place, first))
    if work:
        work.operations.lookups += looked_up
    return list(alive.values())


def _without_lookup(pricing: Pricing, bundles: Sequence[Bundle], work: ProbingWork | None) -> list[Bundle]:
    alive = list(bundles)
    # prices are remembered here as well, so that a run ends in our lifetime; the work is counted as if they were not
    prices: dict[tuple[frozenset[int], frozenset[int]], int] = {}
    while True:
        best, pair = 0, None
        for place, one in enumerate(alive):
            for later in range(place + 1, len(alive)):
                other = alive[later]
                if work:
                    work.evaluated(one, other)
                key = (one.strands, other.strands)
                gain = prices.get(key)
                if gain is None:
                    gain = prices[key] = pricing.gain(one, other)
                if gain > best:
                    best, pair = gain, (place, later)
        if pair is None:
            return alive
        one, other = alive[pair[0]], alive[pair[1]]
        if work:
            work.merged(one, other)
        alive[pair[0]] = pricing.join(one, other)
        del alive[pair[1]]
