"""Lives of a stream that keeps its rows, with a crash at any operation: no row is lost, none is there twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from shutil import rmtree
from unittest.mock import patch

import pyarrow as pa
import pytest

from tests.few import few
from tests.simulation.test_simulation import OF_ROWS, SHIFT
from tests.simulation.world import SECOND, Tick, World, random_steps
from weft.segments.kept import LATE, MOMENT, TICK
from weft.segments.rows import ON_TIME
from weft.segments.segment import EARLIEST
from weft.sql.ddl import parse_duration
from weft.store import tend, tend_rows
from weft.store.kept import node_of_rows

RETAINS = ("9 seconds", "40 seconds", "3 minutes", "forever")


@pytest.fixture(autouse=True)
def early() -> Iterator[None]:
    """With so few ticks, files of rows would hardly ever be merged or deleted."""
    with patch.object(tend_rows, "FAN_OUT", 2), patch.object(tend, "LEASE", timedelta(0)):
        yield


def kept_rows(world: World) -> list[tuple[object, ...]]:
    state, files = world.engine.state_of("s"), world.engine.files
    tables = [files.read_table(file.path, file.checksum) for file in state.kept.files]
    rows = pa.concat_tables(tables).to_pylist() if tables else []
    return sorted(tuple(row[name] for name in (TICK, MOMENT, LATE, "k", "g", "v")) for row in rows)


def arrived_rows(world: World) -> list[tuple[object, ...]]:
    return sorted(
        (number, row["ts"], mark if mark is not None and row["ts"] < mark else ON_TIME, row["k"], row["g"], row["v"])
        for number, mark, rows in world.arrived
        for row in rows
    )


def check(world: World, *, tended: bool) -> None:
    """All rows that must be kept are there, once; rows that are too old may be there or not."""
    state = world.engine.state_of("s")
    kept, arrived = kept_rows(world), arrived_rows(world)
    assert len(set(arrived)) < len(arrived) or set(kept) <= set(arrived)
    assert [row for row in kept if row[1] >= state.kept.since] == [
        row for row in arrived if row[1] >= state.kept.since  # type: ignore[operator]
    ]
    assert all(kept.count(row) <= arrived.count(row) for row in kept)
    if state.batch_id < 0:
        assert not kept
    elif world.retain == "forever":
        assert state.kept.since == EARLIEST
    elif state.watermark is not None:
        span = parse_duration(world.retain) // timedelta(microseconds=1)
        assert state.kept.since <= state.watermark - span
        # Nothing is kept for much longer than that; a tick that died after its commit was not tended.
        oldest = state.watermark - span - max(span, world.delay * SECOND) // 4
        assert not tended or all(file.time_to > oldest for file in state.kept.files)


@pytest.mark.parametrize("seed", few(range(60), 8))
def test_no_row_is_lost_and_none_doubled(seed: int, place: Path, tell: Callable[[str], None]) -> None:
    random = Random(f"rows {SHIFT + seed}")
    tell(f"seed {SHIFT + seed}")
    doomed = frozenset({*OF_ROWS, "commit-inside", "file-rename"}) if seed % 2 else frozenset()
    world = World(place, random, random.choice([0, 5, 30]), crash_rate=0.02, doomed=doomed)
    world.retain = RETAINS[seed % len(RETAINS)]
    for step in random_steps(random, random.randint(5, 10)):
        crashes = world.crashes
        world.run([step])
        check(world, tended=isinstance(step, Tick) and crashes == world.crashes)
    files = {path for path in world.files_on_disk() if node_of_rows("s") in path}
    with world.engine.catalog.read() as catalog:
        # What a crash left goes when the stream starts again, at the latest.
        known = world.files_in_catalog() | set(catalog.garbage())
    assert not {path for path in files if "/." not in path} - known or world.crashes
    world.forget()
    rmtree(place, ignore_errors=True)
