"""T2: kill -9 at any time, of the whole process, of its Python or of its Java alone, until everything is processed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import weft
from tests.crash.chain import check, explained, kill_group, moments, report_of, start, undisturbed, wait_for
from tests.crash.life import SCRIPTS, Life, no_lease
from tests.crash.worker import STREAM_FAILED
from tests.few import few

pytestmark = pytest.mark.spark
# Whoever dies takes Spark along: a dead Python leaves a Java that ends by itself, a dead Java a Python that must.
TARGETS = ("group", "java", "python")
LATEST, LATEST_AT_WORK = 10.0, 3.0
# Who is killed, and whether at its work or at any time. Every kill costs a start of Java, so `make test` has the first of
# these alone, which must end a Python that works, in a short life; `make stress` has all kinds, also in large lives.
TWO = (("java", True), ("python", False))


def many(kills: int) -> tuple[tuple[str, bool], ...]:
    """So many kills, of every target in turn, every second one at work."""
    return tuple((TARGETS[left % len(TARGETS)], left % 2 == 0) for left in range(kills, 0, -1))


@pytest.fixture
def want(script: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The hash of a life without kills."""
    return request.getfixturevalue("large_life") if script == "large" else undisturbed(script, tmp_path / "undisturbed")


@pytest.fixture(scope="module")
def large_life(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> str:
    """The hash of a large life without kills, which needs Spark."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with no_lease(), weft.Engine(folder / "state", spark=spark) as engine:
        life = Life(folder, SCRIPTS["large"], engine)
        life.live(plain=False)
        report = life.report()
    check(report, report["hash"])
    assert len(report["queries"]) == 200 and report["totals"]["rows"] == 100_000
    assert all(one["status"] == "running" and one["rows"] for one in report["queries"].values())
    return str(report["hash"])


def java_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The Java that a process started, if it has come so far."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and (place / "comm").read_text().strip() == "java":
                found.append(int(place.name))
    return found


def kill(process: subprocess.Popen[bytes], target: str) -> None:
    """End what is meant; where there is no Java yet, the whole process."""
    java = java_of(process)
    if target == "java" and java:
        os.kill(java[0], signal.SIGKILL)
    elif target == "python":
        process.kill()
    else:
        kill_group(process)


def statuses(target: str, killed: bool, working: bool) -> tuple[int, ...]:
    """With which status a process may end. A Python whose Java is gone has to end by itself, and read until then."""
    if not killed:
        return (0,)
    if target != "java":
        return (-signal.SIGKILL,)
    return (STREAM_FAILED,) if working else (-signal.SIGKILL, 1, STREAM_FAILED)


class Killer:
    """Starts one process after the other, kills the first of them, and notes how long each took to its first commit."""

    def __init__(self, script: str, kills: Sequence[tuple[str, bool]], seed: int) -> None:
        self.left, self.recovered = list(kills), list[float]()
        self._script = script
        self._chance = Random(seed)
        self._started: list[subprocess.Popen[bytes]] = []

    def live(self, folder: Path, want: str) -> None:
        """One life to its end."""
        while self._process(folder) != 0:
            pass
        check(report_of(folder), want)

    def _process(self, folder: Path) -> int:
        begin = time.time()
        process = start(folder, "--script", self._script)
        self._started.append(process)
        target, working = self.left[0] if self.left else ("nobody", False)
        killed = bool(self.left) and self._kill_later(folder, process, target, working)
        status = process.wait(300)
        self.recovered += [moment - begin for moment in moments(folder, "commit-after", process.pid)[:1]]
        assert status in statuses(target, killed, working), f"{target}, {status}: {explained(folder)}"
        return status

    def _kill_later(self, folder: Path, process: subprocess.Popen[bytes], target: str, working: bool) -> bool:
        if not working:
            time.sleep(self._chance.uniform(0, LATEST))
        else:
            # So that a slow machine, too, is killed at its work and not only on its way there.
            wait_for(lambda: moments(folder, "spark-before", process.pid) or process.poll() is not None, 300, "a job")
            # The first job of a Java takes its time: this one has no Java left, and has to say so.
            time.sleep(0.0 if target == "java" else self._chance.uniform(0, LATEST_AT_WORK))
        if process.poll() is not None:
            return False
        self.left.pop(0)
        kill(process, target)
        return True

    def clear(self) -> None:
        """A Java that survived its Python would have ended by itself by now, or does so here."""
        for process in self._started:
            kill_group(process)


@pytest.mark.parametrize(
    ("script", "kills"),
    few(
        (
            pytest.param("short", TWO[:1], marks=pytest.mark.timeout(1800), id="1"),
            pytest.param("small", TWO, marks=pytest.mark.timeout(1800), id="2"),
            pytest.param("large", many(5), marks=pytest.mark.timeout(1800), id="5"),
            pytest.param("large", many(100), marks=pytest.mark.timeout(7200), id="100"),
        ),
        1,
    ),
)
def test_kills_at_random_times_change_nothing(
    script: str, kills: Sequence[tuple[str, bool]], want: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("WEFT_SEED") or time.time_ns() % 1_000_000)
    tell(f"WEFT_SEED={seed}")
    killer, lives = Killer(script, kills, seed), 0
    try:
        while killer.left:
            killer.live(tmp_path / str(lives), want)
            lives += 1
    finally:
        killer.clear()
    recovered = sorted(killer.recovered)
    slowest = recovered[max(0, int(len(recovered) * 0.95) - 1)]
    tell(
        f"{len(kills)} kills in {lives} lives; from restart to first commit p95 {slowest:.1f} s, longest {recovered[-1]:.1f} s"
    )
    # A few say nothing of speed, least of all on a machine that has other things to do.
    assert slowest <= 60 or len(kills) < 100
