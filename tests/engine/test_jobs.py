"""Spark jobs per tick are few and do not grow with queries; what a failing query costs, it costs alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import write_tick
from weft.spark.runner import JobCounter

DDL = "ts timestamp, k string, n int, m int"
MINUTE = 60_000_000


def rows(first: int, count: int = 60) -> pa.Table:
    """One row a second: keys a to c, n from 0 to 6, m its double."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array([number * 1_000_000 for number in numbers], pa.timestamp("us", tz="UTC")),
            "k": ["abc"[number % 3] for number in numbers],
            "n": pa.array([number % 7 for number in numbers], pa.int32()),
            "m": pa.array([number % 7 * 2 for number in numbers], pa.int32()),
        }
    )


# A kernel, what Spark is told about the files so that it reads them itself, and the jobs of a tick without a sort and
# with one.
SPARK_READS = {"recursiveFileLookup": "false"}
KERNELS = pytest.mark.parametrize(
    ("kernel", "options", "plain", "sorted_"),
    [("spark", {}, 1, 2), ("duckdb", SPARK_READS, 1, 1), ("duckdb", {}, 0, 0)],
    ids=["spark", "duckdb", "files"],
)


def opened(
    folder: Path, spark: SparkSession, ticks: int = 2, kernel: str = "auto", options: Mapping[str, str] | None = None
) -> weft.Engine:
    for number in range(ticks):
        write_tick(folder / "in", number, rows(number * 60))
    engine = weft.Engine(folder / "state", spark=spark, kernel=kernel)
    engine.add_stream(
        "s", source="parquet", path=folder / "in", schema=DDL, event_time="ts",
        options={"maxFilesPerTrigger": 1, **(options or {})},
    )
    return engine


def varied(count: int) -> dict[str, str]:
    wheres = ["", "WHERE n > {}", "WHERE k = 'a'", "WHERE n + m > {} OR k = 'b'"]
    return {
        f"q{place}": f"SELECT k, sum(n) AS total, avg(m) AS mean FROM s {wheres[place % 4].format(place % 5)} "
        f"GROUP BY window(ts, '{place % 6 + 1}0 seconds', '10 seconds'), k"
        for place in range(count)
    }


def last_tick(engine: weft.Engine) -> dict[str, object]:
    return dict(engine.metrics()["streams"]["s"]["last_tick"])


@KERNELS
def test_jobs_per_tick_are_the_same_with_10_and_with_1000_queries(
    tmp_path: Path, spark: SparkSession, kernel: str, options: Mapping[str, str], plain: int, sorted_: int
) -> None:
    jobs = {}
    for count in (10, 1000):
        with opened(tmp_path / str(count), spark, kernel=kernel, options=options) as engine:
            engine.register_all(varied(count), eager=True)
            engine.run_available()
            jobs[count] = last_tick(engine)["jobs"]
            assert engine.metrics()["queries"] == count
            assert engine.query("q0").result().num_rows == 3
    assert jobs[10] == jobs[1000] == plain


@KERNELS
def test_statistics_that_need_a_sort_cost_one_job_more_however_many(
    tmp_path: Path, spark: SparkSession, kernel: str, options: Mapping[str, str], plain: int, sorted_: int
) -> None:
    """It is Spark that needs a job of its own for them."""
    with opened(tmp_path, spark, kernel=kernel, options=options) as engine:
        engine.register_all(
            {
                f"q{place}": f"SELECT n, max(k) AS m, last(k) AS z FROM s WHERE m > {place} "
                "GROUP BY window(ts, '10 seconds'), n"
                for place in range(20)
            }
        )
        engine.run_available()
        assert last_tick(engine)["jobs"] == sorted_
        newest = engine.query("q0").result()
        # The newest closed window has the rows of seconds 100 to 109; of q0, those whose m is above 0.
        assert newest.select(["n", "m", "z"]).to_pylist() == [
            {"n": n, "m": max(keys), "z": keys[-1]}
            for n in range(7)
            if (keys := ["abc"[number % 3] for number in range(100, 110) if number % 7 == n and number % 7 * 2 > 0])
        ]


def test_a_stream_without_queries_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    with opened(tmp_path, spark) as engine:
        engine.run_available()
        assert engine.metrics()["streams"]["s"]["rows"] == 120
        late = engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '10 seconds')", name="late")
        assert late.results().num_rows == 0 and late.complete_from is None
        total = engine.register("SELECT count(*) AS n FROM s", name="total")
        write_tick(tmp_path / "in", 2, rows(120))
        engine.run_available()
        # Its history starts where the rows that nobody kept end.
        assert late.results()["n"].to_pylist() == [10] * 5
        assert total.result()["n"].to_pylist() == [60]
        assert total.complete_from == 2 and "every row since tick 2" in total.explain()


@pytest.mark.parametrize("kernel", ["spark", "duckdb"])
def test_rows_without_a_time_are_counted_and_left_out(tmp_path: Path, spark: SparkSession, kernel: str) -> None:
    table = rows(0)
    timeless = table.set_column(0, "ts", pa.nulls(60, table["ts"].type))
    with opened(tmp_path, spark, kernel=kernel) as engine:
        write_tick(tmp_path / "in", 2, timeless)
        total = engine.register("SELECT count(*) AS n FROM s", name="total")
        engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '10 seconds')", name="windows")
        engine.run_available()
        metrics = engine.metrics()["streams"]["s"]
        assert (metrics["rows"], metrics["dead_letters"]) == (180, {"no event time": 60})
        assert total.result()["n"].to_pylist() == [120]
        with engine.catalog.read() as reader:
            *_, without, with_dead_rows = (tick.detail["jobs"] for tick in reader.tick_log("s"))
        assert with_dead_rows == without + 1


BAD = {
    "divides": "SELECT sum(10 / (n - 6)) AS x FROM s GROUP BY window(ts, '10 seconds')",
    "casts": "SELECT cast(k AS int) AS x, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), cast(k AS int)",
    "overflows": "SELECT sum(n * 2000000000) AS x FROM s GROUP BY window(ts, '10 seconds')",
}


@pytest.mark.parametrize("kernel", ["spark", "duckdb"])
def test_a_query_that_fails_on_a_row_stops_alone_and_says_why(tmp_path: Path, spark: SparkSession, kernel: str) -> None:
    with opened(tmp_path, spark, ticks=3, kernel=kernel) as engine:
        good = engine.register_all(varied(30))
        for name, sql in BAD.items():
            engine.register(sql, name=name)
        engine.run_available()
        assert engine.metrics()["streams"]["s"]["ticks"] == 3
        for query in good:
            assert query.status == "running"
        newest = [number for number in range(160, 170)]
        totals = [sum(number % 7 for number in newest if number % 3 == key) for key in range(3)]
        assert good[0].result()["total"].to_pylist() == totals
        failed = {name: engine.query(name) for name in BAD}
        assert {query.status for query in failed.values()} == {"failed"}
        assert "DIVIDE_BY_ZERO" in failed["divides"].metrics()["error"]
        assert "CAST_INVALID_INPUT" in failed["casts"].metrics()["error"]
        with pytest.raises(weft.EngineError, match="query-failed") as refusal:
            failed["overflows"].result()
        assert refusal.value.code == "query-failed" and "batch 0" in refusal.value.message
        failed["casts"].drop()
        assert "casts" not in [query.name for query in engine.queries()]
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        assert engine.query("divides").status == "failed"
        assert engine.query("q0").status == "running"


def test_jobs_are_counted_although_spark_forgets_those_of_long_ago() -> None:
    remembered = list(range(1000))
    jobs = JobCounter(lambda: remembered)
    before = jobs()
    remembered = [*remembered[3:], 1000, 1004, 1005]
    assert jobs() - before == 3
    assert jobs() - before == 3
