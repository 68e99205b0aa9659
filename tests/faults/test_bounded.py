"""State is bounded: many ticks with queries that come and go hold no more than 50 do, and without queries nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest

import weft.testing
from tests.faults.scene import Scene, ticks
from tests.few import few
from tests.simulation.test_simulation import compare
from tests.simulation.world import MEASURES, SECOND, Move, Query, Tick, Window
from weft.algebra.windows import Sliding
from weft.plan.blocks import FAN_OUT
from weft.segments.rows import LEVEL, START
from weft.segments.segment import SegmentRow
from weft.store import letters, tend, transactions
from weft.store.derive import Dropped, NewRows
from weft.store.state import StreamState
from weft.store.tend import LEASE
from weft.tick.commit import MAX_DROPS, _drops

# Everything repeats after so many ticks: which queries come, go and move, and what the rows are but for their times. The
# time that passes meanwhile is a multiple of every slide and of blocks of 32 seconds, so that files are alike too.
PERIOD = 48
EARLY = range(PERIOD, 2 * PERIOD)
# A tick takes some 100 ms: `make test` has three periods, and `make stress` up to eleven, in which less growth can hide.
PERIODS = few((3, 4, 11), 1)


@dataclass(frozen=True)
class Held:
    """Everything of which there could be more and more."""

    segments: int
    rows: int
    files: int
    files_of_letters: int
    folders: int
    nodes: int
    layouts: int
    plans: int
    garbage: int
    dead_letters: int
    tick_log: int
    drops: int
    layouts_in_memory: int
    tables_in_memory: int
    bytes_in_arrow: int
    objects_in_python: int


def is_letters(path: str) -> bool:
    return path.split("/")[1] == "dead"


def held(world: Scene) -> Held:
    engine, state = world.engine, world.engine.state_of("s")
    with engine.catalog.read() as reader:
        segments = reader.segments()
        return Held(
            segments=len(segments),
            rows=sum(row.rows for row in segments),
            files=sum(not is_letters(path) for path in world.files_on_disk()),
            files_of_letters=sum(is_letters(path) for path in world.files_on_disk()),
            folders=sum(path.is_dir() for path in (world.folder / "state" / "segments").rglob("*")),
            nodes=len(reader.nodes()),
            layouts=len(reader.layouts()),
            plans=len(reader.plans("s")),
            garbage=sum(not is_letters(path) for path in reader.garbage()),
            dead_letters=sum(row.rows for row in reader.dead_letters()),
            tick_log=len(reader.tick_log("s")),
            drops=len(state.drops),
            layouts_in_memory=len(state.layouts),
            tables_in_memory=len(engine.cache._recent._tables),
            bytes_in_arrow=pa.total_allocated_bytes(),
            objects_in_python=len(gc.get_objects()),
        )


# Caches of libraries fill up once. Nothing else may be more at the end, not by one.
MORE = {"bytes_in_arrow": 10_000, "objects_in_python": 10_000}


def some_query(random: Random, name: str) -> Query:
    slide = random.choice([2, 3, 4])
    window = Window(slide * random.randint(1, 3), slide) if random.random() < 0.8 else None
    return Query(
        name,
        tuple(sorted(random.sample(["k", "g"], random.randint(0, 2)))),
        tuple(sorted(random.sample(sorted(MEASURES), random.randint(1, 2)))),
        window,
        random.choice(["5 seconds", "20 seconds"]) if window else "forever",
        eager=random.random() < 0.5,
    )


def drop(world: Scene, name: str) -> None:
    world._do(name)
    del world.queries[name]


def come_and_go(world: Scene, number: int) -> None:
    """Two queries at a time, one of which is replaced every few ticks; some move; each period begins with none."""
    random = Random(f"bounded {number % PERIOD}")
    if number % PERIOD == 0:
        for name in list(world.queries):
            drop(world, name)
        world.register(*(some_query(Random(f"first {place}"), f"q{number:04}_{place}") for place in range(2)))
    elif random.random() < 0.2:
        world.register(some_query(random, f"q{number:04}"))
        drop(world, random.choice(sorted(world.queries)[:-1]))
    elif random.random() < 0.2:
        world._do(Move(((random.choice(sorted(world.queries)), random.choice(["", "a"])),)))


def repeated(number: int) -> Tick:
    """The tick of a number: the rows of the first period, moved on in time."""
    (first,) = ticks(number % PERIOD, 1)
    on = 2 * SECOND * (number - number % PERIOD)
    return Tick(tuple(tuple({**row, "ts": row["ts"] + on}.items()) for row in first.dicts()))


def live(world: Scene, count: int) -> list[Held]:
    """All that was held after each of the ticks that are compared."""
    seen, late = [], range(count - PERIOD, count)
    with patch.object(transactions, "TICKS_KEPT", 40), patch.object(letters, "ROWS_KEPT", 20):
        for number in range(count):
            come_and_go(world, number)
            world.now += LEASE + timedelta(seconds=1)
            world.tick(repeated(number))
            # What a search beside the tick finds must not depend on how fast this machine is.
            weft.testing.settle(world.engine, "s")
            if number in EARLY or number in late:
                for name in world.queries:
                    world.engine.query(name).result()
                seen.append(held(world))
    return seen


@pytest.fixture
def world(place: Path) -> Iterator[Scene]:
    made = Scene(place, Random(1), delay=2)
    yield made
    made.forget()


@pytest.mark.parametrize("periods", PERIODS)
def test_many_ticks_hold_no_more_than_fifty(world: Scene, periods: int) -> None:
    """The same queries over the same rows at both ends: what is held for them is the same."""
    seen, grown = live(world, periods * PERIOD), []
    for what in (one.name for one in fields(Held)):
        early = max(getattr(one, what) for one in seen[: len(EARLY)])
        late = max(getattr(one, what) for one in seen[len(EARLY) :])
        print(f"{what}: {early} at most in ticks {EARLY.start} to {EARLY.stop}, {late} in the last {PERIOD}")
        if late > early + MORE.get(what, 0):
            grown.append(what)
    assert not grown


def test_without_queries_nothing_is_left(world: Scene) -> None:
    """Two ticks and a lease after the last query was dropped. What belongs to the stream stays: dead letters, the log of
    ticks, and the row of the plan in force."""
    live(world, PERIOD)
    for name in list(world.queries):
        drop(world, name)
    for number in range(PERIOD, PERIOD + 2):
        world.now += LEASE + timedelta(seconds=1)
        world.tick(repeated(number))
    now = held(world)
    assert (now.segments, now.nodes, now.layouts, now.garbage, now.layouts_in_memory) == (0, 0, 0, 0, 0)
    assert now.files == 0
    # The stream's own folder, and in it that of its dead letters.
    assert (now.plans, now.folders) == (1, 2)
    assert len(world.engine.cache._recent._tables) == 0


@pytest.mark.parametrize(
    ("window", "keep", "edges"),
    [(Window(4, 2), "5 seconds", 1), (Window(5, 2), "20 seconds", 2), (None, "forever", 1)],
    ids=str,
)
def test_a_query_alone_holds_no_more_than_it_said(place: Path, window: Window | None, keep: str, edges: int) -> None:
    """Slices (`edges` of them a slide, one group each) and finished windows, after every tick."""
    world = Scene(place, Random(1), delay=2)
    world.register(Query("q", (), ("n", "total"), window, keep, eager=True))
    said = world.engine.query("q").bound.rows
    assert said is not None
    for tick in ticks(0, 50):
        world.tick(tick)
        files = [*files_of(world, "tick"), *files_of(world, "block")]
        rows = [row for file in files for row in world.engine.cache.get(file).to_pylist()]
        slices = {row[START] for row in rows if row[LEVEL] == 0}
        # Ticks are sealed, and what is behind them is deleted, by so many at a time; blocks are aligned, slices are not.
        assert len(slices) <= said + 2 * FAN_OUT * edges
        assert sum(file.rows for file in files_of(world, "result")) <= said
    world.forget()


def kind(seconds: int) -> Sliding:
    return Sliding(range=timedelta(seconds=seconds), slide=timedelta(seconds=seconds))


def test_what_was_dropped_is_never_forgotten_only_told_less_apart() -> None:
    """More sets of windows than are remembered: for each kind the list says at least what really was dropped."""
    state, count = StreamState("s"), 3 * MAX_DROPS
    for number in range(count):
        windows = frozenset({str(kind(number + 1)), str(kind(number + 2))})
        drops = _drops(state, NewRows({}, {}, (Dropped(1, windows, number),)))
        state = StreamState("s", totals={"drops": [[sorted(kinds), end] for kinds, end in drops]})
    assert len(state.drops) == MAX_DROPS
    assert state.dropped_until(kind(count + 5)) == count - 1
    for number in range(1, count):
        unused = max(end for end in range(count) if number not in (end + 1, end + 2))
        assert state.dropped_until(kind(number)) >= unused


def files_of(world: Scene, kind: str) -> list[SegmentRow]:
    with world.engine.catalog.read() as reader:
        return [row for row in reader.segments() if row.kind == kind]


def test_finished_windows_go_with_their_query_although_the_node_stays(place: Path) -> None:
    """One query keeps the node for ever; another's finished windows on it are kept as long as that one says."""
    world = Scene(place, Random(1), delay=2)
    world.register(
        Query("for_ever", ("k",), ("n",), Window(4, 2), "forever", eager=False),
        Query("for_a_while", ("k",), ("n",), Window(2, 2), "6 seconds", eager=True),
    )
    for tick in ticks(0, 20):
        world.tick(tick)
    state = world.engine.state_of("s")
    assert state.watermark is not None
    assert {row.time_to > state.watermark - 6_000_000 for row in files_of(world, "result")} == {True}
    world._do("for_a_while")
    del world.queries["for_a_while"]
    world.tick(*ticks(20, 1))
    assert files_of(world, "result") == []
    world.check()
    world.forget()


def test_counts_of_late_rows_go_with_the_queries_that_ask_for_them(place: Path) -> None:
    """Queries that follow each other on one node leave no counts of their own behind."""
    world = Scene(place, Random(1), delay=2)
    seen = []
    with patch.object(tend, "MAX_LEDGERS", 2):
        for turn in range(10):
            world.register(Query(f"q{turn}", ("k",), ("n",), Window(2 + turn % 2, 1), "5 seconds", eager=False))
            for name in [name for name in world.queries if name != f"q{turn}"]:
                world.tick(*ticks(len(world.arrived), 1))
                world._do(name)
                del world.queries[name]
            for tick in ticks(len(world.arrived), 4):
                world.tick(tick)
            seen.append(sum(row.rows for row in files_of(world, "late")))
    assert min(seen) > 0
    # One count for each of three keys, of one kind of window, in each of the five ticks since the last registration.
    assert max(seen[1:]) <= 5 * 3
    world.forget()


def late_tick(number: int, key: str) -> Tick:
    """One row on time, and one of this key that is late for every window of two seconds."""
    rows = ({"ts": number * SECOND, "k": "a"}, {"ts": (number - 5) * SECOND, "k": key})
    return Tick(tuple(tuple({**row, "g": 1, "v": 1}.items()) for row in rows))


def late_readers(world: Scene, keeps: tuple[str, ...]) -> None:
    world.register(*(Query(f"q{at}", ("k",), ("n",), Window(2, 1), keep, False) for at, keep in enumerate(keeps)))


@pytest.mark.parametrize("keeps", [("5 seconds",), ("5 seconds", "20 seconds"), ("5 seconds", "forever")], ids=str)
def test_counts_of_late_rows_go_with_the_time_that_is_kept(place: Path, keeps: tuple[str, ...]) -> None:
    """Every tick brings a late row of a key that never comes again; queries count those of the time that they keep."""
    world = Scene(place, Random(1), delay=2)
    late_readers(world, keeps)
    seen = []
    for number in range(60):
        world.tick(late_tick(number, f"late {number}"))
        if number % 10 == 9:
            compare(world, world.queries)
        seen.append(sum(row.rows for row in files_of(world, "late")))
    counts = {one.keep: world.engine.query(name).metrics()["late_rows"] for name, one in world.queries.items()}
    # A row a second, of the time that is kept and one window; the first tick comes after no watermark.
    assert counts == {keep: {"5 seconds": 7, "20 seconds": 22, "forever": 59}[keep] for keep in keeps}
    if "forever" in keeps:
        assert seen[-1] == 59
    else:
        # Those of 22 seconds at most and a sixteenth, and eight ticks' that are not merged yet.
        assert max(seen) < 24 + 8
    world.forget()


def test_ticks_with_late_rows_are_told_apart_only_for_those_that_count_them(place: Path) -> None:
    """One key that is late in every tick: a query that keeps little does not make the counts of another one finer."""
    world = Scene(place, Random(1), delay=2)
    late_readers(world, ("5 seconds", "2 minutes", "forever"))
    for number in range(140):
        world.tick(late_tick(number, "late"))
    compare(world, world.queries)
    # Seven seconds by the tick, two minutes in spans of four seconds, all else in one, and eight ticks' not merged yet.
    assert sum(row.rows for row in files_of(world, "late")) < 8 + 32 + 1 + 8
    world.forget()
