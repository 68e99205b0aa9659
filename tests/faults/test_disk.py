"""T11: a disk that is full or fails, at any write: loud, readable all the while, and nothing is lost afterwards."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import event

from tests.faults.scene import Scene, lived, ticks
from tests.few import few, few_combinations
from weft import failpoint
from weft.errors import StateError
from weft.store.tend import LEASE

ROOT = Path(__file__).parents[2]
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
    """The cause is gone: the batch that failed runs again, and more; answers are right and nothing is left over."""
    orphans = world.unknown_files()
    world.tick(*ticks(failed, 1), failed)
    # A batch that was committed before it failed is not run again: then the first of these finds the orphans.
    for one in ticks(failed + 1, 2 if orphans & world.unknown_files() else 1):
        world.now += LEASE + timedelta(seconds=1)
        world.tick(one)
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


# A life takes two seconds: `make test` has every kind of write with every error, `make stress` all of them.
@pytest.mark.parametrize(("point", "n"), few_combinations(WRITES, range(1, 11), every=5))
def test_a_failing_write_stops_the_tick_and_loses_nothing(world: Scene, point: str, n: int) -> None:
    disturb(world, point, [errno.ENOSPC, errno.EIO][n % 2], n)


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, 51))
@pytest.mark.parametrize("error", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("point", WRITES)
def test_every_write_may_fail_with_any_error(world: Scene, point: str, error: int, n: int) -> None:
    disturb(world, point, error, n)


@contextmanager
def failing_reads(n: int) -> Iterator[None]:
    """The disk gives no segment file from the n-th on."""
    usual, count = Path.open, itertools.count(1)

    def opened(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if path.suffix in (".parquet", ".arrows") and mode == "rb" and next(count) >= n:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return usual(path, mode, *rest, **named)

    with patch.object(Path, "open", opened):
        yield


@pytest.mark.parametrize("n", few(range(1, 5), 2))
def test_a_failing_read_is_an_error_for_who_needs_the_file_and_stops_the_tick(world: Scene, n: int) -> None:
    """An engine that was just opened has nothing in memory: readers and the next ticks go to the disk."""
    with failing_reads(n), pytest.raises(StateError) as unread:
        world.check()
    assert unread.value.code == "storage-failed" and "Input/output error" in unread.value.message
    world.forget()
    failed = BEFORE
    with failing_reads(n), pytest.raises(StateError) as stopped:
        for failed in range(BEFORE, BEFORE + 20):
            world.tick(*ticks(failed, 1))
    assert stopped.value.code == "storage-failed"
    world.check()
    world.check_elsewhere()
    go_on(world, failed)


class FullCatalog:
    """Lets the catalog's file grow by so many pages and no more, on every connection, until it is mended."""

    def __init__(self, world: Scene, more: int) -> None:
        with closing(sqlite3.connect(world.folder / "state" / "catalog.sqlite")) as raw:
            raw.execute("VACUUM")  # else the next rows would go where others were
            self._limit = raw.execute("PRAGMA page_count").fetchone()[0] + more
        event.listen(world.engine.catalog._engine, "checkout", self._set)

    def _set(self, raw: sqlite3.Connection, *_: object) -> None:
        raw.execute(f"PRAGMA max_page_count = {self._limit}")

    def mend(self) -> None:
        self._limit = 2**30


@pytest.mark.parametrize("pages", few(range(21), (0, 3)))
def test_a_full_catalog_stops_the_tick_and_loses_nothing(world: Scene, pages: int) -> None:
    """SQLite itself says that it is full, at whichever transaction of a tick needs the page that is not there."""
    catalog = FullCatalog(world, pages)
    failed = BEFORE
    with pytest.raises(StateError) as failure:
        for failed in range(BEFORE, BEFORE + 40):
            world.tick(*ticks(failed, 1))
    assert failure.value.code == "catalog-full"
    world.check()
    world.check_elsewhere()
    catalog.mend()
    go_on(world, failed)


def test_a_full_catalog_takes_no_query_in_part(world: Scene) -> None:
    """A registration that does not fit is refused whole, and is possible once there is space again."""
    catalog = FullCatalog(world, 0)
    wanted = {f"q{place}": f"SELECT g, sum(v) AS total FROM s WHERE k > '{place * 50}' GROUP BY g" for place in range(99)}
    with pytest.raises(StateError) as failure:
        world.engine.register_all(wanted)
    assert failure.value.code == "catalog-full"
    world.check()
    world.check_elsewhere()
    catalog.mend()
    world.engine.register_all(wanted)
    assert len(world.engine.queries()) == len(world.queries) + len(wanted)


def in_a_process(what: str) -> list[str]:
    """How the ticks of a process of its own went; its folder is one that anybody may enter."""
    with tempfile.TemporaryDirectory(prefix="weft-limits-") as folder:
        Path(folder).chmod(0o755)
        command = [sys.executable, "-m", "tests.faults.limits", what, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_process_without_file_handles_stops_and_goes_on() -> None:
    """With 0 to 9 handles to spare: the first tick cannot write, nor can an engine open; with some more all goes well."""
    first, second, *rest = in_a_process("files")
    assert first == "storage-failed/catalog-unreadable"
    assert second in ("done/done", "done/catalog-unreadable")
    assert set(rest) == {"done/done", "done"}


def test_a_folder_that_may_not_be_written_stops_the_tick_and_stays_readable() -> None:
    """As a user without rights, whoever runs the tests."""
    assert in_a_process("permissions") == ["storage-failed", "done", "done"]


# The shell that mounts a small disk also takes it away, as soon as its input ends: when the test is done or its process is killed.
SMALL_DISK = 'mount -t tmpfs -o size=3m tmpfs "$0" && echo mounted && cat; umount --lazy "$0"; rmdir "$0"'


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A real file system of 3 MB, where the tests may mount one; outside of pytest's folders, which it removes at every start."""
    folder = tempfile.mkdtemp(prefix="weft-small-disk-")
    with subprocess.Popen(["sh", "-c", SMALL_DISK, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, start_new_session=True) as shell:
        if not shell.stdout or shell.stdout.readline() != b"mounted\n":
            pytest.skip("no permission to mount a file system")
        yield Path(folder)


def fill(disk: Path, spare: int) -> Path:
    """A file that leaves so many bytes free."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    filler.write_bytes(b"\0" * max(0, free - spare))
    return filler


@pytest.mark.parametrize("spare", few((0, 50_000, 150_000), 2))
def test_a_real_disk_that_is_full_stops_the_tick_and_loses_nothing(before: Scene, small_disk: Path, spare: int) -> None:
    """The operating system says so, of a file or of the catalog, in whatever they were about."""
    world = before.copy(small_disk)
    failed = BEFORE
    try:
        world.check()
        filler = fill(small_disk, spare)
        with pytest.raises(StateError) as failure:
            for failed in range(BEFORE, BEFORE + 40):
                world.tick(*ticks(failed, 1))
        assert failure.value.code in ("storage-full", "catalog-full"), failure.value
        world.check()
        world.check_elsewhere()
        filler.unlink()
        go_on(world, failed)
    finally:
        world.forget()
