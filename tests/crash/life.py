"""A life that may end at any instant and go on in another process: what arrives, what is asked, and in which order.

Every step can be done again: files that are there stay, queries that are there stay, and what stands before a tick is
done only while that tick is not committed. So a process that is started over the same folder goes on where the last
one died, and all of them together must end with the answers of one that never died.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import weft
import weft.testing
from tests.crash.plain import CrashBatch
from tests.engine.harness import write_tick
from tests.simulation.level0 import Row
from tests.simulation.world import SECOND, Query, Window
from weft.segments.kept import LATE, MOMENT, TICK
from weft.store import tend, tend_rows

STREAM = "readings"
DDL = "ts timestamp, k string, g int, v int, d int"
ARROW = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("k", pa.string()),
        ("g", pa.int32()),
        ("v", pa.int32()),
        ("d", pa.int32()),
    ]
)
DELAY = 5
STEP = 10
BEGIN = 1_767_225_600  # seconds: 2026-01-01, long enough ago for every clock
FAILING = "failing"
RETAIN = 60
POISON = 5  # the tick with a row that `failing` cannot be computed for


@dataclass(frozen=True)
class Stage:
    """What is registered, dropped and moved (query and tree) before the tick of this number."""

    before: int
    register: tuple[Query, ...] = ()
    drop: tuple[str, ...] = ()
    move: tuple[tuple[str, str], ...] = ()
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Script:
    """A whole life: how many ticks of how many rows, and the stages between them."""

    ticks: int
    rows: int
    stages: tuple[Stage, ...]

    def arriving(self, number: int) -> list[Row]:
        """The rows of a tick: some out of order, some late, a few without a time; none in a tick after the last."""
        if number >= self.ticks:
            return []
        chance = Random(f"crash {number}")
        rows: list[Row] = []
        for _ in range(self.rows):
            back = chance.choice([0, 0, 0, 4]) if chance.random() < 0.95 else chance.randint(15, 45)
            moment = BEGIN + number * STEP + chance.randrange(STEP) - back
            row = {"ts": moment * SECOND + chance.randrange(SECOND), "k": chance.choice("abcde"), "d": 1}
            rows.append({**row, "g": chance.randint(1, 4), "v": chance.randint(-99, 99)})
        for row in chance.sample(rows, 3 if number % 3 == 1 else 0):
            row["ts"] = None
        if number == POISON:
            rows[-1]["d"] = 0
        return rows

    def queries(self) -> dict[str, Query]:
        """The queries that are there at the end and can be read."""
        there = {query.name: query for stage in self.stages for query in stage.register}
        gone = {name for stage in self.stages for name in stage.drop}
        return {name: query for name, query in there.items() if name not in gone}


def _query(name: str, keys: str, measures: str, window: tuple[int, int] | None, keep: str, *, eager: bool) -> Query:
    return Query(name, tuple(keys.split()), tuple(measures.split()), window and Window(*window), keep, eager)


SMALL = Script(
    ticks=12,
    rows=200,
    stages=(
        Stage(
            before=0,
            register=(
                _query("first", "k", "n total", (10, 5), "30 seconds", eager=True),
                _query("fine", "g k", "total", (20, 10), "7 seconds", eager=False),
                _query("ever", "", "most n", None, "forever", eager=False),
                _query("long", "k", "least", (30, 10), "forever", eager=True),
            ),
            texts={FAILING: f"SELECT k, sum(v / d) AS x FROM {STREAM} GROUP BY window(ts, '10 seconds'), k"},
        ),
        Stage(
            before=4,
            register=(
                _query("second", "g", "n", (15, 5), "1 minute", eager=True),
                _query("totals", "k", "total", None, "forever", eager=False),
            ),
            drop=("fine",),
            move=(("long", "a"),),
        ),
        Stage(
            before=8,
            register=(_query("third", "g k", "n total", (20, 10), "forever", eager=False),),
            drop=("first",),
            move=(("long", "b"), ("second", "b")),
        ),
    ),
)


def _many() -> dict[str, str]:
    """Two hundred queries of many shapes, over few nodes."""
    shapes = [("k", "sum(v) AS a"), ("g", "count(*) AS a, max(v) AS b"), ("k, g", "min(v) AS a"), ("k", "avg(v) AS a")]
    texts = {}
    for number in range(200):
        keys, measures = shapes[number % 4]
        slide = (4, 5, 6, 8, 10)[number // 4 % 5]
        where = f"v > {number // 20 * 9 - 50}" if number % 3 else f"k <> '{'abcde'[number % 5]}'"
        by = f"window(ts, '{slide * (1 + number % 3)} seconds', '{slide} seconds'), {keys}"
        texts[f"q{number:03d}"] = (
            f"SELECT window.end AS upto, {keys}, {measures} FROM {STREAM} WHERE {where} GROUP BY {by}"
        )
    return texts


def _large(texts: dict[str, str]) -> Script:
    """Queries that arrive in two halves, over 100,000 rows."""
    halves = [dict(list(texts.items())[half::2]) for half in range(2)]
    return Script(10, 10_000, (Stage(before=0, texts=halves[0]), Stage(before=5, texts=halves[1])))


SHORT = Script(
    ticks=4,
    rows=200,
    stages=(
        Stage(
            before=0,
            register=(
                _query("first", "k", "n total", (10, 5), "forever", eager=True),
                _query("ever", "g", "most n", None, "forever", eager=False),
            ),
        ),
    ),
)
SCRIPTS = {"short": SHORT, "small": SMALL, "large": _large(_many())}


@dataclass
class Life:
    """One process in the life of a folder."""

    folder: Path
    script: Script
    engine: weft.Engine

    @property
    def committed(self) -> int:
        """How many ticks are committed."""
        return self.engine.state_of(STREAM).batch_id + 1

    def live(self, *, plain: bool) -> None:
        """Everything that is left to do, and then one empty tick, which clears up what the dead left behind.

        How much of the past a late query gets of kept rows depends on how many were let go when it was done, and where it
        is placed on whether a search was done by then: here neither happens by itself.
        """
        self.engine.add_stream(
            STREAM,
            source="parquet",
            path=self.folder / "in",
            schema=DDL,
            event_time="ts",
            watermark=f"{DELAY} seconds",
            options={"maxFilesPerTrigger": 1},
            retain=f"{RETAIN} seconds",
        )
        weft.testing.fill_nothing(self.engine, STREAM)
        weft.testing.stay(self.engine, STREAM)
        ends = [*(stage.before for stage in self.script.stages[1:]), self.script.ticks]
        for stage, end in zip(self.script.stages, ends, strict=True):
            if self.committed <= stage.before:
                self._set_up(stage)
            self._run_to(end, plain=plain)
        self._run_to(max(self.script.ticks, self.committed) + 1, plain=plain)

    def _set_up(self, stage: Stage) -> None:
        for query in stage.register:
            sql = query.sql.replace("FROM s", f"FROM {STREAM}")
            self.engine.register(sql, name=query.name, keep=query.keep, eager=query.eager)
        if stage.texts:
            self.engine.register_all(stage.texts, keep="1 minute", eager=len(stage.texts) > 1)
        for name in {one.name for one in self.engine.queries()} & set(stage.drop):
            self.engine.query(name).drop()
        weft.testing.move(self.engine, STREAM, dict(stage.move))

    def _run_to(self, end: int, *, plain: bool) -> None:
        """Let all ticks before this one arrive, and be processed."""
        if plain:
            # The newest one once more: Spark also hands over again what it does not know to be done.
            for number in range(max(self.committed - 1, 0), end):
                mark = weft.testing.mark(number)
                weft.testing.run(self.engine, STREAM, CrashBatch(mark, self.script.arriving(number)))
            return
        for number in range(end):
            if not (self.folder / "in" / f"tick-{number:05d}.parquet").exists():
                write_tick(self.folder / "in", number, pa.Table.from_pylist(self.script.arriving(number), ARROW))
        self.engine.run_available()

    def report(self) -> dict[str, Any]:
        """All answers, and what lies on the disk; `hash` is of all that must not depend on the way there."""
        queries = {one.name: self._answer(one.name) for one in self.engine.queries()}
        totals = dict(self.engine.state_of(STREAM).totals)
        letters = self.engine.dead_letters(STREAM).select(["tick", "reason"]).to_pylist()
        told = {
            "queries": queries,
            "totals": {name: totals.get(name) for name in ("rows", "late", "dead")},
            "letters": sorted(map(list, (one.values() for one in letters))),
            "kept": self._kept(),
        }
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        return {"hash": digest, **told, "watermark": self.engine.state_of(STREAM).watermark, "files": self._files()}

    def _answer(self, name: str) -> dict[str, Any]:
        handle = self.engine.query(name)
        row = self.engine.registry.query(name).row
        said: dict[str, Any] = {"status": handle.status, "complete_from": row.complete_from}
        if handle.status == "failed":
            return said
        windowed = self.engine.registry.query(name).needs.window.clock.sliced
        table = handle.results() if windowed else handle.changes()
        rows = sorted(([_value(one) for one in line.values()] for line in table.to_pylist()), key=json.dumps)
        return {**said, "late": handle.metrics()["late_rows"], "columns": table.column_names, "rows": rows}

    def _kept(self) -> list[list[Any]]:
        """The rows that must be kept now; older rows may be there still."""
        state = self.engine.state_of(STREAM)
        if state.batch_id < 0:
            assert not state.kept.files
            return []
        oldest = (state.watermark or 0) - RETAIN * SECOND
        assert state.kept.since <= oldest
        tables = [self.engine.files.read_table(file.path, file.checksum) for file in state.kept.files]
        rows = pa.concat_tables(tables).to_pylist() if tables else []
        return sorted([row[name] for name in (MOMENT, TICK, LATE, "k", "g", "v", "d")] for row in rows if row[MOMENT] >= oldest)

    def _files(self) -> dict[str, list[str]]:
        """The names of files that only the disk knows, and of those that only the catalog knows."""
        root = self.folder / "state" / "segments"
        present = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        with self.engine.catalog.read() as reader:
            named = {row.path for row in (*reader.segments(), *reader.dead_letters())}
            garbage = set(reader.garbage())
        return {"unnamed": sorted(present - named), "missing": sorted(named - present), "garbage": sorted(garbage)}


def _value(value: Any) -> Any:
    return round(value.timestamp()) * SECOND if isinstance(value, datetime) else value


@contextmanager
def no_lease() -> Iterator[None]:
    """Files that left the catalog are deleted at once, and rows merged soon, so that this is part of every life."""
    before, tend.LEASE = tend.LEASE, timedelta(0)
    fan_out, tend_rows.FAN_OUT = tend_rows.FAN_OUT, 2
    try:
        yield
    finally:
        tend.LEASE, tend_rows.FAN_OUT = before, fan_out
