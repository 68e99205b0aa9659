"""Processes that are killed, one after the other over one folder, and what the last of them must have found."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.life import DELAY, RETAIN, SMALL, Script
from tests.simulation.world import SECOND, World, expected
from weft.algebra.windows import micros
from weft.failpoint import KILLED
from weft.segments.rows import ON_TIME
from weft.sql.ddl import parse_duration

ROOT = Path(__file__).parents[2]
FORMAT_1 = ROOT / "tests" / "store" / "formats" / "1.sqlite.sql"
WORKER = [sys.executable, "-m", "tests.crash.worker"]
Report = dict[str, Any]
Live = Callable[[Path, str], int]


def report_of(folder: Path) -> Report:
    """What the process that came to the end found."""
    found: Report = json.loads((folder / "report").read_text())
    return found


def start(folder: Path, *options: str, trap: str = "", **environment: str) -> subprocess.Popen[bytes]:
    """A process of a life, in a group of its own; what it says goes to FOLDER/said."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(
            [*WORKER, str(folder), *options],
            cwd=ROOT,
            env={**os.environ, "FAILPOINT": trap, **environment},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the process with everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(folder: Path, trap: str = "", *options: str, seconds: float = 300, **environment: str) -> int:
    """A process of a life from its start to its end; the status that it ended with."""
    process = start(folder, *options, trap=trap, **environment)
    try:
        return process.wait(seconds)
    finally:
        kill_group(process)


def explained(folder: Path) -> str:
    """The last that the processes of a folder said, for the message of a failed test."""
    said = folder / "said"
    return said.read_text(errors="replace")[-3000:] if said.exists() else "nothing was said"


class Nursery:
    """Lives without Spark, each in a fresh process that has everything imported already."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def live(self, folder: Path, trap: str = "") -> int:
        """Live until the end, or until the trap; the status that the process ended with."""
        folder.mkdir(parents=True, exist_ok=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{folder} {trap or '-'}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery(script: str = "small") -> Iterator[Nursery]:
    process = subprocess.Popen(
        [*WORKER, "--nursery", "--script", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Nursery(process)
    finally:
        process.kill()
        process.communicate()


def age(folder: Path) -> None:
    """Give the folder an empty catalog of format 1, for the first process to migrate."""
    (folder / "state").mkdir(parents=True)
    connection = sqlite3.connect(folder / "state" / "catalog.sqlite")
    connection.executescript(FORMAT_1.read_text(encoding="utf-8"))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        if name != "meta" and not name.startswith("sqlite_"):
            connection.execute(f"DELETE FROM {name}")
    connection.commit()
    connection.close()


def undisturbed(script: str, folder: Path) -> str:
    """The hash of a life without Spark, where nobody can be killed and no executor be lost."""
    with nursery(script) as children:
        assert children.live(folder) == 0
    return str(report_of(folder)["hash"])


def run_chain(live: Live, root: Path, traps: Iterable[str], want: str) -> int:
    """Each trap kills the process that recovers from the one before; how many lives that took, all with one answer.

    A life that ends before its next trap is passed is compared with what is wanted, and the trap gets a new life.
    """
    waiting = list(traps)
    lives = 0
    while waiting:
        folder, fresh = root / str(lives), True
        lives += 1
        if waiting[0].startswith("catalog-migrate"):
            age(folder)
        while True:
            status = live(folder, waiting[0] if waiting else "")
            if status == 0:
                break
            assert status == KILLED and waiting, f"{waiting[:1]}: {explained(folder)}"
            waiting.pop(0)
            fresh = False
        assert not fresh, f"{waiting[0]} kills nobody"
        check(report_of(folder), want)
    return lives


def check(report: Report, want: str) -> None:
    """The answers of an undisturbed life, and no file too few or too many."""
    assert report["files"] == {"unnamed": [], "missing": [], "garbage": []}
    assert report["hash"] == want


def check_answers(report: Report, script: Script = SMALL) -> None:
    """Every query against the rule of late rows, row by row."""
    world = World(Path(), Random(0), DELAY)
    for number in range(script.ticks):
        alive = [row for row in script.arriving(number) if row["ts"] is not None]
        world.arrived.append((number, world.watermark(), alive))
    assert report["watermark"] == world.watermark()
    oldest = report["watermark"] - RETAIN * SECOND
    marks = [(number, before, row) for number, before, rows in world.arrived for row in rows if row["ts"] >= oldest]
    assert report["kept"] == sorted(
        [row["ts"], number, before if before and row["ts"] < before else ON_TIME, *(row[name] for name in "kgvd")]
        for number, before, row in marks
    )
    for name, query in script.queries().items():
        said = report["queries"][name]
        want = expected(world, query, said["complete_from"], report["watermark"])
        if query.window and query.keep != "forever":
            oldest = report["watermark"] - micros(parse_duration(query.keep))
            want = {key: value for key, value in want.items() if key[0] > oldest}
        rows = [dict(zip(said["columns"], row, strict=True)) for row in said["rows"]]
        keys = (*(["upto"] if query.window else []), *query.keys)
        found = {tuple(row[name] for name in keys): tuple(row[name] for name in query.measures) for row in rows}
        assert len(found) == len(rows) and found, name
        assert found == want, name


def moments(folder: Path, point: str, pid: int | None = None) -> list[float]:
    """When a process, or any of them, passed a point that is noted."""
    notes = folder / "commits"
    lines = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    return [float(line[2]) for line in lines if line[1] == point and pid in (None, int(line[0]))]


def wait_for(condition: Any, seconds: float, what: str) -> Any:
    """The first value that is not false; fails after some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")
