"""Files on any file system that Spark can reach, from the driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from weft.feeds.address import is_address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def exists(session: SparkSession, address: str) -> bool:
    """Whether a file or a folder is there."""
    if not is_address(address):
        return Path(address).exists()
    path, system, _ = _hadoop(session, address)
    return bool(system.exists(path))


def read_bytes(session: SparkSession, address: str) -> bytes:
    """The bytes of a small file."""
    if not is_address(address):
        return Path(address).read_bytes()
    path, system, jvm = _hadoop(session, address)
    stream = system.open(path)
    try:
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
    finally:
        stream.close()


def is_file(session: SparkSession, address: str) -> bool:
    """Whether a file is there, and no folder, in which Spark would look for files."""
    try:
        path, system, _ = _hadoop(session, address)
        return bool(system.getFileStatus(path).isFile())
    except (PySparkException, Py4JJavaError):
        return False


def is_on_local_disk(session: SparkSession, address: str) -> bool:
    """Whether Spark has a path on this machine's own file system, where a rename is atomic."""
    _, system, _ = _hadoop(session, address)
    # The class is not asked: Hive's libraries bring another than Hadoop's own, which does the same.
    return str(system.getUri().getScheme()) == "file"


def can_be_fetched(session: SparkSession, address: str) -> bool:
    """Whether all bytes of a file come, whatever they say; a wrong checksum beside them is a fault of the content."""
    try:
        path, system, jvm = _hadoop(session, address)
        nowhere = jvm.java.io.OutputStream.nullOutputStream()
        jvm.org.apache.hadoop.io.IOUtils.copyBytes(system.open(path), nowhere, 1 << 20, True)
    except (PySparkException, Py4JJavaError) as error:
        return "ChecksumException" in str(error)
    return True


def _hadoop(session: SparkSession, address: str) -> tuple[Any, Any, Any]:
    """A path and its file system, as Hadoop has them, and the Java that knows them."""
    jvm = session._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path, path.getFileSystem(session._jsc.hadoopConfiguration()), jvm
