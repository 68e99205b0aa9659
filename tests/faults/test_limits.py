"""What cannot be merged, is too large or too old: more groups than a file may have, garbage on a full disk, a row from
1970. It harms nobody else, and nothing grows because of it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest

from tests.simulation.world import SECOND, Tick, World
from weft.backend.interface import BackendError
from weft.errors import StateError
from weft.segments import files
from weft.store import compact, history, seal
from weft.store.tend import LEASE


@pytest.fixture
def world(place: Path) -> Iterator[World]:
    made = World(place, Random(1), delay=0)
    assert made.engine
    yield made
    made.forget()


def tick(second: int, *keys: str) -> Tick:
    rows = ({"ts": second * SECOND + number, "k": key, "g": number, "v": 1} for number, key in enumerate(keys))
    return Tick(tuple(tuple(row.items()) for row in rows))


def failing(*_: object) -> None:
    raise BackendError("rows that cannot be merged")


def files_of(world: World) -> int:
    return sum(len(one.files) for one in world.engine.state_of("s").synopses.values())


def test_history_that_cannot_be_merged_is_left_out(world: World) -> None:
    """A query without keys begins with its first tick, and nobody else notices."""
    engine = world.engine
    fine = engine.register("SELECT k, sum(v) AS n FROM s GROUP BY window(ts, '2 seconds'), k", name="fine")
    world.run([tick(1, "a", "b"), tick(3, "a")])
    assert fine.result()["n"].to_pylist() == [1, 1]
    coarse = engine.register("SELECT sum(v) AS n FROM s GROUP BY window(ts, '2 seconds')", name="coarse")
    with patch.object(history, "_copy", failing):
        world.run([tick(5, "a", "b")])
    world.run([tick(7, "a"), tick(9, "a")])
    assert coarse.status == "running" and coarse.results()["n"].to_pylist() == [2, 1]
    assert fine.results()["n"].to_pylist() == [1] * 6


def test_slices_that_cannot_be_merged_expire_all_the_same(world: World) -> None:
    engine = world.engine
    for name, measure in {"sum": "sum(v)", "good": "count(*)"}.items():
        sql = f"SELECT k, {measure} AS n FROM s GROUP BY window(ts, '8 seconds', '2 seconds'), k"
        engine.register(sql, name=name, keep="4 seconds")
    seen = []
    for second in range(1, 80):
        with patch.object(seal, "_seal_or_merge", failing) if 9 <= second <= 40 else nullcontext():
            world.run([tick(second, "a")])
        seen.append(files_of(world))
    assert max(seen) > 10, "sealing never failed"
    # What is kept are twelve seconds of two nodes, sealed or not.
    assert max(seen) < 30 and max(seen[-20:]) < 10
    assert engine.query("good").result()["n"].to_pylist() == engine.query("sum").result()["n"].to_pylist() == [8]


def test_running_totals_hold_as_many_rows_as_there_are_groups_and_not_ticks(world: World) -> None:
    """With more groups than a file of slices may have rows, and ever more ticks."""
    world.engine.register("SELECT k, count(*) AS n FROM s GROUP BY k", name="q")
    groups, random, rows = 60, Random(1), []
    with patch.object(compact, "MAX_ROWS", 50):
        for second in range(150):
            world.run([tick(second, *(f"k{random.randrange(groups)}" for _ in range(10)))])
            rows.append(sum(one.rows for one in world.engine.state_of("s").synopses.values()))
    found = world.engine.query("q").result()
    assert found.num_rows == groups and sum(found["n"].to_pylist()) == 1500
    # The groups, three files of four ticks and three of one, and a little more before the next merge.
    assert max(rows) < 5 * groups and max(rows[-50:]) <= max(rows[50:100]) * 1.1


@contextmanager
def disk_of(folder: Path, size: int) -> Iterator[None]:
    """So many bytes of state fit, and no more."""
    usual = files._write_durably

    def write(target: Path, data: pa.Buffer) -> None:
        if used(folder) + data.size > size:
            raise OSError(errno.ENOSPC, "No space left on device")
        usual(target, data)

    with patch.object(files, "_write_durably", write):
        yield


def used(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_disk_full_of_garbage_is_freed_before_anything_is_written(world: World) -> None:
    segments = world.folder / "state" / "segments"
    sql = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k"
    world.engine.register(sql, name="q", keep="4 seconds")
    for second in range(30):
        world._do(tick(second, "a"))
    with disk_of(segments, used(segments)):
        with pytest.raises(StateError) as failure:
            world._do(tick(30, "a"))
        assert failure.value.code == "storage-full"
        world.now += LEASE + timedelta(seconds=1)
        for second in range(30, 36):
            world._do(tick(second, "a"))
    assert world.engine.query("q").result()["n"].to_pylist() == [2]


@pytest.mark.parametrize("keep", ["7 days", "forever"])
def test_one_row_from_long_ago_makes_no_list_of_all_windows_since(world: World, keep: str) -> None:
    sql = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '1 second'), k"
    query = world.engine.register(sql, name="q", keep=keep)
    now = 1_700_000_000
    world.run([Tick((*tick(0, "old").rows, *tick(now, "a").rows)), tick(now + 1, "a")])
    assert query.results()["k"].to_pylist() == (["old", "a"] if keep == "forever" else ["a"])
    assert query.result()["k"].to_pylist() == ["a"]
