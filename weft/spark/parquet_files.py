"""The files of a batch as a pass reads them by itself: Parquet on the local disk, of just the declared types.

Spark planned the batch and noted its files. What Spark does to a file while it reads it (columns that are missing,
other types or capitals, old calendars, checksums beside a file, columns in the names of folders) is left to Spark:
`found` is None then. All declared columns are read, as Spark reads them, so that a damaged page is found whatever is
asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.algebra.windows import micros
from weft.feeds.streams import Stream
from weft.segments.types import arrow_type
from weft.spark.dead import FIRST_MOMENT, LAST_MOMENT
from weft.spark.level0 import MOMENT
from weft.spark.reading import STREAMING_OPTIONS

LOCAL = "file://"
# What a file's footer says where Spark reads its dates by an old calendar.
OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True)
class Piece:
    """Row groups of a file that are read together."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True)
class ParquetFiles:
    """The files of a batch, how many rows they have, and in which pieces they can be read.

    latest: the last moment that a row may have, by the clock of the batch.
    """

    rows: int
    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    event_time: str
    latest: int

    def read(
        self, plain: Mapping[str, str], pieces: Iterable[Piece] | None = None, *, threads: bool = True
    ) -> pa.Table:
        """The moments of the rows, NULL for rows that are dead, and columns under the names that `plain` gives them."""
        tables = [
            pq.ParquetFile(piece.path).read_row_groups(list(piece.groups), list(self.names), use_threads=threads)
            for piece in (self.pieces if pieces is None else pieces)
        ]
        table = pa.concat_tables(tables)
        moments = self._moments(table[self.event_time].cast(pa.int64()))
        return pa.table({MOMENT: moments, **{alias: table[name] for alias, name in plain.items()}})

    def _moments(self, moments: pa.ChunkedArray) -> pa.ChunkedArray:
        bounds = pc.min_max(moments)
        least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
        if least is None or (least >= FIRST_MOMENT and greatest <= self.latest):
            return moments
        alive = pc.and_(pc.greater_equal(moments, FIRST_MOMENT), pc.less_equal(moments, self.latest))
        return pc.if_else(alive, moments, pa.scalar(None, pa.int64()))


def found(stream: Stream, addresses: Sequence[str], clock: int) -> ParquetFiles | None:
    """The files of a batch, None where Spark has to read them; `clock` is that of the batch, in milliseconds."""
    paths = [address.removeprefix(LOCAL) for address in addresses]
    if not _is_plain(stream) or not addresses or any(map(_is_odd, addresses, paths)):
        return None
    schema = {name: arrow_type(kind) for name, kind in stream.columns}
    rows, pieces = 0, []
    for path in paths:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            if not _is_declared(file.schema_arrow, schema) or set(OLD_CALENDARS) & set(metadata.metadata or {}):
                return None
            rows += metadata.num_rows
            pieces += [Piece(path, (group,)) for group in range(metadata.num_row_groups)]
    ahead = LAST_MOMENT if stream.max_ahead is None else clock * 1000 + micros(stream.max_ahead)
    return ParquetFiles(rows, tuple(pieces), tuple(schema), stream.event_time, min(LAST_MOMENT, ahead))


def _is_plain(stream: Stream) -> bool:
    """Whether nothing is said of how the files are to be read."""
    options = {name.lower() for name in stream.options}
    return (stream.source or "").lower() == "parquet" and options <= STREAMING_OPTIONS


def _is_odd(address: str, path: str) -> bool:
    """Whether a file is elsewhere, in a folder that names a column's value, or has a checksum beside it."""
    folder, name = Path(path).parent, Path(path).name
    return not address.startswith(f"{LOCAL}/") or "=" in str(folder) or (folder / f".{name}.crc").exists()


def _is_declared(schema: pa.Schema, declared: Mapping[str, Any]) -> bool:
    """Whether a file has every declared column once, under just its name and with just its type."""
    lower = [name.lower() for name in schema.names]
    if len(set(lower)) < len(lower) or not set(declared) <= set(schema.names):
        return False
    return all(schema.field(name).type.equals(kind) for name, kind in declared.items())
