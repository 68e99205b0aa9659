"""T4: executors die in the middle of a batch, one or all of them; Spark starts new ones, and no answer changes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pyspark
import pytest

from tests.crash.chain import check, explained, kill_group, moments, report_of, start, undisturbed, wait_for

pytestmark = pytest.mark.spark
OPTIONS = (
    *("--setting", "spark.master=local-cluster[2,1,600]"),
    *("--setting", "spark.executor.memory=600m"),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A SPARK_HOME of one's own: workers write into it, and should not into the installed package."""
    made = tmp_path / "spark"
    made.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (made / entry.name).symlink_to(entry)
    return made


def executors_of(process: subprocess.Popen[bytes]) -> set[int]:
    """The executors of a process: they are in its group, and say what they are."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ProcessLookupError):
            if b"CoarseGrainedExecutorBackend" in (place / "cmdline").read_bytes():
                if os.getpgid(int(place.name)) == process.pid:
                    found.add(int(place.name))
    return found


def kill_executors(process: subprocess.Popen[bytes], folder: Path, job: int, wait: float, *, every: bool) -> bool:
    """Kill one executor, or every one, a moment after a job began; whether that was before its tick was committed."""
    wait_for(lambda: len(moments(folder, "spark-before")) > job or process.poll() is not None, 120, f"job {job}")
    time.sleep(wait)
    wait_for(lambda: executors_of(process) or process.poll() is not None, 60, "an executor")
    for executor in sorted(executors_of(process))[: None if every else 1]:
        with suppress(ProcessLookupError):
            os.kill(executor, signal.SIGKILL)
    return len(moments(folder, "commit-after")) <= job


def live_with_losses(folder: Path, home: Path, script: str, losses: list[tuple[int, float, bool]]) -> list[bool]:
    """A life during which executors die: at which job, how long after its beginning, and whether all of them."""
    process = start(folder, "--script", script, *OPTIONS, SPARK_HOME=str(home))
    try:
        inside = [kill_executors(process, folder, job, wait, every=every) for job, wait, every in losses]
        assert process.wait(500) == 0, explained(folder)
    finally:
        kill_group(process)
    return inside


# Four starts of Java; in `make test` an executor is lost in test_hazards.py.
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_losing_one_executor_and_then_all_of_them_changes_nothing(home: Path, tmp_path: Path) -> None:
    inside = live_with_losses(tmp_path / "life", home, "short", [(0, 0.3, False), (2, 0.0, True)])
    assert inside == [True, True], "a batch was over before its executors were killed"
    check(report_of(tmp_path / "life"), undisturbed("short", tmp_path / "undisturbed"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_losing_executors_again_and_again_changes_nothing(
    seed: int, home: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    chance = Random(f"executors {seed}")
    losses = [(job, chance.uniform(0, 0.4), chance.random() < 0.5) for job in range(0, 12, 3)]
    inside = live_with_losses(tmp_path / "life", home, "small", losses)
    tell(f"seed {seed}: {losses}, {sum(inside)} inside a batch")
    check(report_of(tmp_path / "life"), undisturbed("small", tmp_path / "undisturbed"))
