"""Windows against brute force, with time before the epoch as well."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.algebra.windows import Asked, Clock, Running, Side, Sliced, Sliding, Window, duration_text, micros
from weft.sql.ddl import parse_duration

SECOND = timedelta(seconds=1)
WINDOWS = st.builds(lambda slide, extra, start: Sliding(range=(slide + extra) * SECOND, slide=slide * SECOND,
                                                       start=start * SECOND),
                    st.integers(1, 30), st.integers(0, 50), st.integers(-40, 40))


def holding(window: Sliding, moment: int) -> list[tuple[int, int]]:
    """Every window that holds a moment, by trying them all."""
    slide, length, start = micros(window.slide), micros(window.range), micros(window.start)
    turns = range((moment - start - length) // slide - 2, (moment - start) // slide + 3)
    spans = [(start + turn * slide, start + turn * slide + length) for turn in turns]
    return [(low, high) for low, high in spans if low <= moment < high]


@given(WINDOWS, st.integers(-(10**9), 10**9))
def test_last_end_is_the_end_of_the_last_window_that_holds_a_moment(window: Sliding, moment: int) -> None:
    assert window.last_end(moment) == max(high for _, high in holding(window, moment))


@given(WINDOWS, st.integers(-(10**9), 10**9))
def test_newest_closed_end_is_the_last_end_at_or_before(window: Sliding, watermark: int) -> None:
    end = window.newest_closed_end(watermark)
    assert window.is_end(end) and end <= watermark < end + micros(window.slide)
    assert (end - micros(window.range), end) in holding(window, end - 1)


@given(WINDOWS, st.integers(-(10**8), 10**8), st.integers(0, 10**8))
def test_ends_lists_every_end_between(window: Sliding, after: int, length: int) -> None:
    ends = list(window.ends(after=after, until=after + length))
    assert all(after < end <= after + length and window.is_end(end) for end in ends)
    assert len(ends) == (window.newest_closed_end(after + length) - window.newest_closed_end(after)) // micros(window.slide)


def test_spellings_of_one_window_are_one() -> None:
    assert Sliding(range=10 * SECOND, slide=5 * SECOND, start=-5 * SECOND) == Sliding(range=10 * SECOND, slide=5 * SECOND)
    assert str(Sliding(range=90 * SECOND, slide=60 * SECOND, start=SECOND)) == "range 90 seconds slide 1 minute start 1 second"


@pytest.mark.parametrize("length,slide", [(0, 1), (1, 0), (1, 2), (-1, 1)])
def test_nonsense_is_refused_where_it_is_built(length: int, slide: int) -> None:
    with pytest.raises(ValueError, match="window"):
        Sliding(range=length * SECOND, slide=slide * SECOND)


@given(WINDOWS, st.integers(-(10**8), 10**8))
def test_progressions_are_the_starts_and_the_ends(window: Sliding, moment: int) -> None:
    on_edge = any((moment - residue) % step == 0 for step, residue in window.progressions())
    assert on_edge == (window.is_end(moment) or window.is_end(moment + micros(window.range)))


@given(st.integers(1, 10**15))
def test_a_duration_reads_back_as_itself(total: int) -> None:
    span = timedelta(microseconds=total)
    assert parse_duration(duration_text(span)) == span


ASKED = Asked(begin=Side(before=10 * SECOND), end=Side())
EVERY = (Sliding(range=10 * SECOND, slide=4 * SECOND), Running(), ASKED)


def test_the_members_of_the_sum_are_those_that_these_tests_ask() -> None:
    assert {type(window) for window in EVERY} == set(get_args(Window))


@pytest.mark.parametrize("window", EVERY, ids=lambda window: type(window).__name__)
def test_a_window_says_in_one_way_whether_it_has_slices(window: Window) -> None:
    sliced, closes = window.clock.sliced, isinstance(window, Sliced)
    assert bool(window.as_sliced()) == sliced and (window in window.as_sliced()) == closes
    assert bool(window.progressions()) == sliced and bool(window.lead) == closes
    assert window.reach(None) is None and (window.reach(SECOND) is not None) == sliced
    assert hash(window) == hash(replace(window)) and window == replace(window)


@pytest.mark.parametrize(("window", "span"), [
    (ASKED, (90_000_000, 100_000_000)),
    (Asked(), (None, None)),
    (Asked(begin=Side(at=7), end=Side(at=9)), (7, 9)),
    (Asked(begin=Side(at=7), end=Side(before=SECOND)), (7, 99_000_000)),
])
def test_a_window_that_is_asked_for_goes_by_the_newest_row(window: Asked, span: tuple[int | None, int | None]) -> None:
    assert window.span(100_000_000) == span


def test_rows_that_may_be_asked_for_are_kept_by_short_slices_for_as_long_as_that() -> None:
    (kept,) = ASKED.as_sliced()
    assert kept.slide == ASKED.step == 10 * SECOND / 8 and kept.range >= 10 * SECOND + kept.slide
    assert ASKED.reach(SECOND) == micros(11 * SECOND + kept.slide)
    assert Asked(begin=Side(at=0)).reach(SECOND) is None, "a landmark stays"
    assert Asked().reach(SECOND) == micros(SECOND + Asked().step)


def test_all_that_has_arrived_is_named_as_catalogs_and_explain_know_it() -> None:
    assert str(Running()) == "none" and Running().explained == "none: totals over all that has arrived"
    assert Running() == Running() != EVERY[0]


@given(WINDOWS, st.integers(0, 10**6))
def test_rows_are_needed_for_a_range_behind_the_oldest_end_that_is_kept(window: Sliding, seconds: int) -> None:
    reach = window.reach(seconds * SECOND)
    assert reach == seconds * 1_000_000 + micros(window.range)


@given(WINDOWS)
def test_overlap_is_how_many_windows_hold_the_start_of_one(window: Sliding) -> None:
    assert len(holding(window, micros(window.start))) == -(-window.range // window.slide)
    assert window.overlap == window.range // window.slide


def test_slices_add_up_to_totals_and_totals_to_no_slice() -> None:
    feeds = {(one, other): one.feeds(other) for one in Clock for other in Clock}
    assert feeds == {(Clock.EVENT_TIME, Clock.EVENT_TIME): True, (Clock.EVENT_TIME, Clock.TICKS): True,
                     (Clock.TICKS, Clock.EVENT_TIME): False, (Clock.TICKS, Clock.TICKS): True}
    for one, other in feeds:
        assert one.joined(other).feeds(one) and one.joined(other).feeds(other)
        assert one.joined(other) is other.joined(one)


def test_no_window_is_none() -> None:
    """A query without a window of its own has Running(); to ask for None would be no error, and always false."""
    asked = []
    for path in sorted((Path(__file__).parents[2] / "weft").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and any(ast.unparse(one) == "None" for one in node.comparators):
                left = ast.unparse(node.left)
                # The binder's own `window` is a function, and there may be none.
                if left == "window" or left.endswith(".window") and left != "self.window":
                    asked.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert asked == []
