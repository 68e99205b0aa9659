"""Files of whole rows: Parquet with row groups of a few MB, so that a reader skips what its span of time does not need.

The rank of such a file is how large it is, and says what it is merged with: files of a rank are about as long as each
other, and a file of the highest rank is merged no more. So merging takes the memory of MOST_BYTES of rows, whatever
the stream holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from weft.segments.files import Files
from weft.segments.kept import MOMENT

# What a row group has at most.
GROUP_ROWS, GROUP_BYTES = 100_000, 8 * 2**20
# How many files of a rank are merged into a file of a higher rank.
FAN_OUT = 8
# What a merged file has at most; bytes are those of the rows in memory.
MOST_ROWS, MOST_BYTES = 1_000_000, 256 * 2**20
# The rows of a file of rank 0 take less than this in memory, those of each other rank FAN_OUT times as much.
LEAST_BYTES = 64 * 2**10
HIGHEST = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class RowFile:
    """A file of rows that was just written: what the catalog has to know of it, and its least and greatest moment."""

    path: str
    bytes: int
    rows: int
    checksum: str
    rank: int
    least: int
    greatest: int


def rank_of(rows: int, size: int) -> int:
    """The rank of a file of so many rows, which take so many bytes in memory.

    >>> rank_of(10, 1_000), rank_of(1_000, 100_000), rank_of(200_000, 8_000_000), rank_of(1_000, 2**30)
    (0, 1, 9, 9)
    """
    if rows * FAN_OUT > MOST_ROWS or size * FAN_OUT > MOST_BYTES:
        return HIGHEST
    rank, bound = 0, LEAST_BYTES
    while size >= bound:
        rank, bound = rank + 1, bound * FAN_OUT
    return rank


def write_rows(files: Files, path: str, rows: pa.Table, moments: tuple[int, int]) -> RowFile:
    """Write rows as a file, given their least and greatest moment."""
    sink = pa.BufferOutputStream()
    size = int(rows.nbytes)
    group = max(1, min(GROUP_ROWS, rows.num_rows * GROUP_BYTES // max(1, size)))
    moving = [field.name for field in rows.schema if field.name == MOMENT or pa.types.is_timestamp(field.type)]
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        write_page_checksum=True,
        row_group_size=group,
        # Neighbouring moments are near to each other: their differences take half the time and half the bytes.
        column_encoding=dict.fromkeys(moving, "DELTA_BINARY_PACKED"),
        use_dictionary=[name for name in rows.column_names if name not in moving],
    )
    written = files.write_bytes(path, sink.getvalue(), rows.num_rows)
    return RowFile(
        path=path,
        bytes=written.bytes,
        rows=written.rows,
        checksum=written.checksum,
        rank=rank_of(rows.num_rows, size),
        least=moments[0],
        greatest=moments[1],
    )
