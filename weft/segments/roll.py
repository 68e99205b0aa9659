"""The roll of a file of finished windows: for which requests it was made.

A window that nobody asked for when it was closed has no rows there, and so has one in which nothing happened: only the
roll tells them apart. Eight bytes a request, sorted: a family of ten thousand adds a hundred kilobytes to a file.
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
    """The table with a roll, kept beside the column of requests, where a Parquet file has it once."""
    place = table.schema.get_field_index(REQUEST)
    field = table.schema.field(place).with_metadata({_ROLL: roll.astype(_NUMBER).tobytes()})
    return table.cast(table.schema.set(place, field))


def read_roll(table: pa.Table) -> Roll:
    """The roll of a table; of one that was written before there were any, nobody is on it."""
    kept = table.schema.field(REQUEST).metadata or {}
    return np.frombuffer(kept.get(_ROLL, b""), _NUMBER)


def is_on_roll(table: pa.Table, request: str) -> bool:
    """Whether the file was made for this request too."""
    roll, number = read_roll(table), _number(request)
    place = int(np.searchsorted(roll, np.uint64(number)))
    return place < len(roll) and int(roll[place]) == number


def common_roll(tables: Iterable[pa.Table]) -> Roll:
    """Those who are on the roll of all tables."""
    return reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), map(read_roll, tables))


@lru_cache(maxsize=100_000)
def _number(request: str) -> int:
    return int.from_bytes(blake2b(request.encode(), digest_size=_NUMBER.itemsize).digest(), "little")
