"""Strings that are no UTF-8, from sources whose strings are bytes: they count, and are U+FFFD where they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

import weft

SCHEMA = "ts timestamp, k string, n int"
# Cut off at the bad byte, the first two and the last two would be one.
TEXTS = [b"ab\xffcd", b"ab", b"zz\xc3", b"zz", b"good", None]
QUERIES = {
    "groups": "SELECT k, count(*) AS c FROM s GROUP BY k ORDER BY k NULLS FIRST",
    "ends": "SELECT min(k) AS least, max(k) AS most, min_by(k, n) AS first, max_by(n, k) AS of_most FROM s",
    "values": "SELECT count(DISTINCT k) AS d, mode(k) AS m FROM s WHERE n <> 3",
    "made": "SELECT concat(k, '!') AS e, count(*) AS c FROM s WHERE n = 0 GROUP BY concat(k, '!')",
    "all": "SELECT count(*) AS c, sum(length(k)) AS chars FROM s",
}


def write(source: str, path: Path, start: int) -> None:
    """The texts, with as many seconds and numbers, and the first of them once more."""
    texts = pa.array([*TEXTS, TEXTS[0]], pa.binary()).view(pa.string())
    moments = pa.array([(start + place) * 1_000_000 for place in range(len(texts))], pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": moments, "k": texts, "n": pa.array(range(len(texts)), pa.int32())})
    pq.write_table(table, path) if source == "parquet" else orc.write_table(table, str(path))


def answers(engine: weft.Engine) -> dict[str, list[dict[str, Any]]]:
    return {name: engine.query(name).result().to_pylist() for name in QUERIES}


@pytest.mark.parametrize("source", ["parquet", "orc", "dataframe"])
def test_strings_that_are_no_utf8_count_and_can_be_read(source: str, tmp_path: Path, spark: SparkSession) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    given: dict[str, Any] = {"source": source, "path": folder, "schema": SCHEMA}
    if source == "dataframe":
        given = {"dataframe": spark.readStream.schema(SCHEMA).parquet(str(folder))}
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", **given, event_time="ts", watermark="1 minute")
        engine.register_all(QUERIES)
        for tick in range(2):
            write("parquet" if source == "dataframe" else source, folder / str(tick), 10 * tick)
            engine.run_available()
        found = answers(engine)
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {}
    groups = [(None, 2), ("ab", 2), ("ab\ufffdcd", 4), ("good", 2), ("zz", 2), ("zz\ufffd", 2)]
    assert found["groups"] == [{"k": k, "c": count} for k, count in groups]
    assert found["ends"] == [{"least": "ab", "most": "zz\ufffd", "first": "ab\ufffdcd", "of_most": 2}]
    assert found["values"] == [{"d": 4, "m": "ab\ufffdcd"}]
    assert found["made"] == [{"e": "ab\ufffdcd!", "c": 2}]
    assert found["all"][0]["c"] == 14
    # As an engine reads that has nothing in memory.
    with weft.Engine(tmp_path / "state") as engine:
        assert answers(engine) == found
