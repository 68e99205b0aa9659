"""A guard guards, although other queries share the row: what WHERE, FILTER or CASE leave out is never computed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import feed

ROWS = pa.table(
    {
        "ts": pa.array([second * 1_000_000 for second in range(8)], pa.timestamp("us", tz="UTC")),
        "port": pa.array([0, 2, 4, 0, 5, 2, None, 1], pa.int32()),
        "length": pa.array([10, 10, 2, 3, 10, 1, 7, 9], pa.int32()),
        "word": ["x", "12", "7", None, "y", "3", "4", "5"],
    }
)
QUERIES = {
    "conjunct": "SELECT count(*) AS n FROM s WHERE port <> 0 AND length / port > 0.5",
    "argument": "SELECT sum(length / port) AS n FROM s WHERE port <> 0",
    "filter": "SELECT sum(length / port) FILTER (WHERE port <> 0) AS n FROM s",
    "both": "SELECT max(length / port) FILTER (WHERE length / port < 4) AS n FROM s WHERE port <> 0",
    "group": "SELECT length / port AS g, count(*) AS n FROM s WHERE port <> 0 GROUP BY length / port ORDER BY g",
    "case": "SELECT sum(CASE WHEN port <> 0 THEN length / port END) AS n FROM s",
    "distinct": "SELECT count(DISTINCT length / port) AS n FROM s WHERE port <> 0",
    "carried": "SELECT concat(word, '!') AS w, cast(word AS int) AS i FROM s WHERE word < 'a' GROUP BY word ORDER BY w",
    "cast": "SELECT sum(cast(word AS int)) AS n FROM s WHERE word < 'a'",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[weft.Engine]:
    folder: Path = tmp_path_factory.mktemp("guards")
    engine = weft.Engine(folder / "state", spark=spark)
    engine.add_stream(
        "s",
        source="parquet",
        path=folder / "in",
        event_time="ts",
        schema="ts timestamp, port int, length int, word string",
    )
    engine.register_all(QUERIES)
    feed(engine, ["s"], ROWS)
    yield engine
    engine.close()


@pytest.mark.parametrize("name", QUERIES)
def test_a_guarded_query_answers_as_in_batch(engine: weft.Engine, spark: SparkSession, name: str) -> None:
    spark.createDataFrame(ROWS).createOrReplaceTempView("s")
    assert engine.query(name).status == "running"
    assert engine.query(name).result().to_pylist() == spark.sql(QUERIES[name]).toArrow().to_pylist()


def test_a_total_too_large_stops_no_stream(tmp_path: Path, spark: SparkSession) -> None:
    """Slices fit their type, the window does not: its reader hears of it, the others and the stream do not."""
    rows = pa.table({"ts": pa.array([1_000_000, 6_000_000, 30_000_000], pa.timestamp("us", tz="UTC")),
                     "d": pa.array([Decimal(6 * 10**37)] * 3, pa.decimal128(38, 0))})
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema="ts timestamp, d decimal(38, 0)",
                          event_time="ts")
        huge = engine.register("SELECT sum(d) AS s FROM s GROUP BY window(ts, '10 seconds', '5 seconds')", name="huge",
                               eager=True)
        fine = engine.register("SELECT count(*) AS c FROM s GROUP BY window(ts, '10 seconds', '5 seconds')", name="fine",
                               eager=True)
        feed(engine, ["s"], rows)
        feed(engine, ["s"], rows.slice(2))
        assert engine.metrics()["streams"]["s"]["ticks"] == 2
        assert fine.result(end="1970-01-01T00:00:10").to_pylist()[0]["c"] == 2
        with pytest.raises(weft.WeftError):
            huge.result(end="1970-01-01T00:00:10")
