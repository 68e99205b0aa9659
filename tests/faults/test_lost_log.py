"""The catalog's write-ahead log is damaged or lost: SQLite goes back, without a word, to what was committed before.

What is read then is the right answer of an earlier moment, or a refusal; a tick that was lost is missed at the next.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.faults.scene import QUERIES, Scene, ticks
from tests.few import few
from tests.simulation.test_simulation import compare
from tests.simulation.world import Query, Window
from weft.errors import StateError

TICKS, SETTLED = 8, 4
HEADER, FRAME = 32, 24 + 4096
LAST = Query("last", ("g",), ("n",), Window(4, 2), "forever", eager=False)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


SPOILT: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda log: None,
    "empty": lambda log: b"",
    "all zeros": lambda log: bytes(len(log)),
    "half": lambda log: log[: len(log) // 2],
    "without its last frame": lambda log: log[:-FRAME],
    "header flipped": lambda log: flipped(log, 16),
    "first frame flipped": lambda log: flipped(log, HEADER + 24 + 100),
    "first frame's sum flipped": lambda log: flipped(log, HEADER + 16),
    "last frame flipped": lambda log: flipped(log, len(log) - 2000),
    **{f"flipped at {tenth} tenths": lambda log, tenth=tenth: flipped(log, len(log) * tenth // 10)
       for tenth in range(1, 10)},
}


@pytest.fixture(scope="module", params=["young", "settled"])
def alive(quick_folder: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A life whose engine is still open, so that its log is there; a settled one has begun a new log in between."""
    world = Scene(quick_folder / request.param, Random(1), delay=2)
    world.register(*QUERIES)
    for number, one in enumerate(ticks(0, TICKS)):
        if request.param == "settled" and number == SETTLED:
            with closing(sqlite3.connect(world.folder / "state" / "catalog.sqlite")) as connection:
                assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        world.tick(one)
    world.register(LAST)
    world.check()
    yield world
    world.forget()


def killed(alive: Scene, place: Path, how: Callable[[bytes], bytes | None]) -> Scene:
    """The state as a process leaves it that is killed now, with its log spoilt."""
    world = alive.copy(place)
    log = place / "state" / "catalog.sqlite-wal"
    spoilt = how(log.read_bytes())
    log.unlink() if spoilt is None else log.write_bytes(spoilt)
    return world


def check_as_of(world: Scene, committed: int) -> None:
    """All that is registered answers as of that tick; what is not was registered after it."""
    world.arrived = world.arrived[: committed + 1]
    known = {one.name for one in world.engine.queries()}
    assert known <= set(world.queries)
    world.queries = {name: query for name, query in world.queries.items() if name in known}
    compare(world, world.queries)
    letters = world.engine.dead_letters("s")["tick"].to_pylist()
    assert letters == [number for number in range(committed + 1) if number % 2 == 0]


def test_a_log_that_is_whole_loses_nothing(alive: Scene, place: Path) -> None:
    world = killed(alive, place, lambda log: log)
    world.check()
    world.tick(*ticks(TICKS, 1))
    world.check()
    world.forget()


@pytest.mark.parametrize("how", few(SPOILT, 6))
def test_a_spoilt_log_answers_as_of_an_earlier_moment_or_not_at_all(alive: Scene, place: Path, how: str) -> None:
    world = killed(alive, place, SPOILT[how])
    try:
        committed = world.committed()
    except StateError as error:
        # Nothing was ever in the catalog's file itself, or what is there does not hang together.
        assert error.code in ("catalog-lost", "catalog-unreadable") and error.hint
        return
    try:
        check_as_of(world, committed)
        if committed == TICKS - 1:
            # Only what came after the last tick is lost: here a registration.
            assert LAST.name not in world.queries
            return
        with pytest.raises(StateError) as missed:
            world.tick(ticks(TICKS, 1)[0], TICKS)
        assert missed.value.code == "batches-missing"
        check_as_of(world, committed)
    finally:
        world.forget()


def test_a_catalog_that_had_only_its_log_is_not_made_anew(place: Path) -> None:
    """A new one would count from nothing; it is refused however often it is opened, and found again with its log."""
    world = Scene(place / "alive", Random(1), delay=2)
    world.register(*QUERIES)
    world.tick(*ticks(0, 1))
    other = world.copy(place / "killed")
    world.forget()
    log = place / "killed" / "state" / "catalog.sqlite-wal"
    kept = log.read_bytes()
    log.unlink()
    for _ in range(2):
        with pytest.raises(StateError) as lost:
            other.check()
        assert lost.value.code == "catalog-lost" and "-wal" in str(lost.value.hint)
    for beside in log.parent.glob("catalog.sqlite-*"):
        beside.unlink()
    log.write_bytes(kept)
    other.check()
    other.forget()
