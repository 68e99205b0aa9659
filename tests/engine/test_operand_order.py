"""Sums and products of doubles and wide decimals, whose order matters: each as Spark computes it alone."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft.testing
from tests.engine.oracle import BatchSpark

ROWS = [
    {"ts": "2026-01-01T00:00:01", "a": a, "b": b, "c": c, "f": c, "x": Decimal("0.0005"), "y": Decimal("0.0004"), "z": Decimal(1000000)}
    for a, b, c in [(0.1, 0.2, 0.3), (1e16, -1e16, 1.0), (1e10, -1e10, 1e-10), (1e-200, 1e-200, 1e300), (-0.0, 0.0, 0.0)]
]
ORDERS = [order for operator in "+*" for names in permutations("abc") for order in (
    f"{names[0]} {operator} {names[1]} {operator} {names[2]}", f"{names[0]} {operator} ({names[1]} {operator} {names[2]})")]
QUERIES = [
    *(f"SELECT {order} AS k, count(*) AS n FROM {{}} GROUP BY {order}" for order in ORDERS),
    *(f"SELECT count(*) AS n, min({order}) AS least, max({order}) AS most FROM {{}} WHERE {order} > 0.6D" for order in ORDERS),
    *(f"SELECT {order} AS k, count(*) AS n FROM {{}} GROUP BY {order}" for order in ("x * y * z", "z * y * x", "x * z * y", "x * (y * z)")),
    "SELECT f + f + a AS k, count(*) AS n FROM {} GROUP BY f + f + a",
    "SELECT a + f + f AS k, count(*) AS n FROM {} GROUP BY a + f + f",
    "SELECT f * f * f + a AS k, count(*) AS n FROM {} GROUP BY f * f * f + a",
]


def lines(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("on_spark", [True, False], ids=["spark", "fed"])
def test_no_order_of_operands_is_taken_for_another(spark: SparkSession, tmp_path: Path, on_spark: bool) -> None:
    with weft.testing.engine(tmp_path / "state", spark=spark) as engine:
        schema = "ts timestamp, a double, b double, c double, f float, x decimal(38, 18), y decimal(38, 18), z decimal(38, 18)"
        weft.testing.add_stream(engine, "s", schema=schema, event_time="ts", watermark="1 hour")
        for number, text in enumerate(QUERIES):
            engine.register(text.format("s"), name=f"q{number}")
        weft.testing.feed(engine, "s", ROWS, spark=on_spark)
        answers = {text: lines(engine.query(f"q{number}").result()) for number, text in enumerate(QUERIES)}
        rows = weft.testing.fed_table(ROWS, engine.registry.stream("s"))
    batch = BatchSpark(spark, rows)
    expected = {text: lines(batch.answer(text.format("rows"))) for text in QUERIES}
    batch.close()
    assert len(set(map(str, expected.values()))) >= 10, "orders matter"
    assert {text: answer for text, answer in answers.items() if answer != expected[text]} == {}
