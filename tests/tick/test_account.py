"""What a tick is predicted to take: its price, and what the ticks before it took over theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weft.tick.account import Experience
from weft.tick.events import TickCommitted

TICK = TickCommitted(
    stream="s", batch_id=0, rows=1, dead=0, jobs=0, queries=1, nodes=1, partial_rows=1, kernel="duckdb",
    priced_seconds=1.0, predicted_seconds=1.0, amounts={}, committed_at="", watermark_before=None, watermark=None,
    seconds={"spark": 1.0},
)


def after(*seconds: float, plan: str = "plan") -> Experience:
    experience = Experience()
    for took in seconds:
        experience.note(replace(TICK, seconds={"spark": took}), plan)
    return experience


def test_a_machine_that_is_busy_is_expected_to_stay_so() -> None:
    assert after().expected(3.0) == 3.0
    assert after(9, 9, 2, 2, 2, 2).expected(3.0) == pytest.approx(6.0), "the first two compile what all others use"
    assert after(9, 9, 2, 2, 2, 2, 4, 4, 4, 4).expected(3.0) == pytest.approx(12.0), "and what is long ago says nothing"


def test_a_tick_that_was_disturbed_says_nothing_of_others() -> None:
    assert after(1, 1, 1, 1, 8, 1).expected(1.0) == pytest.approx(1.0)


def test_sealing_counts_by_the_rows_that_are_due_in_the_ticks_that_seal() -> None:
    experience = after(1, 1, 1, 1, 1)
    experience.note(replace(TICK, seconds={"spark": 1.0, "tend": 4.0}, rewritten=1_000), "plan")
    assert experience.expected(1.0) == pytest.approx(1.0), "a tick that seals nothing takes what others took"
    assert experience.expected(1.0, 500) == pytest.approx(3.0)


def test_the_ticks_of_a_plan_count_once_they_make_nothing_anew() -> None:
    experience = after(1, 1, 2, 2, 2, 2)
    experience.note(replace(TICK, seconds={"spark": 50.0}), "another")
    assert experience.expected(1.0) == pytest.approx(2.0), "the first tick of a plan compiles"
    experience.note(replace(TICK, seconds={"spark": 3.0}), "another")
    assert experience.expected(1.0) == pytest.approx(3.0), "from then on the ticks of another plan say nothing"


def test_a_tick_without_a_price_teaches_nothing() -> None:
    experience = after(1, 1, 2)
    experience.note(replace(TICK, priced_seconds=None, seconds={"spark": 50.0}), "plan")
    experience.note(replace(TICK, seconds={"spark": 2.0, "wait": 50.0}), "plan")
    assert experience.expected(1.0) == pytest.approx(2.0)
