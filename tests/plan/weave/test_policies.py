"""Every policy gives a partition of the windows at its true price; none is below the cheapest plan there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.weave.cases import RATES, random_windows, window, windows
from weft.plan import (
    WeavePlan,
    Window,
    edge_rate,
    exhaustive,
    insert_then_weave,
    local_search,
    overlap_factor,
    random_trees,
    share_all,
    share_none,
    weave_share,
)

POLICIES: list[Callable[..., WeavePlan]] = [
    share_none, share_all, random_trees, insert_then_weave, local_search, weave_share, exhaustive,
]


def price(trees: list[list[Window]], rate: Fraction) -> Fraction:
    """Eq. 3, from nothing but edge rates and overlap factors."""
    return sum((rate + edge_rate(tree) * overlap_factor(tree) for tree in trees), Fraction(0))


def partitions(some: list[Window]) -> list[list[list[Window]]]:
    if not some:
        return [[]]
    first, *rest = some
    found = []
    for size in range(len(rest) + 1):
        for chosen in combinations(range(len(rest)), size):
            tree = [first, *(rest[place] for place in chosen)]
            left = [one for place, one in enumerate(rest) if place not in chosen]
            found += [[tree, *others] for others in partitions(left)]
    return found


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
@given(some=windows(6), rate=RATES)
def test_a_plan_is_a_partition_at_its_price(policy: Callable[..., WeavePlan], some: list[Window], rate: float) -> None:
    plan = policy(some, rate=rate)
    assert Counter(plan.windows) == Counter(some)
    assert all(len(tree) for tree in plan.trees)
    assert plan.cost == price([list(tree) for tree in plan.trees], plan.rate)
    assert plan.error == 0


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
def test_no_windows_are_no_trees(policy: Callable[..., WeavePlan]) -> None:
    assert policy([], rate=5).trees == () and policy([], rate=5).cost == 0


@given(windows(5), RATES)
def test_exhaustive_is_the_cheapest_of_all_partitions(some: list[Window], rate: float) -> None:
    every = partitions(some)
    assert len(every) == [1, 1, 2, 5, 15, 52][len(some)]
    plan = exhaustive(some, rate=rate)
    assert plan.cost == min(price(trees, plan.rate) for trees in every)


def test_exhaustive_refuses_what_would_take_for_ever() -> None:
    with pytest.raises(ValueError, match="14 windows"):
        exhaustive([window(slide, slide) for slide in range(1, 16)], rate=1)


@given(windows(7), RATES)
def test_policies_that_search_are_not_below_the_cheapest(some: list[Window], rate: float) -> None:
    least = exhaustive(some, rate=rate).cost
    for policy in (weave_share, insert_then_weave, local_search):
        assert policy(some, rate=rate).cost >= least


@given(windows(7), st.integers(0, 5), st.sampled_from(["none", "random"]))
def test_chance_follows_from_the_seed(some: list[Window], seed: int, start: str) -> None:
    assert random_trees(some, rate=3, seed=seed) == random_trees(some, rate=3, seed=seed)
    assert local_search(some, rate=3, seed=seed, start=start) == local_search(some, rate=3, seed=seed, start=start)


def test_seeds_differ() -> None:
    some = random_windows(Random(1), 12)
    assert len({random_trees(some, rate=1, seed=seed) for seed in range(8)}) > 4


def test_local_search_ends_where_no_single_move_helps() -> None:
    for seed in range(8):
        some = random_windows(Random(seed), 8)
        plan = local_search(some, rate=20, seed=seed, iterations=10_000)
        for source in plan.trees:
            for mover in source:
                left = list(source)
                left.remove(mover)
                others = [tree for tree in plan.trees if tree is not source]
                for target in range(len(others) + 1):
                    trees = [list(tree) for tree in others] + [[]]
                    trees[target].append(mover)
                    assert price([tree for tree in [*trees, left] if tree], plan.rate) >= plan.cost - Fraction(1, 10**15)


def test_local_search_stops_when_told() -> None:
    some = random_windows(Random(2), 10)
    assert local_search(some, rate=20, iterations=0).cost == share_none(some, rate=20).cost
    with pytest.raises(ValueError, match="random"):
        local_search(some, rate=20, start="all")


def test_insertion_depends_on_the_order_and_weaving_does_not() -> None:
    some = [window(16, 4), window(10, 5), window(8, 4)]
    assert float(insert_then_weave(some, rate=1.2).cost) == 4.4
    assert float(insert_then_weave([some[0], some[2], some[1]], rate=1.2).cost) == 4.3
    assert weave_share(some, rate=1.2).cost == weave_share(some[::-1], rate=1.2).cost


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        share_none([window(1, 1)], rate=-1)
