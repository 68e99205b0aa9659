"""A life of an engine in one seed: ticks, registrations, drops and the passing of time, with crashes in between.

A crash is an exception that nothing of ours catches, raised right before or right after any operation on a file or on
the catalog; then the engine is forgotten as it is, and a new one opens the same folder and does the step again, as
Spark does with a batch that was not finished. The expected answers come from the rule of late rows, row by row.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import log2
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from sqlalchemy import URL, Engine, event

import weft
import weft.store.folder
import weft.testing
from tests.simulation.level0 import POISON, BatchWithLetter, PlainBatch, Row
from weft import failpoint
from weft.backend.duck import Duck
from weft.segments.files import LocalFiles
from weft.sql.ddl import parse_duration
from weft.store import catalog

SECOND = 1_000_000
open_database = catalog._engine
DDL = "ts timestamp, k string, g int, v int"
MAX_CRASHES = 2
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


class SharedDuck(Duck):
    """DuckDB keeps nothing between two calls, and making one costs more than a simulated tick: all engines share it."""

    _only: SharedDuck | None = None

    def __new__(cls, threads: int = 1) -> SharedDuck:
        if cls._only is None:
            cls._only = super().__new__(cls)
            Duck.__init__(cls._only)
        return cls._only

    def __init__(self, threads: int = 1) -> None:
        """It is made already."""

    def close(self) -> None:
        """The next engine uses it too."""


class Crash(BaseException):
    """The process is gone; no handler of ordinary errors may see this."""


@contextmanager
def at(point: str, act: Callable[[], None]) -> Iterator[None]:
    """Something happens once, when a tick passes a point."""

    def passage(name: str) -> None:
        if name == point:
            failpoint.watch(None)
            act()

    failpoint.watch(passage)
    try:
        yield
    finally:
        failpoint.watch(None)


@dataclass(frozen=True)
class Window:
    """Seconds; None for a running total."""

    range: int
    slide: int


@dataclass(frozen=True)
class Query:
    """What one simulated query asks."""

    name: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    window: Window | None
    keep: str
    eager: bool

    @property
    def sql(self) -> str:
        columns = ", ".join([*self.keys, *(f"{MEASURES[one]} AS {one}" for one in self.measures)])
        window = [f"window(ts, '{self.window.range} seconds', '{self.window.slide} seconds')"] if self.window else []
        by = ", ".join([*window, *self.keys])
        bounds = "window.end AS upto, " if self.window else ""
        return f"SELECT {bounds}{columns} FROM s" + (f" GROUP BY {by}" if by else "")


MEASURES = {"total": "sum(v)", "least": "min(v)", "most": "max(v)", "n": "count(*)"}
COMPUTE = {"total": sum, "least": min, "most": max, "n": len}


@dataclass(frozen=True)
class Tick:
    rows: tuple[tuple[tuple[str, Any], ...], ...]

    @property
    def poisoned(self) -> bool:
        """Whether queries that ask for the greatest value fail on it."""
        return any(row["v"] == POISON for row in self.dicts())

    def dicts(self) -> list[Row]:
        return [dict(row) for row in self.rows]


@dataclass(frozen=True)
class Move:
    """Queries, by name, and the trees that the next tick keeps their rows in."""

    trees: tuple[tuple[str, str], ...]


Step = Tick | Query | Move | str  # a tick, a registration, a move, or the name of a query to drop


def random_query(random: Random, name: str) -> Query:
    slide = random.choice([1, 2, 3, 4, 5, 10])
    window = Window(slide * random.randint(1, 4), slide) if random.random() < 0.85 else None
    keys = tuple(sorted(random.sample(["k", "g"], random.randint(0, 2))))
    measures = tuple(sorted(random.sample(sorted(MEASURES), random.randint(1, 3))))
    return Query(
        name, keys, measures, window, random.choice(["7 seconds", "1 minute", "forever"]), random.random() < 0.5
    )


def random_steps(random: Random, ticks: int, *, restless: bool = False, poisoned: bool = False) -> list[Step]:
    """Ticks whose times go on with some disorder, and queries that come and go between them.

    In a restless life queries that moved may move on, or back, before any tick; in a poisoned one some rows make
    queries fail.
    """
    steps: list[Step] = []
    alive: list[str] = []
    clock = random.randint(0, 50)
    for number in range(ticks):
        for _ in range(random.choice([0, 0, 1, 1, 2]) if number else 1):
            query = random_query(random, f"q{number}_{len(steps)}")
            steps.append(query)
            alive.append(query.name)
        if len(alive) > 2 and random.random() < 0.4:
            steps.append(alive.pop(random.randrange(len(alive))))
        if random.random() < 0.4:
            moved = random.sample(alive, random.randint(1, len(alive)))
            for _ in range(random.randint(1, 3) if restless else 1):
                steps.append(Move(tuple((name, random.choice(["", "", "a", "b"])) for name in moved)))
        clock += random.choice([0, 1, 3, 8, 20])
        rows = []
        for _ in range(random.randint(0, 6)):
            moment = clock + random.randint(0, 6) - random.choice([0, 0, 0, 4, 15])
            row = {
                "ts": moment * SECOND + random.randrange(SECOND),
                "k": random.choice("abc"),
                "g": random.randint(1, 3),
                "v": POISON if poisoned and random.random() < 0.05 else random.randint(-9, 9),
            }
            rows.append(tuple(row.items()))
        steps.append(Tick(tuple(rows)))
    return steps


@dataclass
class World:
    """One engine after the other over one folder, and everything that arrived so far."""

    folder: Path
    random: Random
    delay: int
    crash_rate: float = 0.0
    arrived: list[tuple[int, int | None, list[Row]]] = field(default_factory=list)
    now: datetime = EPOCH
    crashes: int = 0
    operations: int = 0
    # Whether every second batch brings a row without an event time.
    letters: bool = False
    # Points at whose first passage it dies, and those at which it did.
    doomed: frozenset[str] = frozenset()
    # How long rows are kept, if they are.
    retain: str | None = None
    died_at: set[str] = field(default_factory=set)
    _armed: bool = False
    _engine: weft.Engine | None = None
    _database: Engine | None = None
    _handles: list[sqlite3.Connection] = field(default_factory=list)

    @property
    def engine(self) -> weft.Engine:
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    def _open(self) -> weft.Engine:
        with patch.object(weft.store.folder, "Duck", SharedDuck), patch.object(catalog, "_engine", self._connect):
            engine = weft.Engine(self.folder / "state")
        engine.catalog._clock = lambda: self.now
        engine.add_stream(
            "s",
            source="parquet",
            path=self.folder / "in",
            schema=DDL,
            event_time="ts",
            watermark=f"{self.delay} seconds",
            retain=self.retain,
        )
        return engine

    def open_elsewhere(self) -> weft.Engine:
        """An engine over the same folder, as another process has one: nothing happens to it."""
        self.engine.state_of("s")
        with patch.object(weft.store.folder, "Duck", SharedDuck):
            return weft.Engine(self.folder / "state")

    def _connect(self, url: URL) -> Engine:
        """One database for all engines of a life: they share no connection, only how statements are written."""
        if self._database is None:
            self._database = open_database(url)
            for kind in ("before_cursor_execute", "after_cursor_execute", "commit"):
                event.listen(self._database, kind, lambda *_: self._operation())
            event.listen(self._database, "checkout", lambda raw, *_: self._handles.append(raw))
        return self._database

    def _operation(self, point: str = "") -> None:
        self.operations += 1
        doomed = point in self.doomed - self.died_at
        if self._armed and (doomed or self.random.random() < self.crash_rate):
            self.crashes += 1
            self.died_at.add(point)
            raise Crash

    def run(self, steps: list[Step]) -> None:
        for step in steps:
            self.now += timedelta(seconds=self.random.choice([1, 10, 100]))
            self._survive(step)

    def _survive(self, step: Step) -> None:
        """Do the step, again after every crash, until it is done; after a few crashes in peace."""
        for attempt in range(MAX_CRASHES + 1):
            failpoint.watch(self._operation)
            self._armed = attempt < MAX_CRASHES
            try:
                self._do(step)
                return
            except Crash:
                pass
            finally:
                self._armed = False
                failpoint.watch(None)
            self.forget()

    def forget(self) -> None:
        """The engine is gone, with all that it knew; only the operating system's handles are given back."""
        engine, self._engine = self._engine, None
        # What the operating system does for a dead process: its locks go, its transaction was never committed. A cursor
        # that a frame of the crash still holds would keep its connection, and so its locks, alive: frames go first.
        gc.collect()
        for handle in self._handles:
            with suppress(sqlite3.ProgrammingError):
                handle.rollback()
                handle.close()
        self._handles.clear()
        if engine is not None:
            engine.close()
        if self._database is not None:
            # A crash while opening leaves no engine that could give back its connections.
            self._database.dispose()

    def _do(self, step: Step) -> None:
        if isinstance(step, Query):
            self.engine.register(step.sql, name=step.name, keep=step.keep, eager=step.eager)
        elif isinstance(step, str):
            if step in {one.name for one in self.engine.queries()}:
                self.engine.query(step).drop()
        elif isinstance(step, Move):
            weft.testing.move(self.engine, "s", dict(step.trees))
        else:
            self._tick(step)

    def _tick(self, step: Tick) -> None:
        """The batch of a tick. It has arrived once, however often it is run."""
        number = sum(1 for _ in self.arrived)
        mark = weft.testing.mark(number)
        kind = BatchWithLetter if self.letters and number % 2 == 0 else PlainBatch
        weft.testing.run(self.engine, "s", kind(mark, step.dicts()))
        weft.testing.settle(self.engine, "s")
        self.arrived.append((number, self.watermark(), step.dicts()))

    def watermark(self) -> int | None:
        """Where the watermark stands after all that arrived."""
        moments = [row["ts"] for _, _, rows in self.arrived for row in rows]
        return max(moments) - self.delay * SECOND if moments else None

    def files_on_disk(self) -> set[str]:
        files = self.engine.files
        assert isinstance(files, LocalFiles)
        return set(files._walk(files._root))

    def files_in_catalog(self) -> set[str]:
        with self.engine.catalog.read() as reader:
            return {row.path for row in reader.segments()} | {row.path for row in reader.dead_letters("s")}


def expected(world: World, query: Query, complete_from: int, upto: int) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The query's groups by key, of all windows that are held in full; the rule of late rows taken literally."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for number, mark, rows in world.arrived:
        for row in rows:
            for end in ends_of(query, row["ts"]):
                if end is None:
                    counts = number >= complete_from
                else:
                    start = end - query.window.range * SECOND if query.window else 0
                    counts = start >= complete_from and end <= upto and (mark is None or end > mark)
                if counts:
                    key = (*([end] if end is not None else []), *(row[name] for name in query.keys))
                    groups.setdefault(key, []).append(row)
    if query.window is None and not query.keys and not groups:
        groups[()] = []
    return {key: tuple(measure(one, rows) for one in query.measures) for key, rows in groups.items()}


def lost(world: World, query: Query, first: int, newest: int | None) -> int:
    """The rows that came since its first tick and reached no open window, of the time that it keeps.

    That time goes back to a multiple of the greatest power of two that is at most a sixteenth of it.
    """
    oldest = -(2**62)
    if query.keep != "forever" and newest is not None and query.window is not None:
        kept = parse_duration(query.keep) // timedelta(microseconds=1) + query.window.range * SECOND
        grain = 2 ** int(log2(kept // 16))
        oldest = (newest - kept) // grain * grain
    return sum(
        mark is not None and mark >= oldest and all(end is not None and end <= mark for end in ends_of(query, row["ts"]))
        for number, mark, rows in world.arrived
        if number >= first
        for row in rows
    )


def measure(name: str, rows: list[Row]) -> Any:
    if name == "n":
        return len(rows)
    return COMPUTE[name]([row["v"] for row in rows]) if rows else None


def ends_of(query: Query, moment: int) -> Iterator[int | None]:
    """The ends of the windows that hold a moment."""
    if query.window is None:
        yield None
        return
    slide, length = query.window.slide * SECOND, query.window.range * SECOND
    end = moment // slide * slide + slide
    while end - length <= moment:
        yield end
        end += slide
