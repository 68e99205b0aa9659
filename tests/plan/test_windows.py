"""Windows against brute force, with time before the epoch as well."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.algebra.windows import Window, duration_text, micros
from weft.sql.ddl import parse_duration

SECOND = timedelta(seconds=1)
WINDOWS = st.builds(lambda slide, extra, start: Window(range=(slide + extra) * SECOND, slide=slide * SECOND,
                                                       start=start * SECOND),
                    st.integers(1, 30), st.integers(0, 50), st.integers(-40, 40))


def holding(window: Window, moment: int) -> list[tuple[int, int]]:
    """Every window that holds a moment, by trying them all."""
    slide, length, start = micros(window.slide), micros(window.range), micros(window.start)
    turns = range((moment - start - length) // slide - 2, (moment - start) // slide + 3)
    spans = [(start + turn * slide, start + turn * slide + length) for turn in turns]
    return [(low, high) for low, high in spans if low <= moment < high]


@given(WINDOWS, st.integers(-(10**9), 10**9))
def test_last_end_is_the_end_of_the_last_window_that_holds_a_moment(window: Window, moment: int) -> None:
    assert window.last_end(moment) == max(high for _, high in holding(window, moment))


@given(WINDOWS, st.integers(-(10**9), 10**9))
def test_newest_closed_end_is_the_last_end_at_or_before(window: Window, watermark: int) -> None:
    end = window.newest_closed_end(watermark)
    assert window.is_end(end) and end <= watermark < end + micros(window.slide)
    assert (end - micros(window.range), end) in holding(window, end - 1)


@given(WINDOWS, st.integers(-(10**8), 10**8), st.integers(0, 10**8))
def test_ends_lists_every_end_between(window: Window, after: int, length: int) -> None:
    ends = list(window.ends(after=after, until=after + length))
    assert all(after < end <= after + length and window.is_end(end) for end in ends)
    assert len(ends) == (window.newest_closed_end(after + length) - window.newest_closed_end(after)) // micros(window.slide)


def test_spellings_of_one_window_are_one() -> None:
    assert Window(range=10 * SECOND, slide=5 * SECOND, start=-5 * SECOND) == Window(range=10 * SECOND, slide=5 * SECOND)
    assert str(Window(range=90 * SECOND, slide=60 * SECOND, start=SECOND)) == "range 90 seconds slide 1 minute start 1 second"


@pytest.mark.parametrize("length,slide", [(0, 1), (1, 0), (1, 2), (-1, 1)])
def test_nonsense_is_refused_where_it_is_built(length: int, slide: int) -> None:
    with pytest.raises(ValueError, match="window"):
        Window(range=length * SECOND, slide=slide * SECOND)


@given(WINDOWS, st.integers(-(10**8), 10**8))
def test_progressions_are_the_starts_and_the_ends(window: Window, moment: int) -> None:
    on_edge = any((moment - residue) % step == 0 for step, residue in window.progressions())
    assert on_edge == (window.is_end(moment) or window.is_end(moment + micros(window.range)))


@given(st.integers(1, 10**15))
def test_a_duration_reads_back_as_itself(total: int) -> None:
    span = timedelta(microseconds=total)
    assert parse_duration(duration_text(span)) == span
