"""A state folder to look at, made without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import make_state


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return make_state(tmp_path / "state")
