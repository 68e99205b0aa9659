"""Slices against brute force: every edge of every window is an edge, and every moment is in exactly one slice."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.algebra.windows import Window, micros
from weft.plan.slices import Slicing, slicing

STEP = timedelta(milliseconds=250)


def window(slide: int, extra: int, start: int, unit: timedelta = STEP) -> Window:
    return Window(range=(slide + extra) * unit, slide=slide * unit, start=start * unit)


WINDOWS = st.lists(st.builds(window, st.integers(1, 24), st.integers(0, 40), st.integers(0, 50)), min_size=1, max_size=6)
ODD = st.lists(
    st.builds(window, st.integers(90_000, 4_000_000), st.integers(0, 900_000), st.integers(0, 999),
              st.just(timedelta(microseconds=1))), min_size=1, max_size=4)


def edges(windows: list[Window], low: int, high: int) -> list[int]:
    """All starts and ends of all windows in [low, high), one by one."""
    found = set()
    for one in windows:
        slide, start = micros(one.slide), micros(one.start)
        for residue in (start, start + micros(one.range)):
            first = low + (residue - low) % slide
            found.update(range(first, high, slide))
    return sorted(found)


@given(WINDOWS | ODD, st.integers(-(10**9), 10**9))
def test_every_edge_of_every_window_starts_a_slice(windows: list[Window], low: int) -> None:
    cut = slicing(windows)
    assert cut is not None
    for edge in edges(windows, low, low + 20_000_000)[:200]:
        assert cut.floor(edge) == edge
        assert cut.next_edge(edge - 1) == edge
    assert all(cut.covers(one) for one in windows)


@given(WINDOWS | ODD, st.integers(-(10**12), 10**12))
def test_a_moment_is_in_the_slice_that_floor_and_next_edge_name(windows: list[Window], moment: int) -> None:
    cut = slicing(windows)
    assert cut is not None
    start, end = cut.floor(moment), cut.next_edge(moment)
    assert start <= moment < end
    assert cut.floor(start) == start and cut.floor(end - 1) == start
    assert not [edge for edge in edges(windows, start + 1, min(end, start + 10**7))]


@given(WINDOWS)
def test_a_window_that_is_not_covered_has_an_edge_inside_a_slice(windows: list[Window]) -> None:
    cut = slicing(windows[:1])
    assert cut is not None
    for one in windows[1:]:
        if not cut.covers(one):
            assert any(cut.floor(edge) != edge for edge in edges([one], 0, micros(one.slide) * 300))


def test_the_usual_windows_need_one_division() -> None:
    seconds = [timedelta(seconds=number) for number in (5, 10, 15, 20, 30)]
    cut = slicing([Window(range=slide * turns, slide=slide) for slide in seconds for turns in range(1, 7)])
    assert cut == Slicing(((5_000_000, 0),), 5_000_000)


def test_sparse_edges_are_searched_in_a_table() -> None:
    cut = slicing([window(24, 1, 0), window(40, 0, 0)])
    assert cut is not None and cut.kind == "table"
    assert len(cut.table) < cut.period // micros(STEP) / 2


def test_slides_without_a_short_common_period_cost_bounded_memory() -> None:
    many = [Window(range=timedelta(seconds=number), slide=timedelta(seconds=number)) for number in range(5, 25)]
    cut = slicing(many)
    assert cut is not None and cut.kind == "uniform" and cut.period == 1_000_000
    odd = [Window(range=timedelta(hours=1), slide=timedelta(hours=1), start=timedelta(microseconds=turn))
           for turn in range(3)]
    scattered = slicing(odd)
    assert scattered is not None and scattered.kind in ("table", "scattered") and len(scattered.table) <= 4096


def test_no_windows_have_no_slices() -> None:
    assert slicing([]) is None


@given(WINDOWS | ODD, st.integers(-(10**9), 10**9))
def test_no_slice_is_cut_where_no_window_needs_it_but_for_a_few_of_even_ones(windows: list[Window], moment: int) -> None:
    cut = slicing(windows)
    assert cut is not None
    if cut.kind != "uniform":
        start, end = cut.floor(moment), cut.next_edge(moment)
        assert edges(windows, start, start + 1) and edges(windows, end, end + 1)


def test_a_window_whose_edges_are_all_there_changes_nothing() -> None:
    fine = slicing([window(2, 2, 0)])
    assert slicing([window(2, 2, 0), window(4, 8, 0), window(6, 0, 0)]) == fine
    assert slicing([window(2, 2, 0), window(4, 8, 1)]) != fine


def primes(count: int, *, at_least: int) -> list[int]:
    found: list[int] = []
    number = at_least | 1
    while len(found) < count:
        if all(number % divisor for divisor in range(3, math.isqrt(number) + 1, 2)):
            found.append(number)
        number += 2
    return found


def tumbling(lengths: Iterable[int], unit: timedelta) -> list[Window]:
    return [Window(range=length * unit, slide=length * unit) for length in lengths]


SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
# Their common periods have more than 308 digits, which is more than a float holds.
ENDLESS = {
    "primes": (tumbling(primes(52, at_least=1_000_000), MICROSECOND), "scattered", 19_000),
    "many primes": (tumbling(primes(400, at_least=1_000_000), MICROSECOND), "uniform", 1),
    "all lengths": (tumbling(range(350, 701), SECOND), "uniform", 1_000_000),
    "any lengths": (tumbling(Random(1).sample(range(60, 3600), 400), SECOND), "uniform", 1_000_000),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_slides_whose_common_period_no_float_holds_are_sliced_all_the_same(name: str) -> None:
    windows, kind, length = ENDLESS[name]
    cut = slicing(windows)
    assert cut is not None and cut.kind == kind
    assert length <= cut.mean_length() <= 2 * length
    assert all(cut.covers(one) for one in windows)
    for edge in edges(windows, 10**12, 10**12 + 60_000_000)[:200]:
        assert cut.floor(edge) == edge and cut.next_edge(edge - 1) == edge


def test_a_few_odd_slides_do_not_give_every_row_a_slice_of_its_own() -> None:
    """Without a common step, even slices would be a microsecond long; the edges themselves are 40 a second."""
    cut = slicing([*tumbling(primes(40, at_least=1_000_000), MICROSECOND), *tumbling([60], SECOND)])
    assert cut is not None and cut.kind == "scattered" and cut.mean_length() > 20_000


def test_hours_that_begin_at_thousands_of_moments_do_not_cost_a_row_thousands_of_divisions() -> None:
    hours = [Window(range=timedelta(hours=1), slide=timedelta(hours=1), start=turn * 700_001 * MICROSECOND)
             for turn in range(5_000)]
    cut = slicing(hours)
    assert cut is not None and cut.kind == "uniform"
