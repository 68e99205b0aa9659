"""Incremental Weave Share: after any additions and removals the books are those of a plan computed from nothing."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.plan.weave.cases import RATES, SECOND, random_windows, window, windows
from weft.plan import IncrementalWeave, Operations, Window, edge_rate, overlap_factor, share_none, weave_share

NEXT_TO_NOTHING = Fraction(1, 10**12)


class Weaving(RuleBasedStateMachine):
    """Windows come and go in any order, and a plan made elsewhere may be adopted at any time, also an old one."""

    @initialize(rate=RATES, tolerance=st.sampled_from([0, 0.1, 0.5, float("inf")]), automatic=st.booleans())
    def start(self, rate: float, tolerance: float, automatic: bool) -> None:
        self.weave = IncrementalWeave(rate=rate, tolerance=tolerance, automatic=automatic)
        self.expected: Counter[Window] = Counter()
        self.old = self.weave.plan

    @rule(some=windows(3, slides=8, starts=4), finer=st.sampled_from([1, 1, 2, 4]))
    def add(self, some: list[Window], finer: int) -> None:
        for one in some:
            one = Window(range=one.range / finer, slide=one.slide / finer, start=one.start / finer)  # noqa: PLW2901
            self.weave.add(one)
            self.expected[one] += 1

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.expected.elements(), key=str)))
        self.weave.remove(one)
        self.expected[one] -= 1
        self.expected += Counter()

    @rule()
    def remember(self) -> None:
        self.old = weave_share(self.weave.windows, rate=self.weave.rate)

    @rule()
    def adopt(self) -> None:
        self.weave.adopt(self.old)

    @invariant()
    def books_are_right(self) -> None:
        if not hasattr(self, "weave"):
            return
        plan = self.weave.plan
        assert Counter(plan.windows) == self.expected == Counter(self.weave.windows)
        assert self.weave.count == sum(self.expected.values())
        recomputed = sum((plan.rate + edge_rate(tree) * overlap_factor(tree) for tree in plan.trees), Fraction(0))
        assert plan.cost == recomputed
        assert abs(self.weave.cost - recomputed) <= NEXT_TO_NOTHING * (1 + recomputed)
        assert plan.cost <= share_none(self.weave.windows, rate=self.weave.rate).cost


TestWeaving = Weaving.TestCase
TestWeaving.settings = settings(max_examples=25, stateful_step_count=10)


def test_a_tree_that_grows_too_dear_is_taken_apart() -> None:
    """A window with the edges of another goes into its tree; if it is merged of many fragments, all of them cost more."""
    weave = IncrementalWeave(rate=7, tolerance=0, automatic=False)
    for length, slide in ((0.25, 0.25), (1, 1), (4, 1)):
        weave.add(window(length, slide))
    assert weave.plan.cost <= share_none(weave.windows, rate=7).cost


def arrive(weave: IncrementalWeave, some: list[Window]) -> list[float]:
    """Add windows one by one; by how much the plan is dearer than one made from nothing, every twentieth time."""
    worse = []
    for place, one in enumerate(some, start=1):
        weave.add(one)
        if place % 20 == 0:
            worse.append(float(weave.plan.cost / weave_share(some[:place], rate=weave.rate).cost) - 1)
    return worse


def test_within_the_tolerance_with_few_reconstructions() -> None:
    some = random_windows(Random(1), 100, slides=(2, 12))
    weave = IncrementalWeave(rate=20, tolerance=0.2)
    assert max(arrive(weave, some)) <= 0.2
    assert 3 < weave.reconstructions < 30
    assert [point.windows for point in weave.curve] == sorted(point.windows for point in weave.curve)
    # the order in which windows are given may decide between equal gains
    assert all(point.cost <= weave_share(some[: point.windows], rate=20).cost * Fraction(102, 100)
               for point in weave.curve)


def test_the_tolerance_is_a_knob_between_always_and_never() -> None:
    some = random_windows(Random(2), 60, slides=(2, 12))
    worse, anew, looked = [], [], []
    for tolerance in (0, 0.2, float("inf")):
        operations = Operations()
        weave = IncrementalWeave(rate=20, tolerance=tolerance, operations=operations)
        worse.append(sum(arrive(weave, some)))
        anew.append(weave.reconstructions)
        looked.append(operations.evaluations)
    assert anew[0] == 60 > anew[1] > anew[2] == 0
    assert max(worse[:2]) < worse[2]
    assert looked[0] > looked[1] > looked[2]


def test_a_window_like_another_goes_into_its_tree() -> None:
    weave = IncrementalWeave([window(10, 5), window(7, 4)], rate=0, tolerance=0.2)
    weave.add(window(25, 5))
    assert [sorted(tree.windows, key=str) for tree in weave.plan.trees] == [
        [window(10, 5), window(25, 5)], [window(7, 4)]]


def test_a_removal_may_bring_trees_together() -> None:
    kept, divider = [window(16, 4), window(10, 5)], window(40, 4)
    weave = IncrementalWeave([*kept, divider], rate=2, tolerance=float("inf"), automatic=False)
    assert len(weave.plan.trees) == 2
    weave.remove(divider)
    assert len(weave.plan.trees) == 1


def test_the_slope_of_the_curve_says_what_to_expect() -> None:
    weave = IncrementalWeave(rate=10, tolerance=0.2, automatic=False)
    assert weave.expected_cost == 10 and weave.deviation == -1 and not weave.due
    some = [window(5 * slide, slide) for slide in (2, 3, 5, 7)]
    for one in some[:2]:
        weave.add(one)
    assert weave.due
    weave.adopt(weave.plan)
    first = weave.curve[0]
    assert (first.windows, first.cost) == (2, weave.plan.cost)
    weave.add(some[2])
    # one point: a straight line from nothing
    assert weave.expected_cost == first.cost * 3 / 2
    weave.adopt(weave.plan)
    weave.add(some[3])
    second = weave.curve[1]
    assert weave.expected_cost == second.cost + (second.cost - first.cost)
    assert weave.deviation == weave.cost / weave.expected_cost - 1


def test_a_plan_from_the_background_keeps_what_came_and_went_meanwhile() -> None:
    some = random_windows(Random(5), 30)
    weave = IncrementalWeave(some[:20], rate=20, tolerance=0.2, automatic=False)
    made_meanwhile = weave_share(weave.windows, rate=20)
    for one in some[20:]:
        weave.add(one)
    for one in some[:5]:
        weave.remove(one)
    weave.adopt(made_meanwhile)
    assert Counter(weave.windows) == Counter(some[5:])
    assert weave.curve[-1].windows == 20


def test_windows_that_left_are_forgotten() -> None:
    weave = IncrementalWeave(rate=3, tolerance=float("inf"))
    for turn in range(400):
        weave.add(window(turn + 1, turn % 50 + 1))
        if turn >= 10:
            weave.remove(window(turn - 9, (turn - 10) % 50 + 1))
    assert weave.count == 10
    assert len(weave._pricing.windows) < 100


def test_nonsense_is_refused() -> None:
    weave = IncrementalWeave([window(2, 1)], rate=1)
    with pytest.raises(KeyError, match="range 3 seconds"):
        weave.remove(window(3, 1))
    with pytest.raises(ValueError, match="tolerance"):
        IncrementalWeave(rate=1, tolerance=-0.1)
    weave.remove(window(2, 1))
    assert weave.plan.trees == () and weave.cost == 0 and not weave.due


def test_more_windows_than_have_a_common_period() -> None:
    some = random_windows(Random(9), 60, slides=(1_000, 100_000))
    weave = IncrementalWeave(rate=1, tolerance=0.2)
    for one in some:
        weave.add(one)
    weave.add(Window(range=SECOND / 7 * 3, slide=SECOND / 7))
    assert weave.count == 61 and weave._pricing.sampled
    assert weave.cost == pytest.approx(float(weave.plan.cost), rel=0.05)
    assert weave.plan.cost <= weave_share(weave.windows, rate=1).cost * Fraction(12, 10)
