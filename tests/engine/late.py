"""The rule of late rows, spelled out row by row and window by window. Quadratic, and obviously right.

The watermark moves at the end of a tick, to the newest time seen so far less the delay. A row counts for every window
that holds it and ends after the watermark at the start of its tick; a row that counts for none is lost to the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from math import log2
from typing import Any

import pyarrow as pa

from tests.engine.queries import EPOCH, MICROSECOND, Hop
from tests.engine.rows import MOMENT, SCHEMA, Ticks

WINDOW = pa.struct([("start", MOMENT), ("end", MOMENT)])
Row = dict[str, Any]


def watermarks(ticks: Ticks) -> list[datetime | None]:
    """Where the watermark stands before each tick, and after the last."""
    found: list[datetime | None] = [None]
    newest: datetime | None = None
    for rows in ticks.rows:
        moments = [row["ts"] for row in rows if row["ts"] is not None] + ([newest] if newest else [])
        newest = max(moments, default=None)
        found.append(newest - ticks.delay if newest else None)
    return found


def arrivals(ticks: Ticks) -> Iterator[tuple[int, datetime | None, Row]]:
    """Every row that has a time, with its tick and the watermark that it meets."""
    marks = watermarks(ticks)
    for tick, rows in enumerate(ticks.rows):
        for row in rows:
            if row["ts"] is not None:
                yield tick, marks[tick], row


def counted(ticks: Ticks, hop: Hop) -> pa.Table:
    """Every row once for each window that it counts for, with that window in the column `window`."""
    rows = [{**row, "window": {"start": start, "end": end}} for _, mark, row in arrivals(ticks)
            for start, end in hop.holding(row["ts"]) if mark is None or end > mark]
    return pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("window", WINDOW)))


def lost(ticks: Ticks, hops: Iterable[Hop]) -> pa.Table:
    """The rows that count for no window of any of these, with their tick and the watermark they came after."""
    some = tuple(hops)
    rows = [{**row, "tick_": tick, "mark_": mark} for tick, mark, row in arrivals(ticks)
            if mark is not None and all(end <= mark for hop in some for _, end in hop.holding(row["ts"]))]
    schema = SCHEMA.append(pa.field("tick_", pa.int64())).append(pa.field("mark_", MOMENT))
    return pa.Table.from_pylist(rows, schema=schema)


def counted_since(newest: datetime, kept: timedelta) -> datetime:
    """From which watermark on a query counts lost rows: what it keeps, and up to a sixteenth more."""
    grain = 2 ** int(log2(kept // MICROSECOND // 16))
    return EPOCH + (newest - kept - EPOCH) // MICROSECOND // grain * grain * MICROSECOND


def arrived(ticks: Ticks) -> pa.Table:
    """All rows with a time, with their tick."""
    rows = [{**row, "tick_": tick} for tick, _, row in arrivals(ticks)]
    return pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("tick_", pa.int64())))
