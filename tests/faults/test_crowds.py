"""A group for nearly every row: more partial rows than the driver has room for stop the query that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.spark.kernels
import weft.spark.room
from tests.engine.harness import feed

ROWS = 20_000
FIRST = datetime(2030, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("saddr", pa.string()), ("length", pa.int32())])
QUERIES = {
    "bomb": "SELECT ts, saddr, length, count(*) AS n FROM s GROUP BY ts, saddr, length",
    "windowed_bomb": "SELECT saddr, max(length) AS m FROM s GROUP BY window(ts, '1 minute'), saddr",
    "small": "SELECT length % 3 AS g, count(*) AS n FROM s GROUP BY length % 3",
    "total": "SELECT sum(length) AS x FROM s",
}

# A kernel, and how many rows it takes in the driver: with none, a pass runs in the tasks.
WAYS = [("spark", 0), ("duckdb", 400_000), ("duckdb", 0)]


@contextmanager
def result_size(spark: SparkSession, size: str) -> Iterator[None]:
    """Spark's own bound for what a job may send to the driver, which is 1 GB unless it is set."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", size)
    try:
        yield
    finally:
        conf.remove("spark.driver.maxResultSize")


@contextmanager
def room(spark: SparkSession, size: int) -> Iterator[None]:
    """Another bound for what one task may make."""
    with patch.object(weft.spark.room, "room_of", lambda session: size), \
            patch.object(weft.spark.kernels, "room_of", lambda session: size):
        yield


def many_rows() -> pa.Table:
    """Every row with an address, a length and a time of its own."""
    return pa.table(
        [
            [FIRST + timedelta(milliseconds=number) for number in range(ROWS)],
            [f"10.0.{number // 250}.{number % 250}" for number in range(ROWS)],
            list(range(ROWS)),
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize(("bound", "setting"), [
    (lambda spark: result_size(spark, "200k"), "or more; see spark.driver.maxResultSize (200.0 KiB)"),
    (lambda spark: room(spark, 100_000), " partial rows; see spark.driver.memory"),
], ids=["result_size", "room"])
@pytest.mark.parametrize(("kernel", "in_driver"), WAYS)
def test_a_query_with_too_many_groups_is_stopped_alone(
    tmp_path: Path, spark: SparkSession, bound: Callable[[SparkSession], AbstractContextManager[None]], setting: str,
    kernel: str, in_driver: int, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weft.spark.kernels, "MOST_DRIVER_ROWS", in_driver)
    rows = many_rows()
    with weft.Engine(tmp_path / "state", spark=spark, kernel=kernel) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", max_ahead="any",
                          schema="ts timestamp, saddr string, length int")
        engine.register_all(QUERIES)
        with bound(spark):
            feed(engine, ["s"], rows)
        for name in ("bomb", "windowed_bomb"):
            said = engine.query(name).metrics()["error"]
            assert "since batch 0" in said and ": too many groups in one batch for the driver: " in said, said
            assert said.endswith(setting), said
        assert engine.query("small").result().num_rows == 3
        assert engine.query("total").result().to_pylist() == [{"x": ROWS * (ROWS - 1) // 2}]
        assert {one.name: one.status for one in engine.queries()} == {
            "bomb": "failed", "windowed_bomb": "failed", "small": "running", "total": "running",
        }


@pytest.mark.parametrize(("kernel", "in_driver"), WAYS)
def test_queries_that_have_room_one_by_one_are_computed_so(
    tmp_path: Path, spark: SparkSession, kernel: str, in_driver: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is guilty alone, and the batch would come again and again: its nodes are computed one after the other."""
    monkeypatch.setattr(weft.spark.kernels, "MOST_DRIVER_ROWS", in_driver)
    apart = {
        "addresses": "SELECT saddr, count(*) AS n FROM s GROUP BY saddr",
        "lengths": "SELECT length, count(*) AS n FROM s GROUP BY length",
        "times": "SELECT ts, count(*) AS n FROM s GROUP BY ts",
    }
    with weft.Engine(tmp_path / "state", spark=spark, sharing="everything", kernel=kernel) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", max_ahead="any",
                          schema="ts timestamp, saddr string, length int")
        engine.register_all(apart)
        # A row of all three in one job is twice as wide as one alone, and there are three times as many.
        with room(spark, ROWS * 80):
            feed(engine, ["s"], many_rows())
        assert {one.name: one.status for one in engine.queries()} == dict.fromkeys(apart, "running")
        for name in apart:
            found = engine.query(name).result()
            assert found.num_rows == ROWS and set(found["n"].to_pylist()) == {1}
