"""What Spark spells in a way of its own, through the whole engine: values and types are those of plain Spark SQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import feed
from tests.engine.oracle import BatchSpark, difference

COLUMNS = "ts timestamp, a int, b string, x double, m decimal(9,0)"
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("a", pa.int32()), ("b", pa.string()), ("x", pa.float64()), ("m", pa.decimal128(9, 0))])
ROWS = [{"ts": place * 7_654_321 + 1_704_085_150_000_000, "a": [1, 1, 2, None, 3][place % 5], "b": ["u", "v", None][place // 5 % 3],
         "x": [0.0, -0.0, float("nan"), None][place // 2 % 4], "m": Decimal(place % 4 - 1)} for place in range(90)]
QUERIES = (
    "SELECT count(*) AS n FROM {} WHERE NOT (a IS DISTINCT FROM 1)",
    "SELECT a, count(*) AS n FROM {} WHERE (a IS DISTINCT FROM length(b)) GROUP BY a",
    "SELECT extract(SECOND FROM ts) AS s, count(*) AS n FROM {} GROUP BY extract(SECOND FROM ts)",
    "SELECT max(extract(SECS FROM ts)) AS s, sum(extract(SECOND FROM ts)) AS t, avg(extract(S FROM ts)) AS u, min(extract(MINS FROM ts)) AS m FROM {}",
    "SELECT extract(SECOND FROM cast(ts AS date)) AS s, count(*) AS n FROM {} WHERE extract(SECOND FROM ts) >= 30.5 GROUP BY cast(ts AS date)",
    "SELECT count(DISTINCT a, b) AS n, count(DISTINCT a, b, x) AS m, count(DISTINCT b, a) AS o, count(DISTINCT x, a) AS p, count(DISTINCT a) AS q FROM {}",
    "SELECT m, count(DISTINCT a, b) AS n, count(*) AS c, sum(a) AS s FROM {} GROUP BY m",
    "SELECT b, count(DISTINCT a, x) FILTER (WHERE m > 0) AS n, count(DISTINCT a, NULL) AS z, count(DISTINCT a, a) AS d FROM {} WHERE a < 3 GROUP BY b",
    "SELECT a, count(DISTINCT a, b) AS n FROM {} GROUP BY a HAVING count(DISTINCT a, b) > 1",
    "SELECT count(*) AS n FROM {} WHERE ts < TIMESTAMP '2024-01-01 00:05:00 America/New_York'",
    "SELECT ts < TIMESTAMP '2024-01-01 06:05:00.25 Europe/Paris' AS early, count(*) AS n FROM {} GROUP BY ts < TIMESTAMP '2024-01-01 06:05:00.25 Europe/Paris'",
    "SELECT ceil(m) AS c, floor(m) AS f, ceil(sum(m)) AS s, floor(avg(m)) AS g FROM {} GROUP BY m",
)


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[pa.Table, pa.Table]]:
    """What the engine says of all queries together, rows split over two ticks, and what Spark says, by query."""
    folder: Path = tmp_path_factory.mktemp("spellings")
    rows = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    batch = BatchSpark(spark, rows)
    with weft.Engine(folder / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=folder / "s", schema=COLUMNS, event_time="ts", watermark="1 hour")
        for place, text in enumerate(QUERIES):
            engine.register(text.format("s"), name=f"q{place}")
        feed(engine, ["s"], rows.slice(0, 41))
        feed(engine, ["s"], rows.slice(41))
        found = {text: (engine.query(f"q{place}").result(), batch.answer(text.format("rows"))) for place, text in enumerate(QUERIES)}
    batch.close()
    return found


@pytest.mark.parametrize("text", QUERIES)
def test_spellings_are_sparks(answers: dict[str, tuple[pa.Table, pa.Table]], text: str) -> None:
    found, expected = answers[text]
    assert found.num_rows and not difference(found, expected, ordered=False)
