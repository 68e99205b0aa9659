"""The roll of a file of finished windows: the requests that the file was written for.

A window that nobody asked for when it was closed has no rows there, and neither has a window in which nothing
happened: only the roll tells them apart. Eight bytes a request, sorted: a family of ten thousand adds a hundred
kilobytes to a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

REQUEST = "request"
_ROLL = b"weft_roll"
_NUMBER = np.dtype("<u8")

Roll = npt.NDArray[np.uint64]


def roll_of(requests: Iterable[str]) -> Roll:
    """The roll with these requests; the numbers are the same in every process."""
    return np.unique(np.array([_number(request) for request in requests], _NUMBER))


def with_roll(table: pa.Table, roll: Roll) -> pa.Table:
    """The table with a roll, stored in the metadata of its column of requests, which a Parquet file has once."""
    index = table.schema.get_field_index(REQUEST)
    field = table.schema.field(index).with_metadata({_ROLL: roll.astype(_NUMBER).tobytes()})
    return table.cast(table.schema.set(index, field))


def read_roll(table: pa.Table) -> Roll:
    """The roll of a table; empty for a table that was written before there were rolls."""
    metadata = table.schema.field(REQUEST).metadata or {}
    return np.frombuffer(metadata.get(_ROLL, b""), _NUMBER)


def is_on_roll(table: pa.Table, request: str) -> bool:
    """Whether the file was written for this request too."""
    roll, number = read_roll(table), _number(request)
    index = int(np.searchsorted(roll, np.uint64(number)))
    return index < len(roll) and int(roll[index]) == number


def common_roll(tables: Iterable[pa.Table]) -> Roll:
    """The requests that are on the rolls of all tables."""
    return reduce(lambda common, roll: np.intersect1d(common, roll, assume_unique=True), map(read_roll, tables))


@lru_cache(maxsize=100_000)
def _number(request: str) -> int:
    return int.from_bytes(blake2b(request.encode(), digest_size=_NUMBER.itemsize).digest(), "little")
