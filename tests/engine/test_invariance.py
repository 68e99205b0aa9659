"""Sharing is invisible: a query's results depend on its text and the rows, on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.harness import add_stream, feed, session_with, write_tick, write_ticks
from tests.engine.oracle import difference
from tests.engine.queries import RandomQuery, query_set
from tests.engine.rows import Ticks, as_table, random_ticks
from tests.few import few

BEGIN = datetime(2026, 3, 2, 10, tzinfo=UTC)
# A seed takes nine ticks on Spark.
SEEDS = few(range(3), 1)
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def some_ticks(random: Random) -> Ticks:
    return random_ticks(random, ticks=3, size=200, span=timedelta(seconds=120), delay=timedelta(seconds=3), late=0.1,
                        begin=BEGIN)


def answer(handle: weft.ContinuousQuery) -> pa.Table:
    return handle.results() if "window(" in handle.sql else handle.result()


def run(session: SparkSession, folder: Path, ticks: Ticks, streams: Mapping[str, Mapping[str, RandomQuery]]) -> dict[str, pa.Table]:
    """The answers of all queries, by name; each stream has a network of its own over the same rows."""
    with weft.Engine(folder, spark=session) as engine:
        for stream, queries in streams.items():
            add_stream(engine, stream, folder / "in", ticks)
            for name, query in queries.items():
                engine.register(query.weft(stream), name=name)
        for rows in ticks.rows:
            feed(engine, streams, as_table(rows))
        return {name: answer(engine.query(name)) for queries in streams.values() for name in queries}


@pytest.mark.parametrize("seed", SEEDS)
def test_alone_in_another_order_or_on_other_partitions(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"invariance {seed}")
    ticks = some_ticks(random)
    queries = {f"q{place}": query for place, query in enumerate(query_set(random))}
    shared = run(session_with(spark, {"spark.sql.shuffle.partitions": 3}), tmp_path / "shared", ticks, {"s": queries})
    assert sum(table.num_rows for table in shared.values()) > 50
    alone = {f"s{name}": {name: query} for name, query in queries.items()}
    backwards = dict(reversed(queries.items()))
    plain = {**INTERPRETED, "spark.sql.shuffle.partitions": 1}
    others = {
        "alone": run(session_with(spark, INTERPRETED), tmp_path / "alone", ticks, alone),
        "backwards, one partition": run(session_with(spark, plain), tmp_path / "backwards", ticks, {"s": backwards}),
    }
    for how, found in others.items():
        for name, query in queries.items():
            # Not only the same rows: in the same order, too.
            problem = difference(found[name], shared[name].append_column("weft_place", pa.nulls(len(shared[name]))), ordered=True)
            assert not problem, f"seed {seed}, {how}: {query.weft('s')}\n    {problem}"


def test_where_true_false_and_null_add_up_to_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    """p, NOT p and p IS NULL part the rows: counts and sums of the parts are those of the whole."""
    ticks = some_ticks(Random("three parts"))
    predicates = ["k = 'a'", "i > 4 AND y < 10", "k LIKE 'a%' OR x > 0", "d BETWEEN 1 AND 50", "NOT f", "at > ts", "x = 0"]
    window = "window(ts, '20 seconds', '10 seconds')"
    with weft.Engine(tmp_path, spark=session_with(spark, INTERPRETED)) as engine:
        add_stream(engine, "s", tmp_path / "in", ticks)
        for place, p in enumerate(predicates):
            for part, where in enumerate((p, f"NOT ({p})", f"({p}) IS NULL", "true")):
                engine.register(f"SELECT count(*) AS n, sum(b) AS t FROM s WHERE {where} GROUP BY {window}", name=f"{place} {part}")
        for rows in ticks.rows:
            feed(engine, ["s"], as_table(rows))
        for place, p in enumerate(predicates):
            totals: list[dict[Any, tuple[int, int]]] = [{}, {}]
            for part in range(4):
                for row in engine.query(f"{place} {part}").results().to_pylist():
                    n, t = totals[part // 3].get(row["window_end"], (0, 0))
                    totals[part // 3][row["window_end"]] = n + row["n"], t + (row["t"] or 0)
            assert totals[0] == totals[1] and totals[0], p


def simple_rows(first: int, last: int, *, step: int = 1) -> pa.Table:
    """One row every `step` seconds from one second to another: keys a and b, i from 0 to 4, y a number."""
    seconds = range(first, last, step)
    rows = [{"ts": BEGIN + timedelta(seconds=second), "k": "ab"[second % 2], "i": second % 5, "y": float(second),
             "c": f"c{second % 3}", "u": second} for second in seconds]
    return as_table([{**dict.fromkeys(as_table([]).column_names), **row} for row in rows])


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], weft.Engine]:
    """Opens an engine on one folder, as often as asked; what is kept and claimed does not depend on Spark."""

    def open_engine() -> weft.Engine:
        engine = weft.testing.engine(tmp_path / "state")
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", watermark="0 seconds",
                          schema=", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()),
                          options={"maxFilesPerTrigger": 1})
        return engine

    return open_engine


COLUMNS = {"ts": "timestamp", "k": "string", "c": "string", "i": "int", "y": "double", "u": "bigint"}


def counts(handle: weft.ContinuousQuery, column: str = "n") -> dict[int, int]:
    """The sum of a column by window, windows by the second at which they start."""
    found: dict[int, int] = {}
    for row in handle.results().to_pylist():
        start = round((row["window_start"] - BEGIN).total_seconds())
        found[start] = found.get(start, 0) + row[column]
    return found


def feed_seconds(engine: weft.Engine, first: int, last: int) -> None:
    weft.testing.feed(engine, "s", simple_rows(first, last).select(list(COLUMNS)))


def test_a_late_query_over_a_finer_node_has_its_whole_history_at_once(opened: Callable[[], weft.Engine]) -> None:
    engine = opened()
    engine.register("SELECT k, i, sum(y) AS t, count(*) AS n FROM s GROUP BY window(ts, '10 seconds', '5 seconds'), k, i", name="fine")
    for tick in range(6):
        feed_seconds(engine, tick * 20, tick * 20 + 20)
    coarse = engine.register("SELECT k, count(*) AS n, sum(y) AS t FROM s WHERE i IN (3, 4) GROUP BY window(ts, '20 seconds'), k",
                             name="coarse")
    expected = {start: sum(second % 5 > 2 for second in range(start, start + 20)) for start in range(0, 100, 20)}
    assert coarse.status == "registered" and coarse.complete_from.year == 1
    assert counts(coarse) == expected, "before its first tick"
    feed_seconds(engine, 120, 141)
    assert coarse.status == "running" and coarse.complete_from.year == 1
    assert counts(coarse) == expected | {100: 8, 120: 8}, "after its first tick"
    engine.query("fine").drop()
    feed_seconds(engine, 141, 161)
    assert counts(coarse) == expected | {100: 8, 120: 8, 140: 8}, "without the node that gave it its history"
    engine.close()
    again = opened()
    assert counts(again.query("coarse")) == expected | {100: 8, 120: 8, 140: 8}, "opened again"
    again.close()


@pytest.mark.parametrize(("why", "sql"), [
    ("another statistic", "SELECT k, count(*) AS n, max(y) AS m FROM s GROUP BY window(ts, '10 seconds'), k"),
    ("another dimension", "SELECT c, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), c"),
    ("another predicate", "SELECT k, count(*) AS n FROM s WHERE y > -1 GROUP BY window(ts, '10 seconds'), k"),
    ("other cuts", "SELECT k, count(*) AS n FROM s WHERE u >= 0 GROUP BY window(ts, '10 seconds'), k"),
    ("other edges", "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '4 seconds'), k"),
    ("a filter", "SELECT k, count(*) AS n, count(*) FILTER (WHERE i > 1) AS f FROM s GROUP BY window(ts, '10 seconds'), k"),
    ("values to count", "SELECT k, count(*) AS n, count(DISTINCT c) AS d FROM s GROUP BY window(ts, '10 seconds'), k"),
])
def test_a_late_query_claims_no_window_that_it_lacks_a_row_of(opened: Callable[[], weft.Engine], why: str, sql: str) -> None:
    engine = opened()
    engine.register("SELECT k, sum(y) AS t, count(*) AS n FROM s WHERE u > 55 OR u > -5 GROUP BY window(ts, '10 seconds'), k", name="first")
    feed_seconds(engine, 0, 33)
    late = engine.register(sql, name="late")
    assert counts(late) == {}, "nothing yet"
    feed_seconds(engine, 33, 80)
    length = 4 if "edges" in why else 10
    moment = (late.complete_from - BEGIN).total_seconds()
    assert 32 < moment <= 40, "from the first slice on that only this tick has rows of"
    assert counts(late) == {start: length for start in range(0, 80 - length, length) if start >= moment}
    assert counts(engine.query("first")) == dict.fromkeys(range(0, 70, 10), 10), "nobody else noticed"
    engine.close()


def test_a_query_that_keeps_much_does_not_claim_what_one_that_keeps_little_let_go(opened: Callable[[], weft.Engine]) -> None:
    engine = opened()
    sql = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '20 seconds', '10 seconds'), k"
    little = engine.register(sql, name="little", keep="30 seconds")
    for tick in range(16):
        feed_seconds(engine, tick * 15, tick * 15 + 15)
    assert counts(little) == dict.fromkeys((190, 200, 210), 20)
    much = engine.register(sql.replace("count(*) AS n", "count(*) AS n, 1 AS one"), name="much")
    before = counts(much)
    assert set(before.values()) <= {20}, "before its first tick"
    feed_seconds(engine, 240, 255)
    after = counts(much)
    assert set(after.values()) <= {20} and after.keys() >= {210, 220}, "after it"
    assert all(BEGIN + timedelta(seconds=start) >= much.complete_from for start in after)
    engine.close()


def test_dropping_one_query_changes_no_other(opened: Callable[[], weft.Engine]) -> None:
    engine = opened()
    for place, group in enumerate(("k", "k, i", "i", "c, k")):
        engine.register(f"SELECT {group}, count(*) AS n, stddev(y) AS s, median(u) AS m FROM s WHERE u > {place * 3} "
                        f"GROUP BY window(ts, '{10 + 5 * place} seconds', '5 seconds'), {group}", name=f"q{place}")
    feed_seconds(engine, 0, 47)
    before = {name: engine.query(name).results() for name in ("q0", "q2")}
    engine.query("q1").drop()
    engine.query("q3").drop()
    for name, table in before.items():
        assert engine.query(name).results().equals(table), "at once"
    feed_seconds(engine, 47, 95)
    for name, table in before.items():
        now = engine.query(name).results()
        assert now.slice(0, table.num_rows).equals(table), "closed windows stay as they are"
        assert now.num_rows > table.num_rows
        assert engine.query(name).complete_from.year == 1
    engine.close()


def test_a_query_dropped_and_registered_again_starts_anew(opened: Callable[[], weft.Engine]) -> None:
    engine = opened()
    sql = "SELECT count(*) AS n FROM s GROUP BY window(ts, '10 seconds')"
    engine.register(sql, name="q").drop()
    feed_seconds(engine, 0, 25)
    again = engine.register(sql, name="q")
    feed_seconds(engine, 25, 60)
    assert counts(again) == {30: 10, 40: 10}, "nobody kept rows before it came"
    again.drop()
    again = engine.register(sql, name="q")
    assert counts(again) == {30: 10, 40: 10}, "dropped and back before a tick: all is still there"
    feed_seconds(engine, 60, 80)
    assert counts(again) == {30: 10, 40: 10, 50: 10, 60: 10}
    engine.close()


def test_an_engine_that_is_opened_again_before_every_tick_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """With the real streaming query and its checkpoint: new files each time, none twice, none left out."""
    random = Random("opened again")
    ticks = random_ticks(random, ticks=4, size=240, span=timedelta(seconds=120), delay=timedelta(seconds=4), begin=BEGIN)
    queries = {f"q{place}": query.weft("s") for place, query in enumerate(query_set(random))}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    write_ticks(whole / "in", ticks)
    with weft.Engine(whole / "state", spark=spark) as engine:
        add_stream(engine, "s", whole / "in", ticks)
        engine.register_all(queries)
        engine.run_available()
        expected = {name: answer(engine.query(name)) for name in queries}
        rows = engine.metrics()["streams"]["s"]["rows"]
    assert rows == 240 and sum(table.num_rows for table in expected.values()) > 20
    for number, some in enumerate(ticks.rows):
        write_tick(parts / "in", number, as_table(some))
        with weft.Engine(parts / "state", spark=spark) as engine:
            if number == 0:
                add_stream(engine, "s", parts / "in", ticks)
                engine.register_all(queries)
            engine.run_available()
    with weft.Engine(parts / "state") as engine:
        for name, table in expected.items():
            assert not difference(answer(engine.query(name)), table, ordered=False), queries[name]
        assert engine.metrics()["streams"]["s"]["rows"] == 240
        assert engine.metrics()["streams"]["s"]["ticks"] == 4
