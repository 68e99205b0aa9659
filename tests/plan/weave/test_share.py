"""Weave Share: its promises, its switches, and what refining adds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings

from tests.plan.weave.cases import RATES, SECOND, random_windows, window, windows
from weft.plan import Operations, Window, exhaustive, share_all, share_none, weave_share
from weft.weave import share
from weft.weave.greedy import merge_greedily
from weft.weave.lazy import LazyMerges
from weft.weave.pricing import Pricing, total_cost

ALL_OFF = {"cost_lookup": False, "edge_bitmap": False, "probing_order": False, "merge_twins": False}
NEXT_TO_NOTHING = Fraction(1, 10**12)


@given(windows(9), RATES)
def test_it_is_never_dearer_than_sharing_nothing_or_everything(some: list[Window], rate: float) -> None:
    plan, refined = weave_share(some, rate=rate), weave_share(some, rate=rate, refine=True)
    assert plan.cost <= min(share_none(some, rate=rate).cost, share_all(some, rate=rate).cost)
    assert refined.cost <= plan.cost


def test_greedy_merges_alone_do_not_promise_that() -> None:
    """Any two of these make all edges of the third: two together do not pay, all three do."""
    some = [window(4, 3, start) for start in range(3)]
    pricing = Pricing(some, rate=0.8)
    singles = [pricing.bundle([place]) for place in range(3)]
    assert merge_greedily(pricing, singles) == singles
    assert pricing.cost(pricing.bundle(range(3))) < total_cost(pricing, singles)
    assert weave_share(some, rate=0.8) == share_all(some, rate=0.8)


@pytest.mark.parametrize("off", [*({one: False} for one in ALL_OFF), ALL_OFF], ids="-".join)
@given(some=windows(8), rate=RATES)
def test_speed_ups_change_the_work_and_not_the_cost(off: dict[str, bool], some: list[Window], rate: float) -> None:
    expected = weave_share(some, rate=rate)
    assert abs(weave_share(some, rate=rate, **off).cost - expected.cost) <= NEXT_TO_NOTHING * (1 + expected.cost)


def test_every_speed_up_saves_operations() -> None:
    some = random_windows(Random(3), 40, slides=(2, 12), rest=False)
    totals = []
    for flags in (ALL_OFF, {**ALL_OFF, "cost_lookup": True}, {"probing_order": False, "merge_twins": False},
                  {"merge_twins": False}):
        operations = Operations()
        weave_share(some, rate=20, operations=operations, **flags)
        totals.append(operations.total)
    naive, lookup, bitmap, order = totals
    assert naive > lookup > 10 * bitmap > 10 * order, totals
    assert operations.merges and operations.evaluations and str(operations)


def test_windows_with_the_same_edges_are_always_together() -> None:
    some = [window(10, 5), window(25, 5), window(12, 4), window(7, 5), window(17, 5)]
    for rate in (0, 1, 100):
        plan = weave_share(some, rate=rate)
        home = {one: place for place, tree in enumerate(plan.trees) for one in tree}
        assert home[some[0]] == home[some[1]] and home[some[3]] == home[some[4]]


def test_refining_finds_the_cheapest_plan_nearly_always() -> None:
    random = Random(11)
    cases = [(random_windows(random, 8), random.uniform(0.5, 50)) for _ in range(60)]
    greedy = refined = 0
    for some, rate in cases:
        least = exhaustive(some, rate=rate).cost
        greedy += weave_share(some, rate=rate).cost == least
        found = weave_share(some, rate=rate, refine=True).cost
        refined += found == least
        assert found <= least * Fraction(102, 100)
    assert refined >= 57 and refined > greedy


def test_refining_stops_when_its_effort_is_spent() -> None:
    some = random_windows(Random(4), 30, slides=(2, 12))
    plan = weave_share(some, rate=5)
    little = weave_share(some, rate=5, refine=True, effort=300)
    much = weave_share(some, rate=5, refine=True, effort=50_000)
    assert much.cost < plan.cost and much.cost <= little.cost <= plan.cost


@settings(max_examples=20)
@given(windows(40, slides=40), RATES)
def test_estimates_lead_to_about_the_plan_that_counting_leads_to(some: list[Window], rate: float) -> None:
    pricing = Pricing(some, rate=rate)
    singles = [pricing.bundle([place]) for place in range(len(pricing.strands))]
    counted, estimated = merge_greedily(pricing, singles), LazyMerges(pricing, singles).run()
    assert Counter(strand for tree in estimated for strand in tree.strands) == Counter(range(len(singles)))
    assert total_cost(pricing, estimated) <= 1.25 * total_cost(pricing, counted)
    assert total_cost(pricing, estimated) <= total_cost(pricing, singles)


def test_estimates_cost_little_quality_where_there_are_many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    some = random_windows(Random(6), 300, slides=(2, 60), rest=False) + random_windows(Random(7), 60, slides=(30, 60))
    counted = weave_share(some, rate=20).cost
    monkeypatch.setattr(share, "MOST_PRICED_PAIRWISE", 0)
    assert weave_share(some, rate=20).cost <= counted * Fraction(103, 100)


def test_slides_without_a_common_period_are_sampled() -> None:
    some = random_windows(Random(8), 150, slides=(1_000, 100_000))
    some += [Window(range=one.range, slide=one.slide - SECOND / 1_000_000) for one in some[:3]]
    pricing = Pricing(some, rate=5)
    assert pricing.sampled
    plan = weave_share(some, rate=5)
    assert Counter(plan.windows) == Counter(some)
    assert plan.cost < share_none(some, rate=5).cost / 2 and plan.cost < share_all(some, rate=5).cost
    assert plan.error < plan.cost / 10
