"""The shape of kept rows: the declared columns of a stream, and beside them when each row happened and arrived.

A row counts for a window [b, e) when b <= moment < e and late < e.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from weft.algebra.types import DataType
from weft.segments.types import arrow_type

# The event time of a row, in microseconds.
MOMENT = "weft_moment"
# ON_TIME, or where the row came after the watermark had passed its moment, the watermark at the start of its tick.
LATE = "weft_late"
# The number of the batch that brought the row.
TICK = "weft_tick"

BESIDE = (MOMENT, LATE, TICK)
"""The columns of kept rows that no stream declares: names that begin like these are refused there."""


def kept_schema(columns: Iterable[tuple[str, DataType]]) -> pa.Schema:
    """The columns of the files of kept rows, for a stream with these columns.

    >>> from weft.algebra.types import BIGINT
    >>> kept_schema([("length", BIGINT)]).names
    ['length', 'weft_moment', 'weft_late', 'weft_tick']
    """
    declared = [(name, arrow_type(kind)) for name, kind in columns]
    return pa.schema([*declared, *((name, pa.int64()) for name in BESIDE)])
