"""A table as a Parquet file with a checksum, and the errors of files that are not what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import StateError

if TYPE_CHECKING:
    from weft.segments.files import Files
    from weft.segments.segment import SegmentRow


def encode(table: pa.Table) -> pa.Buffer:
    """The table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def checksum(data: pa.Buffer) -> str:
    """The checksum of the bytes: 128 bits, with the name of the function so that it may change some day."""
    return f"blake2b:{hashlib.blake2b(data, digest_size=16).hexdigest()}"


def check_whole(files: Files, segment: SegmentRow) -> None:
    """Compare a file with its checksum, unless this process did so before; damage is a StateError that names the path.

    Pages of Parquet carry checksums of their own, but neither their headers nor the footer do. Cost: the file is read
    whole, once, a chunk at a time.
    """
    key = (files.uri(segment.path), segment.checksum)
    if key in _whole:
        return
    sum_of = hashlib.blake2b(digest_size=16)
    for first in range(0, segment.bytes + 1, _CHUNK):
        sum_of.update(files.read_bytes(segment.path, first, _CHUNK))
    if f"blake2b:{sum_of.hexdigest()}" != segment.checksum:
        raise damaged(segment.path, f"its bytes do not match the checksum {segment.checksum} in the catalog")
    if len(_whole) >= _REMEMBERED:
        _whole.clear()
    _whole[key] = None


# The files that were compared with their checksums, with these.
_whole: dict[tuple[str, str], None] = {}
_REMEMBERED, _CHUNK = 100_000, 4 * 2**20


def decode(path: str, data: pa.Buffer, expected_checksum: str | None, columns: Sequence[str] | None) -> pa.Table:
    """The table in the bytes of a Parquet file; damage is a StateError that names the path."""
    if expected_checksum is not None and checksum(data) != expected_checksum:
        raise damaged(path, f"its {data.size} bytes do not match the checksum {expected_checksum} in the catalog")
    return parse(path, pa.BufferReader(data), columns)


def damaged(path: str, why: str) -> StateError:
    """The error of a file that cannot be trusted."""
    hint = "Restore the file from a backup; the engine serves nothing that it would have to guess."
    return StateError("segment-damaged", f"segment file {path!r} is damaged: {why}", hint=hint)


def missing(path: str) -> StateError:
    """The error of a file that the catalog names and the disk does not have."""
    hint = "Restore the file from a backup, and check that nobody else cleans up the state folder."
    return StateError("segment-missing", f"segment file {path!r} is not there", hint=hint)


def parse(path: str, source: pa.NativeFile, columns: Sequence[str] | None) -> pa.Table:
    """The table in an open Parquet file, or its columns in the order asked for."""
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            known = file.schema_arrow.names
            unknown = [column for column in columns or () if column not in known]
            # pyarrow would silently leave out a column that is not there.
            if unknown:
                hint = f"It has: {', '.join(known)}."
                raise StateError("segment-columns", f"segment file {path!r} has no column {unknown[0]!r}", hint=hint)
            table = file.read(columns=None if columns is None else [*columns])
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from error
    return table if columns is None else table.select([*columns])
