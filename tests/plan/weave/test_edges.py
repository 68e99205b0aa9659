"""Edge rates and weaveability against brute force, windows with offsets included."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given

from tests.plan.weave.cases import SECOND, window, windows
from weft.plan import Window, composite_slide, edge_rate, edge_rate_bounds, edges, overlap_factor, weaveability


def brute_force(some: list[Window]) -> list[int]:
    """Every second of a composite slide at which some window starts or ends, the slide's end for its beginning."""
    period = int(composite_slide(some) / SECOND)
    found = set()
    for one in some:
        slide, start, length = one.slide // SECOND, one.start // SECOND, one.range // SECOND
        for turn in range(-2 - length // slide, period // slide + 2):
            found |= {start + turn * slide, start + turn * slide + length}
    return sorted((moment or period) for moment in found if 0 <= moment < period)


@given(windows(5, starts=9))
def test_edges_are_all_starts_and_ends(some: list[Window]) -> None:
    expected = sorted(brute_force(some))
    assert [edge // SECOND for edge in edges(some)] == expected
    found = edge_rate_bounds(some)
    assert found.exact and found.value == Fraction(len(expected), composite_slide(some) // SECOND) == edge_rate(some)


@given(windows(3, slides=8, starts=5), windows(3, slides=8, starts=5))
def test_weaveability_is_common_edges_over_all_edges(some: list[Window], others: list[Window]) -> None:
    period = int(composite_slide(some, others) / SECOND)
    ours, theirs = (
        {(edge // SECOND + turn * (composite_slide(side) // SECOND)) for edge in edges(side)
         for turn in range(period // (composite_slide(side) // SECOND))} for side in (some, others))
    assert weaveability(some, others) == Fraction(len(ours & theirs), len(ours | theirs)) == weaveability(others, some)


@given(windows(6))
def test_overlap_factor_is_the_sum_of_range_over_slide(some: list[Window]) -> None:
    assert overlap_factor(some) == sum((Fraction(one.range // SECOND, one.slide // SECOND) for one in some), Fraction(0))
    assert overlap_factor(*some) == overlap_factor(some)


def test_more_edges_than_anybody_wants_are_counted_and_not_listed() -> None:
    many = [window(slide, slide) for slide in range(5, 25)]
    with pytest.raises(ValueError, match="edge_rate"):
        edges(many)
    assert edge_rate_bounds(many).exact


def test_a_composite_slide_longer_than_any_duration_still_has_an_edge_rate() -> None:
    many = [Window(range=timedelta(microseconds=prime), slide=timedelta(microseconds=prime))
            for prime in (1_000_003, 1_000_033, 1_000_037, 1_000_039, 999_983)]
    with pytest.raises(OverflowError):
        composite_slide(many)
    found = edge_rate_bounds(many)
    # each alone has an edge about every second, and they hardly ever meet
    assert found.exact and 4.99 < found.value < 5.0
