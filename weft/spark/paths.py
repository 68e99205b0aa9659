"""Files on any file system that Spark can reach, from the driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from weft.feeds.address import is_address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def exists(session: SparkSession, place: str) -> bool:
    if not is_address(place):
        return Path(place).exists()
    path, system, _ = _hadoop(session, place)
    return bool(system.exists(path))


def read_bytes(session: SparkSession, place: str) -> bytes:
    """The bytes of a small file."""
    if not is_address(place):
        return Path(place).read_bytes()
    path, system, jvm = _hadoop(session, place)
    stream = system.open(path)
    try:
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
    finally:
        stream.close()


def is_file(session: SparkSession, place: str) -> bool:
    """Whether a file is there, and no folder, in which Spark would look for files."""
    try:
        path, system, _ = _hadoop(session, place)
        return bool(system.getFileStatus(path).isFile())
    except (PySparkException, Py4JJavaError):
        return False


def can_be_fetched(session: SparkSession, place: str) -> bool:
    """Whether all bytes of a file come, whatever they say; a wrong checksum beside them is a fault of theirs."""
    try:
        path, system, jvm = _hadoop(session, place)
        nowhere = jvm.java.io.OutputStream.nullOutputStream()
        jvm.org.apache.hadoop.io.IOUtils.copyBytes(system.open(path), nowhere, 1 << 20, True)
    except (PySparkException, Py4JJavaError) as error:
        return "ChecksumException" in str(error)
    return True


def _hadoop(session: SparkSession, place: str) -> tuple[Any, Any, Any]:
    """A path and its file system, as Hadoop has them, and the Java that knows them."""
    jvm = session._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(place)
    return path, path.getFileSystem(session._jsc.hadoopConfiguration()), jvm
