"""Reading parts of shared files: a part by itself, or its whole file at once where several parts of it are wanted.

Who reads a single query wants a part of each of many files; who seals all nodes after a restart wants all parts of a
few. So the first part of a file is read alone, and with the second the file is read whole and kept for a while.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import pyarrow as pa

from weft.errors import StateError
from weft.segments.files import Files
from weft.segments.parts import decode_part
from weft.segments.segment import SegmentRow

KEPT_BYTES = 64 * 2**20
NOTED_FILES = 10_000


class PartReader:
    """Reads parts of shared files, each verified by its checksum; safe to use from several threads."""

    def __init__(self, files: Files) -> None:
        self._files = files
        # Files of which a part was read, and the bytes of files that were read whole; the newest last.
        self._noted: OrderedDict[str, None] = OrderedDict()
        self._whole: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, segment: SegmentRow) -> pa.Table:
        """The rows of a part."""
        try:
            whole = self._whole_file(segment.path)
            if whole is not None:
                return _decode(segment, whole[segment.byte_from : segment.byte_from + segment.bytes])
        except StateError:
            # Another part may be damaged, or the file was when it was read and is restored by now.
            self._forget(segment.path)
        return _decode(segment, self._files.read_bytes(segment.path, segment.byte_from, segment.bytes))

    def _whole_file(self, path: str) -> bytes | None:
        """The bytes of a file of which a part was read before; None where this is the first."""
        with self._lock:
            whole = self._whole.get(path)
            if whole is not None:
                self._whole.move_to_end(path)
                return whole
            known = path in self._noted
            self._noted[path] = None
            if len(self._noted) > NOTED_FILES:
                self._noted.popitem(last=False)
        return self._read_whole(path) if known else None

    def _read_whole(self, path: str) -> bytes:
        whole = self._files.read_bytes(path)
        with self._lock:
            self._whole[path] = whole
            while sum(map(len, self._whole.values())) > KEPT_BYTES and len(self._whole) > 1:
                self._whole.popitem(last=False)
        return whole

    def _forget(self, path: str) -> None:
        with self._lock:
            self._whole.pop(path, None)


def _decode(segment: SegmentRow, data: bytes) -> pa.Table:
    return decode_part(segment.path, segment.byte_from, data, segment.checksum)
