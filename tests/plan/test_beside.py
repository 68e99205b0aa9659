"""Work beside a tick: threads hand over soon while it runs, and as before afterwards."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from weft.optimize.beside import SWITCH_SECONDS, handing_over_soon
from weft.optimize.optimizer import Optimizer
from weft.optimize.policy import Policy
from weft.plan.cost import Costs
from weft.plan.facts import Facts


def test_the_interval_is_as_before_when_the_last_work_is_done() -> None:
    before = sys.getswitchinterval()
    with handing_over_soon():
        with handing_over_soon():
            assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert sys.getswitchinterval() == before


def test_an_interval_that_is_shorter_stays() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS / 2)
    short = sys.getswitchinterval()
    try:
        with handing_over_soon():
            assert sys.getswitchinterval() == short
        assert sys.getswitchinterval() == short
    finally:
        sys.setswitchinterval(before)


def test_a_search_beside_ticks_hands_over_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick calls out of Python thousands of times, and must not wait 5 ms after each call."""
    done = threading.Event()

    def compute(*_: object) -> None:
        while not done.is_set():
            sum(range(1000))

    optimizer = Optimizer("s", Policy(), Costs())
    monkeypatch.setattr(optimizer, "_run", compute)
    optimizer._search_beside({"q": None}, Facts())  # type: ignore[dict-item]
    try:
        while sys.getswitchinterval() > 2 * SWITCH_SECONDS:
            assert optimizer._thread is not None and optimizer._thread.is_alive()
            time.sleep(0.001)
    finally:
        done.set()
        optimizer.wait()
    assert sys.getswitchinterval() > 2 * SWITCH_SECONDS
