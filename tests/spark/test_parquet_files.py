"""Which files a pass reads by itself: those that Spark would read as they are."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.feeds.streams import Stream
from weft.spark.parquet_files import LOCAL, found
from weft.sql.ddl import parse_schema

ROWS = pa.table(
    {"ts": pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC")), "day": pa.array([date(1500, 1, 1)])}
)


def is_read(path: Path) -> bool:
    columns = parse_schema("ts timestamp, day date")
    stream = Stream("s", columns, "ts", timedelta(0), source="parquet", path=str(path.parent))
    return found(stream, [f"{LOCAL}{path}"], 0, 10) is not None


@pytest.mark.parametrize(("footer", "is_plain"), [
    ({}, True),
    ({"org.apache.spark.version": "3.0.0"}, True),
    ({"org.apache.spark.version": "4.1.0"}, True),
    ({"org.apache.spark.version": "2.4.8"}, False),
    ({"org.apache.spark.version": "3.2.0", "org.apache.spark.legacyDateTime": ""}, False),
])
def test_dates_of_an_old_calendar_are_left_to_spark(tmp_path: Path, footer: dict[str, str], is_plain: bool) -> None:
    """Spark 2 wrote dates by the calendar of its time and said so by its version alone."""
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, ROWS.schema) as writer:
        writer.write_table(ROWS)
        writer.add_key_value_metadata(footer)
    assert is_read(path) == is_plain


@pytest.mark.parametrize(("codec", "is_known"), [("none", True), ("lz4", True), ("brotli", False)])
def test_what_spark_cannot_decompress_is_for_it_to_refuse(tmp_path: Path, codec: str, is_known: bool) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet", compression=codec)
    assert is_read(tmp_path / "a.parquet") == is_known


@pytest.mark.parametrize(("name", "is_plain"), [
    ("a b.parquet", True), ("a%20b.parquet", True), ("x=1.parquet", True), ("[x].parquet", False), ("q?.parquet", False)
])
def test_names_that_spark_takes_for_patterns_are_left_to_it(tmp_path: Path, name: str, is_plain: bool) -> None:
    """Whichever kernel reads them, the same rows count."""
    pq.write_table(ROWS, tmp_path / name)
    assert is_read(tmp_path / name) == is_plain
