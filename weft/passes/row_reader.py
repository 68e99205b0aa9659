"""The files of kept rows as a pass reads them: piece by piece, only the columns and row groups that it needs.

Needs: rows as weft/segments/kept.py has them. Cost: the footer of each file that is near, and of it the row groups
whose moments, as the footer says, can be in the span; of these the columns that are asked for. A piece has a bounded
number of rows, whatever the files.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.segments.encoding import check_whole, damaged, missing
from weft.segments.files import Files, LocalFiles
from weft.segments.kept import LATE, MOMENT, TICK
from weft.segments.segment import EARLIEST, LATEST, SegmentRow

# So many rows are read at once, or a row group where that has more.
PIECE_ROWS = 500_000


@dataclass(frozen=True)
class RowSpan:
    """Which kept rows count: moments from `begin` to before `end`, behind a watermark before `late`, up to a tick."""

    begin: int = EARLIEST
    end: int = LATEST
    late: int = LATEST
    last_tick: int = LATEST

    def is_near(self, file: SegmentRow) -> bool:
        """Whether a file can have such rows."""
        return file.time_from < self.end and file.time_to > self.begin and file.batch_from <= self.last_tick


@dataclass(frozen=True)
class RowPiece:
    """Row groups of a file that are read together, and how many rows they have."""

    path: str
    groups: tuple[int, ...]
    rows: int


def pieces_of(files: Files, segments: Iterable[SegmentRow], span: RowSpan) -> Iterator[RowPiece]:
    """The pieces of files that can have rows of a span."""
    for segment in segments:
        if span.is_near(segment):
            check_whole(files, segment)
            with _opened(files, segment.path) as file:
                sizes = [
                    (number, file.metadata.row_group(number).num_rows)
                    for number in range(file.metadata.num_row_groups)
                    if _can_hold(file.metadata, number, span)
                ]
            yield from _together(segment.path, sizes)


def read_piece(
    files: Files, piece: RowPiece, columns: Mapping[str, str], span: RowSpan, beside: Sequence[str] = ()
) -> pa.Table:
    """The rows of a piece that count: their moments, columns under the names that `columns` gives, and `beside`."""
    judged = [MOMENT, LATE, *([TICK] if span.last_tick != LATEST else [])]
    wanted = list(dict.fromkeys([*judged, *columns.values(), *beside]))
    with _opened(files, piece.path) as file:
        table = file.read_row_groups(list(piece.groups), wanted, use_threads=True)
    kept = table.filter(_counts(table, span))
    names = {**{alias: name for alias, name in columns.items()}, **{name: name for name in (MOMENT, *beside)}}
    return pa.table({alias: kept[name] for alias, name in names.items()})


def _counts(table: pa.Table, span: RowSpan) -> pa.ChunkedArray:
    """Which rows count."""
    moments = table[MOMENT]
    kept = pc.and_(pc.greater_equal(moments, span.begin), pc.less(moments, span.end))
    kept = pc.and_(kept, pc.less(table[LATE], span.late))
    return kept if span.last_tick == LATEST else pc.and_(kept, pc.less_equal(table[TICK], span.last_tick))


def _together(path: str, sizes: Iterable[tuple[int, int]]) -> Iterator[RowPiece]:
    groups, total = list[int](), 0
    for number, rows in sizes:
        if groups and total + rows > PIECE_ROWS:
            yield RowPiece(path, tuple(groups), total)
            groups, total = [], 0
        groups.append(number)
        total += rows
    if groups:
        yield RowPiece(path, tuple(groups), total)


def _can_hold(metadata: pq.FileMetaData, number: int, span: RowSpan) -> bool:
    """Whether a row group can have rows of a span, as its statistics say, if it has any."""
    group = metadata.row_group(number)
    for index in range(group.num_columns):
        column = group.column(index)
        if column.path_in_schema == MOMENT:
            bounds = column.statistics
            return bounds is None or not bounds.has_min_max or (bounds.min < span.end and bounds.max >= span.begin)
    return True


@contextmanager
def _opened(files: Files, path: str) -> Iterator[pq.ParquetFile]:
    """A file, open; every page is checked where it carries a checksum."""
    try:
        local = isinstance(files, LocalFiles)
        source = pa.OSFile(files.uri(path)) if local else pa.PythonFile(_Ranges(files, path), "r")
        with source, pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=True) as file:
            yield file
    except FileNotFoundError as error:
        raise missing(path) from error
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from error


class _Ranges(io.RawIOBase):
    """A file of which ranges are fetched, wherever it is."""

    def __init__(self, files: Files, path: str) -> None:
        super().__init__()
        self._files, self._path, self._at, self._size = files, path, 0, files.size(path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        data = self._files.read_bytes(self._path, self._at, None if size < 0 else size)
        self._at += len(data)
        return data
