"""Joins of base nodes: the fast way finds what a look at every pair, again after every join, finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random
from time import process_time

import pytest

from weft.algebra.expressions import Column
from weft.algebra.types import BOOLEAN, INT
from weft.algebra.windows import Clock
from weft.plan.dimensions import Dimension
from weft.plan.facts import Estimates, Facts
from weft.plan.join import LEAST_SAVING, BaseGroup, Joins, Rates

LENGTHS: dict[str, float | None] = {"": 1e6, "t": 5e6}


def random_groups(random: Random, estimates: Estimates, columns: list[Dimension], count: int) -> list[BaseGroup]:
    groups: dict[object, BaseGroup] = {}
    for place in range(count):
        dimensions = frozenset(random.sample(columns, random.randint(1, 4)))
        clock = random.choice([Clock.EVENT_TIME, Clock.EVENT_TIME, Clock.TICKS])
        tree = random.choice(["", "t"]) if clock.sliced else ""
        mask, values = estimates.mask(one.name for one in dimensions), random.randint(2, 9)
        rows = estimates.rows_in(LENGTHS[tree] if clock.sliced else None)[mask]
        group = BaseGroup(dimensions, mask, clock, tree, (f"n{place}",), rows, values, f"n{place}", values, random.random() < 0.2)
        groups[dimensions, clock, tree] = group
    return list(groups.values())


def every_pair(groups: list[BaseGroup], joins: Joins, rates: Rates) -> list[BaseGroup]:
    """The joins by a look at every pair in every round."""
    def cost(group: BaseGroup) -> float:
        derived = len(group.members) - (group.top is not None)
        return rates.base + rates.merge * derived + group.rows * (rates.out + rates.derive * group.derived)

    left = sorted(groups, key=lambda group: (group.rows, group.members))
    while True:
        best: tuple[float, BaseGroup, BaseGroup, BaseGroup] | None = None
        for a, b in combinations(left, 2):
            if a.place is not None and b.place is not None and a.place != b.place:
                continue
            joined = joins._joined(a, b)
            if joined.top is not None and next(one for one in (a, b) if one.top == joined.top).counts_values and not joined.counts_values:
                continue
            saved = cost(a) + cost(b) - cost(joined)
            if saved > LEAST_SAVING and (best is None or saved > best[0]):
                best = saved, a, b, joined
        if best is None:
            return left
        left = [group for group in left if group is not best[1] and group is not best[2]] + [best[3]]


@pytest.mark.parametrize("seed", range(40))
def test_the_pair_that_saves_most_is_joined_first(seed: int) -> None:
    random = Random(f"joins {seed}")
    columns = [Dimension(Column(f"x{place}", BOOLEAN if place % 3 == 2 else INT)) for place in range(9)]
    # Numbers without ties: the order of equal savings is nobody's business.
    kinds = {frozenset({one.name}): random.uniform(2, 300) for one in columns}
    estimates = Estimates(Facts(random.uniform(1e3, 1e6), 6e7, kinds, 3), columns, {})
    rates = Rates(random.uniform(0.001, 0.1), random.uniform(1e-7, 1e-5), random.uniform(0, 0.01), random.uniform(1e-9, 1e-7))
    groups = random_groups(random, estimates, columns, 14)
    joins = Joins(estimates, LENGTHS, rates)
    expected = every_pair([replace(group) for group in groups], joins, rates)
    found = joins.join(groups)
    assert {frozenset(one.members): one.top for one in found} == {frozenset(one.members): one.top for one in expected}


def test_two_hundred_nodes_that_all_gain_are_joined_at_once() -> None:
    """Priced pair by pair with all members counted anew, they took a second, and a search prices hundreds of drafts."""
    random = Random("many")
    columns = [Dimension(Column(f"x{place}", INT)) for place in range(24)]
    estimates = Estimates(Facts(20_000, 6e7, {frozenset({one.name}): 100.0 for one in columns}, 3), columns, {})
    groups = [group for group in random_groups(random, estimates, columns, 280) if group.place is not None]
    started = process_time()
    found = Joins(estimates, LENGTHS, Rates(0.01, 1e-5, 3e-4, 2.5e-8)).join(groups)
    assert len(found) < 20 < 150 < len(groups) and process_time() - started < 1
