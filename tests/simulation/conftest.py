"""One world for a test, gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.simulation.world import World
from weft.optimize.planner import Planner


@pytest.fixture(autouse=True)
def fill_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is an exception in the thread of a tick; what kept rows are counted in goes on beside it."""
    monkeypatch.setattr(Planner, "begin_fillings", lambda planner: None)


@pytest.fixture
def world(place: Path) -> Iterator[World]:
    made = World(place, Random(1), delay=0)
    yield made
    made.forget()
