"""The operations that are added up are those that doing the work step by step takes."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.weave.cases import SECOND, window, windows
from weft.plan import Operations, Window, composite_slide, edges
from weft.weave.pricing import Pricing
from weft.weave.probing import ProbingWork, find_common

SWITCHES = list(product([False, True], repeat=2))


@pytest.mark.parametrize("edge_bitmap,probing_order", SWITCHES)
@given(some=windows(3, slides=8), others=windows(3, slides=8))
def test_sums_are_the_steps(edge_bitmap: bool, probing_order: bool, some: list[Window], others: list[Window]) -> None:
    pricing = Pricing([*some, *others], rate=1, twins=False)
    one = pricing.bundle(range(len(some)))
    other = pricing.bundle(range(len(some), len(some) + len(others)))
    summed, done = Operations(), Operations()
    ProbingWork(pricing, summed, edge_bitmap=edge_bitmap, probing_order=probing_order).evaluated(one, other)
    find_common(some, others, edge_bitmap=edge_bitmap, probing_order=probing_order, operations=done)
    assert (summed.comparisons, summed.probes) == (done.comparisons, done.probes)
    assert summed.evaluations == 1


@pytest.mark.parametrize("edge_bitmap,probing_order", SWITCHES)
@given(some=windows(3, slides=8, starts=5), others=windows(3, slides=8, starts=5))
def test_common_edges_are_those_of_both(
    edge_bitmap: bool, probing_order: bool, some: list[Window], others: list[Window]
) -> None:
    together = composite_slide(some, others)
    ours, theirs = ({edge + turn * composite_slide(side) for edge in edges(side)
                     for turn in range(together // composite_slide(side))} for side in (some, others))
    found = find_common(some, others, edge_bitmap=edge_bitmap, probing_order=probing_order)
    assert list(found) == sorted(ours & theirs)


def test_a_merge_puts_the_fewer_edges_into_the_other_bitmap() -> None:
    pricing = Pricing([window(5, 5), window(7, 6)], rate=1)
    operations = Operations()
    ProbingWork(pricing, operations).merged(pricing.bundle([1]), pricing.bundle([0]))
    # thirty seconds, one 64-bit word: six edges of the one slide go into the bitmap with ten of the other
    assert (operations.hashed, operations.copied, operations.merges) == (6, 1, 1)


@given(windows(6, starts=6))
def test_prices_are_those_of_plans(some: list[Window]) -> None:
    pricing = Pricing(some, rate=3)
    bundle = pricing.bundle(range(len(pricing.strands)))
    exact = len(edges(some)) / (composite_slide(some) / SECOND)
    assert bundle.rate / 2**64 == pytest.approx(exact)
    for one, other in combinations([pricing.bundle([place]) for place in range(len(pricing.strands))], 2):
        assert pricing.gain(one, other) <= pricing.most_gain(one, other) + 1
        assert abs(pricing.gain(one, other)
                   - (pricing.cost(one) + pricing.cost(other) - pricing.cost(pricing.join(one, other)))) <= 2
        (first,), (second,) = one.strands, other.strands
        common = one.rate + other.rate - pricing.joint_rate(one, other)
        assert pricing.common_rates(first, [second])[0] == pytest.approx(common / 2**64, abs=1e-15)


@given(windows(5), windows(5), st.integers(1, 9))
def test_a_growing_universe_changes_no_price(some: list[Window], more: list[Window], finer: int) -> None:
    pricing = Pricing(some, rate=3)
    before = pricing.bundle(range(len(pricing.strands)))
    for one in more:
        pricing.add(Window(range=one.range / finer, slide=one.slide / finer))
    after = pricing.current(before)
    assert after.strands == before.strands and abs(after.rate - before.rate) <= 1
