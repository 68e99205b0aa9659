"""Segment files on whatever Spark can reach (hdfs, s3a, abfs, file ...), through Hadoop's FileSystem and no Spark job.

Keeps: what `Files` promises, as far as the file system does: a file is synced where the file system can sync.
On HDFS and `file:` a rename is atomic; an object store copies, and a reader does not mind because the catalog names
the file only afterwards. A `file:` root is not fsynced by Hadoop: give a plain path for that.
Cost: bytes go through a local temporary file, because py4j would carry them as text; the driver's JVM runs on this
machine, so both sides see that file.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from weft.errors import StateError
from weft.segments.encoding import checksum, damaged, decode, encode, missing
from weft.segments.files import TEMPORARY, Written, checked_path, temporary_name, written_parts
from weft.segments.parts import encode_parts

log = logging.getLogger("weft.store")

_COPY_BUFFER = 1 << 20
_CREATE_ATTEMPTS = 100


class HadoopFiles:
    """Files under a URI, with the Hadoop settings and credentials of a Spark session."""

    def __init__(self, spark: SparkSession, root_uri: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._hadoop = jvm.org.apache.hadoop.fs
        self._input_stream, self._local_file = jvm.java.io.FileInputStream, jvm.java.io.File
        self._output_stream = jvm.java.io.FileOutputStream
        self._copy_bytes = jvm.org.apache.hadoop.io.IOUtils.copyBytes
        self._copy_large = jvm.org.apache.commons.io.IOUtils.copyLarge
        with _storage_errors(root_uri):
            configuration = spark.sparkContext._jsc.hadoopConfiguration()
            root = self._hadoop.Path(root_uri)
            self._fs = root.getFileSystem(configuration)
            self._fs.mkdirs(root)
            # Resolved, because the file system answers with resolved paths, and `list` cuts the root off them.
            self._root: str = self._fs.resolvePath(root).toString().rstrip("/")
            self._scheme = str(self._fs.getUri().getScheme())

    def __repr__(self) -> str:
        return f"HadoopFiles({self._root!r})"

    def write_table(self, path: str, table: pa.Table) -> Written:
        return self.write_bytes(path, encode(table), table.num_rows)

    def write_bytes(self, path: str, data: pa.Buffer, rows: int) -> Written:
        self._write(path, data)
        return Written(path=path, bytes=data.size, rows=rows, checksum=checksum(data))

    def write_parts(self, path: str, tables: Sequence[pa.Table]) -> tuple[Written, ...]:
        data, parts = encode_parts(tables)
        self._write(path, data)
        return written_parts(path, parts)

    def _write(self, path: str, data: pa.Buffer) -> None:
        """Write a file under a temporary name, then rename it."""
        target = self._hadoop_path(path)
        temporary = self._hadoop.Path(f"{self._root}/{temporary_name(path)}")
        with _storage_errors(path), tempfile.NamedTemporaryFile(prefix="weft-") as local:
            local.write(data)
            local.flush()
            try:
                self._upload(local.name, temporary)
                self._rename(temporary, target, path)
            except BaseException:
                self._fs.delete(temporary, False)
                raise

    def read_bytes(self, path: str, byte_from: int = 0, length: int | None = None) -> bytes:
        with _storage_errors(path), tempfile.NamedTemporaryFile(prefix="weft-") as local:
            source = self._fs.open(self._hadoop_path(path))
            try:
                source.seek(byte_from)
                sink = self._output_stream(local.name)
                try:
                    self._copy_large(source, sink, 0, -1 if length is None else length)
                finally:
                    sink.close()
            finally:
                source.close()
            return Path(local.name).read_bytes()

    def read_table(
        self, path: str, expected_checksum: str | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        with tempfile.TemporaryDirectory(prefix="weft-") as folder:
            local = Path(folder) / "segment"
            with _storage_errors(path):
                # The last argument keeps Hadoop from leaving its own checksum file beside the local copy.
                self._fs.copyToLocalFile(False, self._hadoop_path(path), self._hadoop.Path(local.as_uri()), True)
            data = pa.py_buffer(local.read_bytes())
        return decode(path, data, expected_checksum, columns)

    def delete(self, paths: Iterable[str]) -> None:
        for path in [checked_path(path) for path in paths]:
            with _storage_errors(path):
                self._fs.delete(self._hadoop_path(path), False)
                self._remove_empty(path.rpartition("/")[0])

    def exists(self, path: str) -> bool:
        file = self._hadoop_path(path)
        with _storage_errors(path):
            return bool(self._fs.exists(file) and self._fs.getFileStatus(file).isFile())

    def list(self, under: str = "") -> tuple[str, ...]:
        start = f"{self._root}/{checked_path(under)}" if under else self._root
        return tuple(sorted(path for path in self._walk(start) if not TEMPORARY.match(path.rpartition("/")[2])))

    def size(self, path: str) -> int:
        with _storage_errors(path):
            return int(self._fs.getFileStatus(self._hadoop_path(path)).getLen())

    def uri(self, path: str) -> str:
        return f"{self._root}/{checked_path(path)}"

    def remove_leftovers(self, under: str = "") -> int:
        start = self.uri(under) if under else self._root
        leftovers = [path for path in self._walk(start) if TEMPORARY.match(path.rpartition("/")[2])]
        return sum(self._remove_leftover(path) for path in leftovers)

    def _remove_leftover(self, path: str) -> bool:
        """Remove a leftover, if that can be done: it is in nobody's way."""
        try:
            with _storage_errors(path):
                self._fs.delete(self._hadoop.Path(f"{self._root}/{path}"), False)
        except StateError as error:
            log.warning("file not deleted", extra={"path": path, "reason": str(error)})
            return False
        self._remove_empty(path.rpartition("/")[0])
        return True

    def _remove_empty(self, folder: str) -> None:
        """Remove a folder and the folders around it while they are empty: nodes come and go for years.

        Only where looking and removing are a single step, as another thread may write there: a local disk's own call,
        and HDFS, whose server does both. Hadoop's call for a local disk looks first and then removes all that is there
        by then. Object stores have no folders, or make and remove them by themselves; of other systems nobody knows.
        """
        while folder and self._remove_if_empty(self._hadoop_path(folder)):
            folder = folder.rpartition("/")[0]

    def _remove_if_empty(self, folder: Any) -> bool:
        if self._scheme == "file":
            return bool(self._local_file(folder.toUri().getPath()).delete())
        if self._scheme == "hdfs":
            with suppress(Py4JJavaError):
                return bool(self._fs.delete(folder, False))
        return False

    def _hadoop_path(self, path: str) -> Any:
        return self._hadoop.Path(self.uri(path))

    def _upload(self, local: str, target: Any) -> None:
        """Copy within the JVM, and sync before closing where the file system can."""
        source = self._input_stream(local)
        try:
            sink = self._create(target)
            try:
                self._copy_bytes(source, sink, _COPY_BUFFER, False)
                if sink.hasCapability("hsync"):
                    sink.hsync()
            finally:
                sink.close()
        finally:
            source.close()

    def _create(self, target: Any) -> Any:
        """Open a new file; `delete` in another thread may remove its folder between the making and the opening."""
        for _ in range(_CREATE_ATTEMPTS):
            try:
                return self._fs.create(target, True)
            except Py4JJavaError as error:
                if not _tells_of_a_missing_folder(error):
                    raise
        return self._fs.create(target, True)

    def _rename(self, temporary: Any, target: Any, path: str) -> None:
        if self._fs.rename(temporary, target):
            return
        # HDFS does not rename over a file. What is in the way is the leftover of a killed writer: nobody reads it.
        self._fs.delete(target, False)
        if not self._fs.rename(temporary, target):
            hint = "Check the permissions of the state folder."
            raise StateError("storage-failed", f"{path!r} could not be renamed from its temporary name", hint=hint)

    def _walk(self, start: str) -> Iterator[str]:
        with _storage_errors(start):
            folder = self._hadoop.Path(start)
            if not self._fs.exists(folder):
                return
            files = self._fs.listFiles(folder, True)
            while files.hasNext():
                yield files.next().getPath().toString().removeprefix(f"{self._root}/")


def _tells_of_a_missing_folder(error: Py4JJavaError) -> bool:
    """Opening fails, or making the folder, or the `chmod` that a local disk without Hadoop's own library runs on it."""
    name, said = error.java_exception.getClass().getSimpleName(), str(error.java_exception.getMessage())
    return name == "FileNotFoundException" or "Mkdirs failed" in said or "No such file or directory" in said


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        name = error.java_exception.getClass().getSimpleName()
        said = str(error.java_exception.getMessage())
        if name == "FileNotFoundException":
            raise missing(path) from error
        # A part may be said to begin where a file that was cut off has ended.
        if name in ("ChecksumException", "EOFException"):
            raise damaged(path, said) from error
        if "No space left" in said or "QuotaExceeded" in name:
            hint = "Free some space; what is committed is untouched."
            raise StateError("storage-full", f"no space left for {path!r}: {said}", hint=hint) from error
        hint = "Check the URI, the credentials in Spark's Hadoop configuration, and the network."
        raise StateError("storage-failed", f"{path!r}: {name}: {said}", hint=hint) from error
