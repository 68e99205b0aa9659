"""Hazard: the order in which doubles are added, by tasks, ticks, slices and blocks, which nobody fixes."""

from __future__ import annotations

from math import fsum
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import feed

SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("x", pa.float64())])
WINDOW = 600
SECOND = 1_000_000


def test_float_sums_in_any_order_are_one_sum_to_nine_digits(tmp_path: Path, spark: SparkSession) -> None:
    """The same rows in one tick, and in ten ticks the other way round: sums and averages to 1e-9, all else exactly."""
    random = Random(1)
    # Of one sign and of all sizes: where terms cancel each other, no order of adding is right.
    rows = [{"ts": random.randrange(WINDOW * SECOND), "x": random.random() * 10 ** random.randint(-12, 12)} for _ in range(5000)]
    last = {"ts": 3 * WINDOW * SECOND, "x": 0.0}
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        for name, ticks in (("once", [[*rows, last]]), ("often", [*(rows[place::10] for place in reversed(range(10))), [last]])):
            engine.add_stream(name, source="parquet", path=tmp_path / name, schema="ts timestamp, x double",
                              event_time="ts", watermark="1 hour", max_ahead="any")
            engine.register(f"SELECT sum(x) AS s, avg(x) AS a, max(x) AS m, count(x) AS n FROM {name} "
                            f"GROUP BY window(ts, '{WINDOW} seconds', '10 seconds')", name=name)
            for tick in ticks:
                feed(engine, [name], pa.Table.from_pylist(tick, schema=SCHEMA))
            feed(engine, [name], pa.Table.from_pylist([{**last, "ts": 100 * WINDOW * SECOND}], schema=SCHEMA))
        for end in range(10, 2 * WINDOW, 70):
            inside = [row["x"] for row in rows if (end - WINDOW) * SECOND <= row["ts"] < end * SECOND]
            moment = f"1970-01-01T00:{end // 60:02d}:{end % 60:02d}"
            for name in ("once", "often"):
                (found,) = engine.query(name).result(end=moment).to_pylist()
                assert found["s"] == pytest.approx(fsum(inside), rel=1e-9)
                assert found["a"] == pytest.approx(fsum(inside) / len(inside), rel=1e-9)
                assert (found["m"], found["n"]) == (max(inside), len(inside))
