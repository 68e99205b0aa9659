"""Weft's answers against plain Spark SQL over the same packets, window by window.

Spark gets the packets of the window that were not late for it, by the rule and by the generator's own account of
which were; so the engine's lateness is under test too. Doubles may differ by 1e-9 of their size, everything else not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.demo.packets import Packets, file_name
from weft.demo.queries import DemoQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from weft.engine import Engine

TOLERANCE = 1e-9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALL = "weft_demo_all"
WINDOW = "weft_demo_window"
THREADS = 3
SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true",
            "spark.sql.adaptive.enabled": "false"}


@dataclass(frozen=True)
class Comparison:
    """A window of a query; `end` is None for totals. `difference` is empty where the answers are equal."""

    query: DemoQuery
    end: int | None
    rows: int
    difference: str

    def __str__(self) -> str:
        when = "totals" if self.end is None else f"window that ends at {EPOCH + timedelta(microseconds=self.end)}"
        return f"{self.query.name}, {when}: {self.difference or 'equal'}\n  {self.query.sql}"


def pick_windows(queries: Sequence[DemoQuery], watermark: int, *, count: int,
                 seed: int) -> list[tuple[DemoQuery, int | None]]:
    """Random closed windows of random queries; a query without a window is picked with its totals."""
    random = Random(seed)
    usable = [query for query in queries if not query.slide or query.ends(watermark)]
    picked = [random.choice(usable) for _ in range(count)] if usable else []
    return [(query, random.choice(query.ends(watermark)) if query.slide else None) for query in picked]


def compare(engine: Engine, packets: Packets, folder: Path,
            windows: Sequence[tuple[DemoQuery, int | None]]) -> Iterator[Comparison]:
    """Compare the windows, each as soon as both answers are there."""
    session = engine.spark.newSession()
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    view = _packets_with_watermark(session, packets, folder)
    view.createOrReplaceTempView(ALL)

    def compare_window(index: int, query: DemoQuery, end: int | None) -> Comparison:
        handle = engine.query(query.name)
        ours = handle.result() if end is None else handle.result(end=EPOCH + timedelta(microseconds=end))
        expected = _spark_rows(session, f"{WINDOW}_{index}", query, end)
        ours = ours.drop_columns([name for name in ("window_start", "window_end") if end is not None])
        return Comparison(query, end, len(expected), difference(_rows(ours), expected))

    # Most of such a small query's time is planning, which takes a single core: several at once use the others.
    with ThreadPoolExecutor(THREADS) as pool:
        started = [pool.submit(compare_window, index, query, end) for index, (query, end) in enumerate(windows)]
        try:
            for comparison in started:
                yield comparison.result()
        finally:
            pool.shutdown(cancel_futures=True)
            view.unpersist()


def _packets_with_watermark(session: SparkSession, packets: Packets, folder: Path) -> DataFrame:
    """All packets, each with the watermark that its file came after."""
    from pyspark.sql import functions as f

    known = [(file_name(index), mark) for index, mark in enumerate(packets.watermarks)]
    marks = session.createDataFrame(known, "file string, watermark bigint")
    rows = session.read.parquet(str(folder)).withColumn("file", f.col("_metadata.file_name"))
    return rows.join(f.broadcast(marks), "file").cache()


def _spark_rows(session: SparkSession, view: str, query: DemoQuery, end: int | None) -> list[tuple[Any, ...]]:
    """Spark's answer. Totals count every packet; a window counts the packets that came while it was open."""
    condition = "true"
    if end is not None:
        start = end - query.seconds * 1_000_000
        condition = (f"ts >= timestamp_micros({start}) AND ts < timestamp_micros({end}) "
                     f"AND (watermark IS NULL OR watermark < {end})")
    session.sql(f"SELECT * FROM {ALL} WHERE {condition}").createOrReplaceTempView(view)
    return [tuple(row) for row in session.sql(query.batch_sql(view, end)).collect()]


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(index).to_pylist() for index in range(table.num_columns)), strict=True))


def difference(ours: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> str:
    """How two answers differ, whatever the order of their rows; empty where they do not.

    >>> difference([("a", 1.0)], [("a", 1.0 + 1e-12)]), difference([("a", 1)], [("a", 2)])
    ('', "Weft has ('a', 1), Spark ('a', 2)")
    """
    if len(ours) != len(expected):
        return f"Weft has {len(ours)} rows, Spark {len(expected)}"
    for our_row, spark_row in zip(sorted(ours, key=_key), sorted(expected, key=_key), strict=True):
        if not all(_same(a, b) for a, b in zip(our_row, spark_row, strict=True)):
            return f"Weft has {our_row}, Spark {spark_row}"
    return ""


def _key(row: tuple[Any, ...]) -> list[tuple[str, str]]:
    """Group columns come first in every query and are no doubles, so rounding does not change the order of groups."""
    return [(type(value).__name__, "" if isinstance(value, float) else str(value)) for value in row]


def _same(ours: Any, expected: Any) -> bool:
    """Whether two values are equal, or so close that they differ by rounding only."""
    if isinstance(ours, float) and isinstance(expected, float):
        both_nan = math.isnan(ours) and math.isnan(expected)
        return both_nan or math.isclose(ours, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(ours) is type(expected) and bool(ours == expected)
