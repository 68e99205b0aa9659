"""Two engines that run one stream in turns: each goes on from where the other one came to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import write_tick

FIRST = datetime(2030, 1, 1, tzinfo=UTC)


def arrive(folder: Path, number: int) -> None:
    """A file with one row more than the one before."""
    moments = [FIRST + timedelta(minutes=number, seconds=second) for second in range(number + 1)]
    write_tick(folder, number, pa.table({"ts": pa.array(moments, pa.timestamp("us", tz="UTC"))}))


def test_engines_run_a_stream_in_turns(tmp_path: Path, spark: SparkSession) -> None:
    with (
        weft.Engine(tmp_path / "state", spark=spark) as one,
        weft.Engine(tmp_path / "state", spark=spark) as other,
    ):
        arrive(tmp_path / "in", 0)
        for engine in (one, other):
            engine.add_stream("s", source="parquet", path=tmp_path / "in", schema="ts timestamp", event_time="ts",
                              max_ahead="any")
        one.register("SELECT count(*) AS n FROM s", name="n")
        counts = []
        for number, engine in enumerate([one, other, other, one, one], start=1):
            engine.run_available()
            counts.append(engine.query("n").result().to_pylist()[0]["n"])
            arrive(tmp_path / "in", number)
    assert counts == [1, 3, 6, 10, 15]
