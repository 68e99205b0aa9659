"""T11: a disk that is full or fails, at any write: loud, readable all the while, and nothing is lost afterwards."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from tests.faults.scene import Scene, lived, ticks
from weft import failpoint
from weft.errors import StateError
from weft.store.tend import LEASE

WRITES = ("file-create", "file-write", "file-sync", "file-rename")
CODES = {errno.ENOSPC: "storage-full", errno.EIO: "storage-failed"}
# By then a tick finishes windows and merges files, so that some writes fail after the tick itself is committed.
BEFORE = 8


@dataclass
class FailingDisk:
    """Fails at the n-th passage of a point, and from then on until it is mended."""

    point: str
    error: int
    left: int
    failures: int = 0

    def passage(self, name: str) -> None:
        if name == self.point:
            self.left -= 1
            if self.left <= 0:
                self.failures += 1
                raise OSError(self.error, os.strerror(self.error))


@contextmanager
def failing(point: str, error: int, n: int) -> Iterator[FailingDisk]:
    disk = FailingDisk(point, error, n)
    failpoint.watch(disk.passage)
    try:
        yield disk
    finally:
        failpoint.watch(None)


def go_on(world: Scene, failed: int) -> None:
    """The cause is gone: the batch that failed runs again, and one more; answers are right and nothing is left over."""
    orphans = world.unknown_files()
    world.tick(*ticks(failed, 1), failed)
    world.now += LEASE + timedelta(seconds=1)
    world.tick(*ticks(failed + 1, 1))
    world.check()
    assert world.unknown_files() == set()
    assert not orphans & world.files_on_disk()


@pytest.fixture(scope="module")
def before(quick_folder: Path) -> Scene:
    return lived(quick_folder / "before", BEFORE)


@pytest.fixture
def world(before: Scene, place: Path) -> Iterator[Scene]:
    """A copy of it for one test."""
    made = before.copy(place)
    yield made
    made.forget()


def disturb(world: Scene, point: str, error: int, n: int) -> None:
    """A life in which the n-th passage of a point fails, and all that follow, until the tick has given up."""
    failed, passed = BEFORE, 0
    with failing(point, error, n) as disk:
        while disk.left > 0:
            failed = len(world.arrived)
            try:
                world.tick(*ticks(failed, 1))
            except StateError as failure:
                assert failure.code == CODES[error]
                break
            passed += 1
    assert disk.failures == 1, f"after {passed} ticks: the first failure must end the tick, and only that"
    world.check()
    world.check_elsewhere()
    go_on(world, failed)


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("point", WRITES)
def test_a_failing_write_stops_the_tick_and_loses_nothing(world: Scene, point: str, n: int) -> None:
    disturb(world, point, [errno.ENOSPC, errno.EIO][n % 2], n)


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, 51))
@pytest.mark.parametrize("error", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("point", WRITES)
def test_every_write_may_fail_with_any_error(world: Scene, point: str, error: int, n: int) -> None:
    disturb(world, point, error, n)
