"""All that a tick reads of a batch are the same rows, also where computing them again would give others."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

import weft
from weft.spark.repeat import is_repeatable

pytestmark = pytest.mark.spark
DDL = "ts timestamp, v int"
ROWS = 200


class Made(DataSource):
    """A source that makes its rows up, in Python."""

    @classmethod
    def name(cls) -> str:
        return "made"

    def schema(self) -> str:
        return DDL

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return MadeReader()


class MadeReader(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        return iter([(datetime(2030, 1, 1, tzinfo=UTC), 1)]), {"at": start["at"] + 1}


def arrive(folder: Path, name: str, *values: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text("".join(f"2030-01-01 12:00:00,{value}\n" for value in values))
    (folder / f".{name}").rename(folder / name)


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(DDL).option("timeZone", "UTC").csv(str(folder))


def held_by(spark: SparkSession) -> int:
    """How many sets of rows Spark keeps."""
    return int(spark.sparkContext._jsc.sc().getPersistentRDDs().size())  # type: ignore[union-attr]


def test_what_repeats_itself_is_known(spark: SparkSession, tmp_path: Path) -> None:
    rows = stream_of(spark, tmp_path / "in")
    spark.dataSource.register(Made)
    repeatable = {
        "files": rows,
        "made by a rule": spark.readStream.format("rate").load(),
        "filtered": rows.where("v > 1").select("ts", (f.col("v") + 1).alias("w")).withWatermark("ts", "1 second"),
        "both": rows.union(rows.where("v < 3")),
        "exploded": rows.select("ts", f.explode(f.array("v", "v")).alias("v")),
    }
    others = {
        "by chance": rows.withColumn("r", f.rand()),
        "chosen by chance": rows.where(f.rand() < 0.5),
        "a name for each": rows.withColumn("id", f.expr("uuid()")),
        "a function that says so": rows.withColumn("r", f.udf(lambda v: v, "int").asNondeterministic()("v")),
        "code in Python": rows.mapInPandas(lambda parts: parts, DDL),
        "a source in Python": spark.readStream.format("made").load(),
        "the first of several": rows.dropDuplicates(["v"]),
        "kept between batches": rows.groupBy("v").count(),
        "beside a table": rows.join(spark.range(3), f.col("v") == f.col("id")),
    }
    assert {name: is_repeatable(one) for name, one in repeatable.items()} == dict.fromkeys(repeatable, True)
    assert {name: is_repeatable(one) for name, one in others.items()} == dict.fromkeys(others, False)


@pytest.mark.parametrize(("kernel", "jobs"), [("spark", 3), ("duckdb", 2)])
def test_two_statements_letters_and_trials_see_the_same_rows(
    spark: SparkSession, tmp_path: Path, kernel: str, jobs: int
) -> None:
    """Half of the rows, by chance, have no time, and each has a number that was drawn for it.

    By a function in Python: rand() has a seed in the plan, and mostly repeats itself where the rows come as they came.
    """
    drawn = f.udf(lambda _: secrets.randbelow(1_000_000_000), "int").asNondeterministic()
    rows = stream_of(spark, tmp_path / "in").withColumn("r", drawn("v"))
    rows = rows.withColumn("ts", f.when(f.col("r") % 2 == 0, f.col("ts")))
    with weft.Engine(tmp_path / "state", spark=spark, kernel=kernel) as engine:
        engine.add_stream("s", dataframe=rows, event_time="ts", max_ahead="any")
        # A text at an extreme is computed by a statement of its own.
        query = engine.register("SELECT count(*) AS n, max(r) AS m, max(CAST(r + 1000000000 AS string)) AS t FROM s", name="q")
        fragile = engine.register("SELECT sum(10 div v) AS x FROM s", name="fragile")

        def check(arrived: int) -> None:
            (found,) = query.result().to_pylist()
            said = engine.metrics()["streams"]["s"]
            assert int(found["t"]) == found["m"] + 1_000_000_000
            assert 0 < found["n"] < arrived
            assert found["n"] + sum(said["dead_letters"].values()) == said["rows"] == arrived
            assert engine.dead_letters("s").num_rows == arrived - found["n"]
            # What was held is let go with its tick.
            assert held_by(spark) <= before

        before = held_by(spark)
        arrive(tmp_path / "in", "first", *[1] * ROWS)
        engine.run_available()
        assert engine.metrics()["streams"]["s"]["last_tick"]["jobs"] >= jobs
        check(ROWS)
        assert fragile.status == "running"
        arrive(tmp_path / "in", "second", *[0] * ROWS)
        engine.run_available()
        assert fragile.status == "failed"
        check(2 * ROWS)


def test_of_files_nothing_is_held(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows come again as they were, so that keeping them would cost and give nothing."""
    arrive(tmp_path / "in", "first", 1, 2)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("rows of a file are held")

    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any")
        query = engine.register("SELECT max(v) AS m, max(CAST(v AS string)) AS t FROM s", name="q")
        monkeypatch.setattr(type(stream_of(spark, tmp_path / "in")), "localCheckpoint", never)
        engine.run_available()
        assert query.result().to_pylist() == [{"m": 2, "t": "2"}]
