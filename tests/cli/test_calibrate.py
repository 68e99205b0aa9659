"""`weft calibrate`: a process of its own, since it starts Spark and ends it again; it keeps what it measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import weft.testing
from tests.cli.command import make_state, refuse
from weft.engine import Engine
from weft.plan.prices import NAMES, Costs


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_prices_are_measured_and_kept_with_the_state(tmp_path: Path) -> None:
    state = make_state(tmp_path / "state")
    done = subprocess.run(
        [sys.executable, "-m", "weft.cli", "calibrate", "--state", str(state), "--scale", "0.02", "--json"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["costs"]) == set(NAMES) and found["error"] < 3
    assert found["costs"]["job"] > 0 and all(price >= 0 for price in found["costs"].values())
    with Engine(state) as engine:
        assert weft.testing.costs(engine, "packets") == Costs(**found["costs"])


def test_there_must_be_a_state(tmp_path: Path) -> None:
    refuse("calibrate", "--state", tmp_path / "none", code="no-state")
