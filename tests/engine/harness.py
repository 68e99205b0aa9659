"""Streams on disk: one Parquet file a tick, in an order that Spark's file source keeps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.rows import DDL, Ticks, as_table
from weft.algebra.windows import duration_text


def write_tick(folder: Path, number: int, rows: pa.Table) -> None:
    """The file of a tick. Spark takes files in the order of their times, so these are set apart."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden, path = folder / f".{number}.tmp", folder / f"tick-{number:05d}.parquet"
    pq.write_table(rows, hidden)
    os.utime(hidden, (1_600_000_000 + number, 1_600_000_000 + number))
    hidden.rename(path)


def write_ticks(folder: Path, ticks: Ticks) -> None:
    for number, rows in enumerate(ticks.rows):
        write_tick(folder, number, as_table(rows))


def add_stream(engine: weft.Engine, name: str, folder: Path, ticks: Ticks) -> None:
    """The stream of some ticks, one file at a time."""
    engine.add_stream(name, source="parquet", path=folder, schema=DDL, event_time="ts",
                      watermark=duration_text(ticks.delay), max_ahead="any", options={"maxFilesPerTrigger": 1})


def session_with(spark: SparkSession, settings: Mapping[str, Any]) -> SparkSession:
    """A session of its own on the same cores, with other settings."""
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, str(value))
    return session


def feed(engine: weft.Engine, streams: Iterable[str], rows: pa.Table) -> None:
    """One tick for each of the streams on Spark, without the cost of a streaming query: the same tick over the same rows."""
    for name in streams:
        weft.testing.feed(engine, name, rows, spark=True)
