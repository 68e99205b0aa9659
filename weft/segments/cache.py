"""Tables in memory: files never change and closed windows never change, so what was read once is right for ever."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping

import pyarrow as pa

from weft.segments.files import Files
from weft.segments.part_reader import PartReader
from weft.segments.segment import SegmentRow

FILE_BYTES = 512 * 2**20
RESULT_BYTES = 64 * 2**20
OVERHEAD = 4096


class Recent:
    """The most recently used tables by key, up to a number of bytes; safe to use from several threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._tables: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], pa.Table]) -> pa.Table:
        """The table of a key; `make` makes it where it is not there."""
        with self._lock:
            table = self._tables.get(key)
            if table is not None:
                self._tables.move_to_end(key)
                return table
        table = make()
        self.put(key, table)
        return table

    def put(self, key: Hashable, table: pa.Table) -> None:
        """Remember a table, and let go of the tables that were not used for longest."""
        with self._lock:
            if key in self._tables:
                return
            self._tables[key] = table
            self._bytes += _weight(table)
            while self._bytes > self._max_bytes and len(self._tables) > 1:
                _, oldest = self._tables.popitem(last=False)
                self._bytes -= _weight(oldest)

    def forget(self, paths: Collection[str]) -> None:
        """Let go of the tables that were in these files; the keys are places in files."""
        gone = frozenset(paths)
        with self._lock:
            for key in [key for key in self._tables if isinstance(key, tuple) and key[0] in gone]:
                self._bytes -= _weight(self._tables.pop(key))


def _weight(table: pa.Table) -> int:
    """The bytes that a table costs; a table without rows is not free, or there would be no end of such tables."""
    return int(table.nbytes) + OVERHEAD


class TableCache:
    """Decoded segments; every read from disk is checked against its checksum."""

    def __init__(self, files: Files, max_bytes: int = FILE_BYTES, names: Mapping[str, str] | None = None) -> None:
        self._files, self._parts = files, PartReader(files)
        self._recent = Recent(max_bytes)
        self._names = dict(names or {})

    def get(self, segment: SegmentRow) -> pa.Table:
        """The rows of a segment, its columns under the names that they have now."""
        return self._recent.get((segment.path, segment.byte_from), lambda: self._read(segment))

    def _read(self, segment: SegmentRow) -> pa.Table:
        if segment.is_part:
            table = self._parts.read(segment)
        else:
            table = self._files.read_table(segment.path, segment.checksum)
        if self._names.keys().isdisjoint(table.column_names):
            return table
        return table.rename_columns([self._names.get(name, name) for name in table.column_names])

    def put(self, place: tuple[str, int], table: pa.Table) -> None:
        """Remember a table that was just written at a place of a file."""
        self._recent.put(place, table)

    def forget(self, paths: Collection[str]) -> None:
        """Drop tables whose files are gone."""
        self._recent.forget(paths)
