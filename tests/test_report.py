"""What a test tells stands at the end of the report, of one that passes too, and of one that ran in another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LINE = "WEFT_SEED=17, and nothing went wrong"


def test_that_tells(tell: Callable[[str], None]) -> None:
    tell(LINE)


@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_is_told_is_shown_once(processes: str) -> None:
    test = "tests/test_report.py::test_that_tells"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", processes, test]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(LINE) == 1 and f"{test}: {LINE}" in done.stdout
