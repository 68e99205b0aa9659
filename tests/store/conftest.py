"""Catalogs on SQLite and on a real PostgreSQL, and folders on the local disk and behind Hadoop.

Tests marked `spark` start a JVM: leave them out with -m "not spark".
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from weft.segments.files import Files, LocalFiles
from weft.segments.segment import SegmentRow
from weft.store.catalog import Catalog, sqlite_url


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: starts a JVM")


class ManualClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, step: timedelta) -> None:
        self.now += step


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "state" / "catalog.db")
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def catalog(url: str, clock: ManualClock) -> Iterator[Catalog]:
    opened = Catalog(url, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def segment() -> Callable[..., SegmentRow]:
    def make(path: str, **columns: Any) -> SegmentRow:
        row: dict[str, Any] = {
            "node": "n1",
            "layout": "l1",
            "kind": "tick",
            "rank": 0,
            "batch_from": 1,
            "batch_to": 1,
            "time_from": -5,
            "time_to": 2**62,
            "rows": 3,
            "bytes": 100,
            "checksum": "blake2b:00",
        }
        return SegmentRow(path=path, **{**row, **columns})

    return make


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a script with arguments in a process of its own; what it prints and its errors are one text."""
    started: list[subprocess.Popen[str]] = []
    here = Path(__file__).parent
    paths = [str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]

    def start(script: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def session(spark: Any) -> Any:
    """The one Spark session of all tests."""
    return spark


@pytest.fixture(params=["local", pytest.param("hadoop", marks=pytest.mark.spark)])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """A folder `segments` under tmp_path, through each of the two implementations."""
    root = tmp_path / "segments"
    if request.param == "local":
        return LocalFiles(root)
    from weft.segments.hadoop import HadoopFiles

    return HadoopFiles(request.getfixturevalue("session"), root.as_uri())
