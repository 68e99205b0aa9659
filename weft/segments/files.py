"""Segment files under a root folder: whole or not there at all, and damage is never read as data.

A table is a Parquet file, or a part of a file that small tables share (weft/segments/parts.py).

Keeps: a file appears under its name only when it is complete (temporary name, then rename) and, on a local disk, only
when it is on the disk; a read with the checksum from the catalog returns exactly what was written.
Needs: a path that the catalog names is not written again; only the leftovers of a killed writer are overwritten.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from weft.errors import StateError
from weft.failpoint import failpoint
from weft.feeds.address import is_address
from weft.segments.encoding import checksum, decode, encode, missing, parse
from weft.segments.parts import Part, encode_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("weft.store")

TEMPORARY = re.compile(r"^\..*\.tmp$")
_CREATE_ATTEMPTS = 100
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What the catalog has to know of a table in a file, whole or a part of it, to find it and to trust it."""

    path: str
    bytes: int
    rows: int
    checksum: str
    byte_from: int = 0


class Files(Protocol):
    """A folder of files, wherever it is. Paths are relative to its root, with `/` between their parts."""

    def write_table(self, path: str, table: pa.Table) -> Written:
        """Write the table as a single file; it appears whole or not at all and replaces a leftover of the same name."""

    def write_bytes(self, path: str, data: pa.Buffer, rows: int) -> Written:
        """Write the bytes of a file of so many rows, as `write_table` writes a table."""

    def write_parts(self, path: str, tables: Sequence[pa.Table]) -> tuple[Written, ...]:
        """Write small tables as the parts of a single file, in their order, as `write_table` writes one."""

    def read_bytes(self, path: str, byte_from: int = 0, length: int | None = None) -> bytes:
        """So many bytes of a file from a place on, or all to its end; fewer where the file ends before."""

    def read_table(
        self, path: str, expected_checksum: str | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The table, or its columns in the order asked for; with a checksum, every byte of the file is verified."""

    def delete(self, paths: Iterable[str]) -> None:
        """Remove the files; files that are gone already are passed over."""

    def exists(self, path: str) -> bool:
        """Whether the file is there under its final name."""

    def list(self, under: str = "") -> tuple[str, ...]:
        """All finished files under a folder, sorted; none when the folder is not there."""

    def size(self, path: str) -> int:
        """The file's length in bytes."""

    def uri(self, path: str) -> str:
        """Where another engine (DuckDB, Spark) finds the file."""

    def remove_leftovers(self, under: str = "") -> int:
        """Remove the temporary files of killed writers, and say how many; only while nobody writes in that folder."""


class LocalFiles:
    """Files in a folder of a local disk; a finished write survives power loss."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).absolute()
        with _disk_errors(str(self._root)):
            _make_folder(self._root)

    def __repr__(self) -> str:
        return f"LocalFiles({str(self._root)!r})"

    def write_table(self, path: str, table: pa.Table) -> Written:
        return self.write_bytes(path, encode(table), table.num_rows)

    def write_bytes(self, path: str, data: pa.Buffer, rows: int) -> Written:
        target = self._local_path(path)
        with _disk_errors(path):
            _write_durably(target, data)
        return Written(path=path, bytes=data.size, rows=rows, checksum=checksum(data))

    def write_parts(self, path: str, tables: Sequence[pa.Table]) -> tuple[Written, ...]:
        target = self._local_path(path)
        data, parts = encode_parts(tables)
        with _disk_errors(path):
            _write_durably(target, data)
        return written_parts(path, parts)

    def read_bytes(self, path: str, byte_from: int = 0, length: int | None = None) -> bytes:
        file = self._local_path(path)
        with _disk_errors(path), file.open("rb") as source:
            source.seek(byte_from)
            return source.read() if length is None else source.read(length)

    def read_table(
        self, path: str, expected_checksum: str | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        file = self._local_path(path)
        with _disk_errors(path):
            if expected_checksum is not None:
                return decode(path, pa.py_buffer(file.read_bytes()), expected_checksum, columns)
            # Without a checksum only the asked columns are read; every page still carries its own CRC.
            with pa.OSFile(str(file)) as source:
                return parse(path, source, columns)

    def delete(self, paths: Iterable[str]) -> None:
        for file in [self._local_path(path) for path in paths]:
            with _disk_errors(str(file)):
                file.unlink(missing_ok=True)
                self._remove_empty(file.parent)

    def exists(self, path: str) -> bool:
        return self._local_path(path).is_file()

    def list(self, under: str = "") -> tuple[str, ...]:
        start = self._local_path(under) if under else self._root
        with _disk_errors(under):
            return tuple(sorted(path for path in self._walk(start) if not TEMPORARY.match(path.rpartition("/")[2])))

    def size(self, path: str) -> int:
        with _disk_errors(path):
            return self._local_path(path).stat().st_size

    def uri(self, path: str) -> str:
        return str(self._local_path(path))

    def remove_leftovers(self, under: str = "") -> int:
        start = self._local_path(under) if under else self._root
        with _disk_errors(under):
            leftovers = [path for path in self._walk(start) if TEMPORARY.match(path.rpartition("/")[2])]
        return sum(self._remove_leftover(self._root / path) for path in leftovers)

    def _remove_leftover(self, leftover: Path) -> bool:
        """Remove a leftover, if that can be done: it is in nobody's way."""
        try:
            leftover.unlink(missing_ok=True)
        except OSError as error:
            log.warning("file not deleted", extra={"path": str(leftover), "reason": str(error)})
            return False
        self._remove_empty(leftover.parent)
        return True

    def _local_path(self, path: str) -> Path:
        return self._root / checked_path(path)

    def _walk(self, start: Path) -> Iterator[str]:
        for folder, _, names in os.walk(start, onerror=_unless_gone):
            for name in names:
                yield (Path(folder) / name).relative_to(self._root).as_posix()

    def _remove_empty(self, folder: Path) -> None:
        """Remove a folder and the folders around it while they are empty: nodes come and go for years."""
        while folder != self._root:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def open_files(root: str, spark_factory: Callable[[], SparkSession]) -> Files:
    """The files under a root: a plain path is the local disk, a URI goes through Spark's Hadoop file systems.

    Spark is asked for only when it is needed, so that a reader of a local state folder starts no JVM.
    """
    if is_address(root):
        from weft.segments.hadoop import HadoopFiles

        return HadoopFiles(spark_factory(), root)
    return LocalFiles(root)


def checked_path(path: str) -> str:
    """The path itself when it stays under the root and means the same to every file system, else a StateError.

    >>> checked_path("node-1/000017.parquet")
    'node-1/000017.parquet'
    """
    parts = path.split("/")
    # A leading dot also keeps `.` and `..` out, and temporary names to ourselves.
    if any(not part or part.startswith(".") for part in parts) or _FORBIDDEN.search(path):
        raise StateError(
            "path-outside-root",
            f"{path!r} is not a path under the state folder",
            hint="Use relative names with '/' between them, and no '.', '..', ':', '\\' or empty part.",
        )
    return path


def temporary_name(path: str) -> str:
    """A fresh name beside the path, hidden from `list`, that no other writer picks."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{uuid.uuid4().hex}.tmp"


def written_parts(path: str, parts: Iterable[Part]) -> tuple[Written, ...]:
    """What the catalog has to know of the parts of a file."""
    return tuple(
        Written(path=path, bytes=part.bytes, rows=part.rows, checksum=part.checksum, byte_from=part.byte_from)
        for part in parts
    )


def _write_durably(target: Path, data: pa.Buffer) -> None:
    temporary = Path(temporary_name(str(target)))
    try:
        failpoint("file-create")
        descriptor = _create(temporary)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            failpoint("file-write")
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            failpoint("file-sync")
            os.fsync(file.fileno())
        failpoint("file-rename")
        temporary.replace(target)
    except Exception:
        temporary.unlink(missing_ok=True)
        raise
    failpoint("file-renamed")
    _sync_folder(target.parent)


def _create(path: Path) -> int:
    """Open a new file, and make its folder."""
    for _ in range(_CREATE_ATTEMPTS):
        # `delete` in another thread may remove the folder, still empty, between its making and the opening.
        with suppress(FileNotFoundError):
            _make_folder(path.parent)
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    raise OSError(errno.EBUSY, "its folder is removed again and again", str(path))


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        # Another writer made it just now, and a delete may have removed it again: that is for the caller to find out.
        if folder.is_file():
            raise
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Sync a folder: a new name is on the disk only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unless_gone(error: OSError) -> None:
    """Raise an error of listing a folder, unless the folder is gone: then it has no files."""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextmanager
def _disk_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise missing(path) from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            hint = "Free some disk space; what is committed is untouched."
            raise StateError("storage-full", f"no space left for {path!r}", hint=hint) from error
        hint = "Check the disk and the permissions of the state folder."
        raise StateError("storage-failed", f"{path!r}: {error}", hint=hint) from error
