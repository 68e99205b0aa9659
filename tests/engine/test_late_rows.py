"""Late rows, and queries that come and go in mid-stream: what every query holds is what the rule says it holds.

Random rows of which many are late, random queries, and between two ticks any of: a query comes, a query goes, one that
went comes back, the engine is opened anew. The oracle knows nothing of slices: it judges row by row and window by window.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import add_stream, feed, session_with
from tests.engine.late import arrived, counted, counted_since, lost, watermarks
from tests.engine.oracle import BatchSpark, difference
from tests.engine.queries import MICROSECOND, Hop, Maker, RandomQuery
from tests.engine.rows import Ticks, as_table, random_ticks
from tests.few import few
from weft.store import tend

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# A seed takes 5 to 12 ticks on Spark, twice, and an answer of batch Spark for every query: the others in `make stress`.
SEEDS = few(range(12), (0, 1))
WEEK = timedelta(days=7)


@pytest.fixture(autouse=True)
def early_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few ticks would hardly ever merge their counts of late rows."""
    monkeypatch.setattr(tend, "MAX_LEDGERS", 3)


def late_ticks(random: Random) -> Ticks:
    return random_ticks(random, ticks=random.choice([5, 7, 12]), size=random.choice([150, 300]), late=0.15,
                        span=timedelta(seconds=240), delay=timedelta(seconds=random.choice([0, 4, 10])),
                        begin=datetime(2026, 3, 2, 10, tzinfo=UTC))


def some_queries(random: Random) -> dict[str, RandomQuery]:
    makers = [Maker(random, odd=random.random() < 0.3) for _ in range(2)]
    return {f"q{place}": random.choice(makers).query() for place in range(9)}


class Judge:
    """Compares what queries hold with what the rule says."""

    def __init__(self, spark: SparkSession, ticks: Ticks) -> None:
        self._ticks, self._oracle = ticks, BatchSpark(spark, arrived(ticks))
        self._views: dict[Hop, str] = {}
        self.compared = 0

    def wrong(self, handle: weft.ContinuousQuery, query: RandomQuery, keep: timedelta) -> Iterator[str]:
        """What is wrong with a query, if anything."""
        metrics, since = handle.metrics(), handle.complete_from
        if query.window is None:
            first = since if isinstance(since, int) else 0
            self._oracle.answer(f"CREATE OR REPLACE TEMP VIEW since AS SELECT * FROM rows WHERE tick_ >= {first}")
            expected, found = self._oracle.answer(query.spark("since")), handle.result()
        else:
            watermark, view = watermarks(self._ticks)[-1], self._view(query.window)
            dawn = since is None or since.year < 2
            expected = self._oracle.answer(query.spark(
                view, until=watermark, since=None if dawn else since, after=watermark - keep, window="window"))
            found = handle.results()
            newest = pa.scalar(query.window.newest_end(watermark), found.schema.field("window_end").type)
            problem = difference(handle.result(), found.filter(pc.equal(found["window_end"], newest)), ordered=False)
            if problem:
                yield f"result() differs from results(): {problem}"
            where = f"AND ({query.where})" if query.where else ""
            oldest = counted_since(watermark, keep + query.window.range * MICROSECOND).isoformat()
            missed = self._oracle.answer(f"SELECT count(*) FROM {view}_lost WHERE tick_ >= {metrics['from_batch']} "
                                         f"AND mark_ >= TIMESTAMP '{oldest}' {where}")
            if missed.column(0)[0].as_py() != metrics["late_rows"]:
                yield f"late rows: got {metrics['late_rows']}, expected {missed.column(0)[0]}"
        self.compared += expected.num_rows
        problem = difference(found, expected, ordered=bool(query.order))
        if problem:
            yield f"complete from {since}: {problem}"

    def _view(self, hop: Hop) -> str:
        if hop not in self._views:
            name = self._views[hop] = f"hop{len(self._views)}"
            self._oracle.add(name, counted(self._ticks, hop))
            self._oracle.add(f"{name}_lost", lost(self._ticks, [hop]))
        return self._views[hop]

    def close(self) -> None:
        self._oracle.close()


def report(seed: int, judge: Judge, engine: weft.Engine, queries: dict[str, RandomQuery],
           keeps: dict[str, timedelta]) -> list[str]:
    return [f"seed {seed}, {name}: {query.weft('s')}\n    {problem}" for name, query in queries.items()
            for problem in judge.wrong(engine.query(name), query, keeps.get(name, WEEK))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_late_row_counts_for_every_window_that_is_open(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"late {seed}")
    ticks, queries = late_ticks(random), some_queries(random)
    with weft.Engine(tmp_path, spark=session_with(spark, INTERPRETED)) as engine:
        add_stream(engine, "s", tmp_path / "in", ticks)
        engine.register_all({name: query.weft("s") for name, query in queries.items()}, eager=seed % 2 == 1)
        for rows in ticks.rows:
            feed(engine, ["s"], as_table(rows))
        judge = Judge(spark, ticks)
        wrong = report(seed, judge, engine, queries, {})
        assert not wrong, "\n".join(wrong)
        hops = {query.window for query in queries.values() if query.window is not None}
        assert engine.metrics()["streams"]["s"]["late_rows"] == lost(ticks, hops).num_rows
        assert all(query.complete_from.year == 1 for query in engine.queries())
    assert judge.compared > 100
    judge.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_that_come_and_go(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"come and go {seed}")
    ticks, queries = late_ticks(random), some_queries(random)
    session, judge = session_with(spark, INTERPRETED), Judge(spark, ticks)
    engine = weft.Engine(tmp_path, spark=session)
    add_stream(engine, "s", tmp_path / "in", ticks)
    here = set(random.sample(sorted(queries), 3))
    stays = random.choice(sorted(here))
    # Some keep little: what they let go must not be missed by those that keep much.
    keeps = {name: random.choice([WEEK, WEEK, timedelta(seconds=20)]) for name in queries}

    def register(name: str) -> None:
        engine.register(queries[name].weft("s"), name=name, eager=random.random() < 0.5,
                        keep=f"{keeps[name].total_seconds():.0f} seconds")

    for name in here:
        register(name)
    for number, rows in enumerate(ticks.rows):
        feed(engine, ["s"], as_table(rows))
        if number == len(ticks.rows) - 1:
            break
        for name in [name for name in here if name != stays and random.random() < 0.15]:
            engine.query(name).drop()
            here.remove(name)
        for name in [name for name in queries if name not in here and random.random() < 0.25]:
            register(name)
            here.add(name)
        if random.random() < 0.25:
            engine.close()
            engine = weft.Engine(tmp_path, spark=session)
    wrong = report(seed, judge, engine, {name: queries[name] for name in sorted(here)}, keeps)
    assert not wrong, "\n".join(wrong)
    assert engine.query(stays).complete_from.year == 1
    engine.close()
    judge.close()
