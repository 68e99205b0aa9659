"""A small life of an engine without Spark, for tests that spoil its disk: all kinds of files, right answers known."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

import weft
import weft.store.folder
import weft.testing
from tests.simulation.level0 import BatchWithLetter, PlainBatch
from tests.simulation.test_simulation import compare
from tests.simulation.world import DDL, SECOND, Query, SharedDuck, Tick, Window, World

QUERIES = (
    Query("by_key", ("k",), ("n", "total"), Window(4, 2), "1 minute", eager=True),
    Query("by_group", ("g",), ("least", "most"), Window(20, 5), "forever", eager=True),
    Query("totals", ("k",), ("total",), None, "forever", eager=False),
)


@dataclass
class Scene(World):
    """A world in which every second batch brings a dead letter; `queries` are those registered."""

    queries: dict[str, Query] = field(default_factory=dict)

    def _open(self) -> weft.Engine:
        with patch.object(weft.store.folder, "Duck", SharedDuck):
            engine = weft.Engine(self.folder / "state")
        engine.catalog._clock = lambda: self.now
        # Nothing is read there: one path for all copies, because it is part of what a stream is.
        engine.add_stream("s", source="parquet", path="/in", schema=DDL, event_time="ts", watermark="2 seconds")
        return engine

    def register(self, *queries: Query) -> None:
        for query in queries:
            self._do(query)
            self.queries[query.name] = query

    def tick(self, step: Tick, number: int | None = None) -> None:
        """The next batch, or one that came before; an error is passed on, and the batch may be committed all the same."""
        number = len(self.arrived) if number is None else number
        kind = BatchWithLetter if number % 2 == 0 else PlainBatch
        try:
            weft.testing.run(self.engine, "s", kind(weft.testing.mark(number), step.dicts()))
        finally:
            if self.committed() == number == len(self.arrived):
                self.arrived.append((number, self.watermark(), step.dicts()))

    def committed(self) -> int:
        """The last batch that the catalog knows."""
        with self.engine.catalog.read() as reader:
            found = reader.tick("s")
        return -1 if found is None else found.batch_id

    def check(self) -> None:
        """Every query has the right answer, and every letter is there."""
        compare(self, self.queries)
        letters = self.engine.dead_letters("s")["tick"].to_pylist()
        assert letters == [number for number, _, _ in self.arrived if number % 2 == 0]

    def copy(self, folder: Path | None = None) -> Scene:
        """The same life in another engine, over the same folder or a copy of it."""
        if folder is not None:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Scene(
            folder or self.folder, self.random, self.delay, 0.0, list(self.arrived), self.now, queries=self.queries
        )

    def check_elsewhere(self) -> None:
        """An engine that opens now reads the same."""
        other = self.copy()
        try:
            other.check()
        finally:
            other.forget()

    def unknown_files(self) -> set[str]:
        """Files on disk that neither the catalog nor its list of garbage names."""
        with self.engine.catalog.read() as reader:
            return self.files_on_disk() - self.files_in_catalog() - set(reader.garbage())


def ticks(first: int, count: int, seed: int = 1) -> list[Tick]:
    """Ticks of ten rows, two seconds of event time each, with rows that are late, by little and by a lot."""
    return [_tick(number, Random(f"faults {seed} {number}")) for number in range(first, first + count)]


def _tick(number: int, random: Random) -> Tick:
    rows = []
    for _ in range(10):
        moment = 2 * number + random.randint(0, 3) - random.choice([0, 0, 0, 0, 6, 20])
        row = {
            "ts": moment * SECOND + random.randrange(SECOND),
            "k": random.choice("abc"),
            "g": random.randint(1, 3),
            "v": random.randint(-9, 9),
        }
        rows.append(tuple(row.items()))
    return Tick(tuple(rows))


def lived(folder: Path, count: int, queries: Sequence[Query] = QUERIES) -> Scene:
    """A scene that has lived through some ticks; its engine is closed."""
    made = Scene(folder, Random(1), delay=2)
    made.register(*queries)
    for one in ticks(0, count):
        made.tick(one)
    made.check()
    made.forget()
    return made
