"""Slices against brute force: every edge of every window is an edge, and every moment is in exactly one slice."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from weft.plan.slices import Slicing, slicing
from weft.plan.windows import Window, micros

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
