"""A sum over all rows of a table, kept with every write: a byte of the catalog that changed by itself is noticed.

SQLite checks how its pages hang together, not what stands in them, so a flipped bit in a watermark would be read as
another watermark. The sum of a table is the sum of the digests of its rows, in any order: a row that comes or goes
is an addition. Sums are compared when a catalog is opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from weft.segments.segment import SegmentRow
from weft.store.definition import QueryDefinition
from weft.store.records import (
    AggregateRow,
    CatalogRow,
    DeadLetterRow,
    LayoutRow,
    NodeRow,
    PlanRow,
    QueryRow,
    StreamRow,
    TickRow,
    values,
)
from weft.store.tables import TABLE_OF

# All that an answer depends on; the log of ticks and the list of garbage are not. Forms have digests of their own.
SUMMED: tuple[type[CatalogRow], ...] = (
    StreamRow,
    QueryRow,
    AggregateRow,
    NodeRow,
    LayoutRow,
    SegmentRow,
    PlanRow,
    DeadLetterRow,
    TickRow,
)
KIND_OF = {TABLE_OF[kind].name: kind for kind in SUMMED}
MODULUS = 1 << 128


def add(total: int, rows: Iterable[CatalogRow], sign: int = 1) -> int:
    """Add these rows to a sum, or with a negative sign take them out of it."""
    return (total + sign * sum(map(_digest, rows))) % MODULUS


def _digest(row: CatalogRow) -> int:
    text = json.dumps([type(row).__name__, *values(row).values()], default=_plain)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())


def _plain(value: Any) -> Any:
    if isinstance(value, QueryDefinition):
        return value.to_json()
    if not isinstance(value, datetime):
        # A flipped bit may turn a text into bytes, which SQLite hands over as they are.
        raise ValueError(f"{str(value)[:60]!r} in the place of a value")
    return value.astimezone(UTC).isoformat()
