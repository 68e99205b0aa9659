"""One world for a test, gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.simulation.world import World


@pytest.fixture
def world(place: Path) -> Iterator[World]:
    made = World(place, Random(1), delay=0)
    yield made
    made.forget()
