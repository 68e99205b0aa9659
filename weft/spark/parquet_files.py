"""The files of a batch as a pass reads them by itself: Parquet on the local disk, of just the declared types.

Spark planned the batch and noted its files. What Spark does to a file while it reads it (columns that are missing,
other types or capitals, old calendars, checksums beside a file, columns in the names of folders) is left to Spark:
`found` is None then. All declared columns are read, as Spark reads them, so that a damaged page is found whatever is
asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.algebra.windows import micros
from weft.feeds.streams import Stream
from weft.segments.kept import MOMENT
from weft.segments.types import arrow_type
from weft.spark.dead import FIRST_MOMENT, LAST_MOMENT
from weft.spark.reading import GLOB, STREAMING_OPTIONS

LOCAL = "file://"
# How Spark finds columns compressed; a file that it cannot read is for it to refuse.
CODECS = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4"})
# What a file's footer says where Spark reads its dates by an old calendar: so it was written, or by a Spark before 3.
OLD_CALENDARS = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
WRITER, OLD_WRITERS = b"org.apache.spark.version", b"3"
# Fewer rows are read by a single thread.
FEW_ROWS = 10_000


@dataclass(frozen=True)
class Piece:
    """Row groups of a file that are read together."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True)
class ParquetFiles:
    """The files of a batch, how many these are, how many rows they have, and in which pieces they can be read.

    latest: the last moment that a row may have, by the clock of the batch. held: all rows, where they are few.
    """

    count: int
    rows: int
    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    event_time: str
    latest: int
    held: pa.Table | None = None

    def read(self, plain: Mapping[str, str], pieces: Iterable[Piece] = ()) -> pa.Table:
        """The moments of the rows, NULL for rows that are dead, and columns under the names that `plain` gives them.

        All rows that are held, or those of some pieces.
        """
        table = self.held
        if table is None:
            table = pa.concat_tables(_read(piece.path, self.names, piece.groups) for piece in pieces)
        moments = self._moments(table[self.event_time].cast(pa.int64()))
        return pa.table({MOMENT: moments, **{alias: table[name] for alias, name in plain.items()}})

    def in_pieces(self) -> ParquetFiles:
        """The same without the rows, for tasks that read them."""
        return replace(self, held=None)

    def _moments(self, moments: pa.ChunkedArray) -> pa.ChunkedArray:
        bounds = pc.min_max(moments)
        least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
        if least is None or (least >= FIRST_MOMENT and greatest <= self.latest):
            return moments
        alive = pc.and_(pc.greater_equal(moments, FIRST_MOMENT), pc.less_equal(moments, self.latest))
        return pc.if_else(alive, moments, pa.scalar(None, pa.int64()))


def found(stream: Stream, addresses: Sequence[str], clock: int, most_held: int) -> ParquetFiles | None:
    """The files of a batch, None where Spark has to read them; `clock` is that of the batch, in milliseconds.

    Rows are held as long as they are not more than `most_held`: files are opened once, which takes longest of all where
    they are many and small.
    """
    if not _is_plain(stream) or not addresses or any(map(_is_odd, addresses)):
        return None
    schema = {name: arrow_type(kind) for name, kind in stream.columns}
    names, rows = tuple(schema), 0
    pieces: list[Piece] = []
    tables: list[pa.Table] = []
    for address in addresses:
        path = address.removeprefix(LOCAL)
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            if not _is_declared(file.schema_arrow, schema) or _has_old_calendar(metadata.metadata or {}):
                return None
            if not _is_known(metadata):
                return None
            rows += metadata.num_rows
            pieces += [Piece(path, (group,)) for group in range(metadata.num_row_groups)]
            if rows <= most_held:
                tables.append(file.read(list(names), use_threads=metadata.num_rows > FEW_ROWS))
    ahead = LAST_MOMENT if stream.max_ahead is None else clock * 1000 + micros(stream.max_ahead)
    held = pa.concat_tables(tables).combine_chunks() if rows <= most_held else None
    return ParquetFiles(len(addresses), rows, tuple(pieces), names, stream.event_time, min(LAST_MOMENT, ahead), held)


def _read(path: str, names: Sequence[str], groups: Sequence[int]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read_row_groups(list(groups), list(names), use_threads=False)


def _is_plain(stream: Stream) -> bool:
    """Whether nothing is said of how the files are to be read."""
    options = {name.lower() for name in stream.options}
    return (stream.source or "").lower() == "parquet" and options <= STREAMING_OPTIONS


def _is_odd(address: str) -> bool:
    """Whether a file is elsewhere, in a folder that names a column's value, has a checksum beside it, or a name that
    Spark takes for a pattern, and then reads files by it that it read already."""
    folder, _, name = address.removeprefix(LOCAL).rpartition("/")
    strange = not address.startswith(f"{LOCAL}/") or "=" in folder or not GLOB.isdisjoint(address)
    return strange or os.path.exists(f"{folder}/.{name}.crc")


def _is_known(metadata: pq.FileMetaData) -> bool:
    """Whether Spark knows how every column of a file is compressed."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return all(group.column(number).compression in CODECS for group in groups for number in range(group.num_columns))


def _has_old_calendar(footer: Mapping[bytes, bytes]) -> bool:
    """Whether Spark reads a file's dates by an old calendar; it compares versions as texts, too."""
    return bool(OLD_CALENDARS & set(footer)) or footer.get(WRITER, OLD_WRITERS) < OLD_WRITERS


def _is_declared(schema: pa.Schema, declared: Mapping[str, Any]) -> bool:
    """Whether a file has every declared column once, under just its name and with just its type."""
    lower = [name.lower() for name in schema.names]
    if len(set(lower)) < len(lower) or not set(declared) <= set(schema.names):
        return False
    return all(schema.field(name).type.equals(kind) for name, kind in declared.items())
