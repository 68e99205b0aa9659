"""What tests of kept rows share: a stream that keeps its rows, rows to feed, and the rows as their files have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from weft import Engine
from weft.algebra.windows import micros
from weft.segments.kept import MOMENT

SECOND = 1_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = "ts timestamp, k string, v int"
SQL = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), k"


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def moment(second: float) -> int:
    return micros(at(second) - EPOCH)


def add(engine: Engine, retain: str | None = None, schema: str = SCHEMA, **options: Any) -> None:
    engine.add_stream(
        "s", source="parquet", path="x", schema=schema, event_time="ts", max_ahead="any", retain=retain, **options
    )


def row(second: float, k: str = "a", v: int | None = 1) -> dict[str, Any]:
    return {"ts": at(second), "k": k, "v": v}


def kept_table(engine: Engine, stream: str = "s") -> pa.Table:
    """All kept rows, by moment."""
    files = engine.state_of(stream).kept.files
    tables = [engine.files.read_table(file.path, file.checksum) for file in files]
    return pa.concat_tables(tables).sort_by(MOMENT)
