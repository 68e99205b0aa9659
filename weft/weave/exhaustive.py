"""The cheapest plan, by trying every partition: the yardstick for small sets of windows."""

from __future__ import annotations

from collections.abc import Iterable

from weft.algebra.windows import Sliding
from weft.weave.plans import Rate, WeavePlan, plan_of
from weft.weave.pricing import Pricing

# 3 ** 14 is about five million sums, some seconds.
MOST_STRANDS = 14


def exhaustive(windows: Iterable[Sliding], *, rate: Rate) -> WeavePlan:
    """The cheapest partition of the windows into trees.

    All trees are priced once, 2 ** n - 1 of them; the best partition of a set is its best first tree and the best
    partition of what is left, O(3 ** n). Windows with the same edges count as a single window: there is a
    cheapest plan that has them in the same tree. More than `MOST_STRANDS` that differ are refused.
    """
    pricing = Pricing(windows, rate=rate)
    count = len(pricing.strands)
    if count > MOST_STRANDS:
        raise ValueError(f"exhaustive search takes {MOST_STRANDS} windows with different edges at most, not {count}")
    costs = [0] + [pricing.cost(pricing.bundle(_chosen(mask))) for mask in range(1, 1 << count)]
    best = [(0, 0)] * (1 << count)
    for mask in range(1, 1 << count):
        # the tree of the first strand: the strand itself and any choice of the others
        first = mask & -mask
        others = part = mask ^ first
        best[mask] = (costs[mask], mask)
        while part:
            part = (part - 1) & others
            cost = costs[part | first] + best[others ^ part][0]
            if cost < best[mask][0]:
                best[mask] = (cost, part | first)
    groups, left = [], (1 << count) - 1
    while left:
        tree = best[left][1]
        groups.append([index for strand in _chosen(tree) for index in pricing.strands[strand].window_indexes])
        left ^= tree
    return plan_of(tuple(pricing.windows), groups, pricing.rate)


def _chosen(mask: int) -> list[int]:
    return [strand for strand in range(mask.bit_length()) if mask >> strand & 1]
