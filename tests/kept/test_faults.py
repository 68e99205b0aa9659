"""What goes wrong while rows are written: nothing is lost, nothing is there twice, and no file is left over."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.kept.rows import SQL, add, at, kept_table, row
from weft import Engine, failpoint
from weft.errors import StateError
from weft.passes.keeping import Kept
from weft.segments.files import LocalFiles
from weft.segments.row_files import FAN_OUT
from weft.spark.batch import BatchOutput
from weft.store import tend
from weft.testing import feed, start_anew
from weft.testing.fed import FedBatch


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "state") as engine:
        add(engine, "forever")
        engine.register(SQL, name="q")
        yield engine


@contextmanager
def full_disk(point: str, passage: int) -> Iterator[None]:
    """No space is left from the so-manieth passage of a point on."""
    left = passage

    def passed(name: str) -> None:
        nonlocal left
        left -= name == point
        if name == point and left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    failpoint.watch(passed)
    try:
        yield
    finally:
        failpoint.watch(None)


def files_of_rows(engine: Engine) -> set[str]:
    """All files of rows on the disk, half-written ones too."""
    assert isinstance(engine.files, LocalFiles)
    return {path for path in engine.files._walk(engine.files._root) if "rows_s" in path}


def check(engine: Engine, seconds: int) -> None:
    assert kept_table(engine)["ts"].to_pylist() == [at(second) for second in range(seconds)]
    assert sum(engine.query("q").results()["n"].to_pylist()) == (seconds - 1) // 10 * 10


@pytest.mark.parametrize("point", ["file-create", "file-write", "file-sync", "file-rename"])
def test_a_full_disk_loses_no_row(engine: Engine, point: str) -> None:
    for second in range(FAN_OUT - 1):
        feed(engine, "s", [row(second)])
    # The rows of the tick, its partial rows, and the file that eight files of rows are merged into.
    for passage in (1, 2):
        with full_disk(point, passage), pytest.raises(StateError) as refused:
            feed(engine, "s", [row(FAN_OUT - 1)])
        assert refused.value.code == "storage-full"
        assert engine.rows("s").table().num_rows == FAN_OUT - 1
    with full_disk(point, 3), pytest.raises(StateError):
        feed(engine, "s", [row(FAN_OUT - 1)])
    assert engine.rows("s").table().num_rows == FAN_OUT, "it was committed before its files were merged"
    with patch.object(tend, "LEASE", timedelta(0)):
        for second in range(FAN_OUT, 20):
            feed(engine, "s", [row(second)])
        feed(engine, "s", [])
    check(engine, 20)
    assert files_of_rows(engine) == {file.path for file in engine.state_of("s").kept.files}


def test_files_that_nobody_names_go_when_the_stream_starts_anew(engine: Engine) -> None:
    feed(engine, "s", [row(0)])
    (file,) = engine.state_of("s").kept.files
    stray = file.path.replace("rows-0-", "rows-1-")
    Path(engine.files.uri(stray)).write_bytes(b"of a task that ran twice")
    half = Path(engine.files.uri("s/rows_s")) / ".rows-1-x.parquet.0123456789abcdef0123456789abcdef.tmp"
    half.write_bytes(b"half")
    start_anew(engine, "s")
    with patch.object(tend, "LEASE", timedelta(0)):
        feed(engine, "s", [row(1)])
        feed(engine, "s", [row(2)])
    assert files_of_rows(engine) == {file.path for file in engine.state_of("s").kept.files}


def test_files_of_a_task_that_ran_again_go_with_the_next_tick(engine: Engine) -> None:
    """The stream need not start anew for it: it may run for months."""
    feed(engine, "s", [row(0)])
    stray = Path(engine.files.uri("s/rows_s/rows-1-stray.parquet"))
    real = FedBatch.aggregate

    def again(batch: FedBatch, level0: Any) -> BatchOutput:
        from dataclasses import replace

        output = real(batch, level0)
        assert output.kept is not None
        stray.write_bytes(b"of a task that ran twice")
        return replace(output, kept=Kept(output.kept.files, again=True))

    with patch.object(FedBatch, "aggregate", again):
        feed(engine, "s", [row(1)])
    assert stray.exists()
    with patch.object(tend, "LEASE", timedelta(0)):
        feed(engine, "s", [row(2)])
        feed(engine, "s", [row(3)])
    assert not stray.exists()
    assert engine.rows("s").table().num_rows == 4


def test_a_query_that_fails_on_a_row_leaves_the_row_kept(engine: Engine) -> None:
    """It is stopped, alone; the attempt with it may have written files, and these go too."""
    engine.register("SELECT sum(100 / v) AS x FROM s", name="divides")
    feed(engine, "s", [row(0, v=1), row(1, v=0)])
    assert engine.query("divides").status == "failed"
    assert kept_table(engine)["v"].to_pylist() == [1, 0]
    with patch.object(tend, "LEASE", timedelta(0)):
        feed(engine, "s", [row(2)])
        feed(engine, "s", [row(3)])
    assert files_of_rows(engine) == {file.path for file in engine.state_of("s").kept.files}
