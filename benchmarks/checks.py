"""Are the answers equal? Every window of the queries that both sides ran, and finished against plain Spark SQL."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.algebra.windows import Sliced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from weft import Engine

TOLERANCE = 1e-9


def rows_of(table: pa.Table) -> dict[tuple[Any, ...], list[Any]]:
    """Rows by their window's end and all values that are not doubles; doubles are compared with a tolerance."""
    table = table.drop_columns([name for name in ("window_start",) if name in table.column_names])
    names = sorted(table.column_names)
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for row in table.to_pylist():
        exact = tuple(str(row[name]) for name in names if not isinstance(row[name], float))
        rows.setdefault(exact, []).append([row[name] for name in names if isinstance(row[name], float)])
    return rows


def same(left: pa.Table, right: pa.Table) -> bool:
    """Whether two results are equal: doubles to a relative 1e-9, everything else exactly."""
    mine, theirs = rows_of(left), rows_of(right)
    return mine.keys() == theirs.keys() and all(
        len(mine[key]) == len(theirs[key])
        and all(
            math.isclose(a, b, rel_tol=TOLERANCE)
            for one, other in zip(sorted(mine[key]), sorted(theirs[key]), strict=True)
            for a, b in zip(one, other, strict=True)
        )
        for key in mine
    )


def count_equal(engine: Engine, answers: dict[str, pa.Table]) -> tuple[int, int]:
    """How many of the queries gave the same windows as their separate streaming queries, and of how many.

    A separate query closes its last windows one micro-batch later: what both have closed is compared, and a query of
    which one side has closed nothing yet is not counted.
    """
    equal = checked = 0
    for name, expected in answers.items():
        tables = (engine.query(name).results(), expected)
        if not all(table.num_rows for table in tables):
            continue
        newest = min(pa.compute.max(table["window_end"]).as_py() for table in tables)
        closed = [
            table.filter(pa.compute.less_equal(table["window_end"], pa.scalar(newest, table["window_end"].type)))
            for table in tables
        ]
        checked += 1
        equal += same(*closed)
    return equal, checked


def count_equal_to_spark(engine: Engine, spark: SparkSession, packets: str, names: list[str]) -> tuple[int, int]:
    """The same for newest windows, stored ahead, against plain Spark SQL over the rows of each window."""
    spark.read.parquet(packets).createOrReplaceTempView("packets_at_rest")
    equal = 0
    for name in names:
        query = engine.query(name)
        got = query.result()
        window = engine.registry.query(name).needs.window
        watermark = engine.state_of("packets").watermark
        assert isinstance(window, Sliced) and watermark is not None
        end = window.newest_closed_end(watermark)
        sql = query.sql.replace("FROM packets", "FROM packets_at_rest").replace(
            "SELECT ", "SELECT window.end AS window_end, ", 1
        )
        expected = spark.sql(f"SELECT * FROM ({sql}) WHERE window_end = timestamp_micros({end})").toArrow()
        equal += same(got, expected)
    return equal, len(names)


def text_of(value: Any) -> str:
    """A number as people read it."""
    if isinstance(value, float | Decimal):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
