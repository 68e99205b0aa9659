"""What Spark's checkpoint says about a batch: whose it is and exactly which rows it planned.

Batch ids alone are not enough to skip what is done: a new checkpoint counts from zero again, and a lost offsets file
lets Spark plan other rows under the same id.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class BatchMark:
    """The identity of a batch: its checkpoint, its number, and a digest of the offsets it covers."""

    checkpoint: str
    batch_id: int
    digest: str


def read_mark(session: SparkSession, folder: str, batch_id: int) -> BatchMark:
    """The mark of a batch that is about to run; Spark writes both files before it hands the batch over."""
    metadata = json.loads(_read(session, f"{folder}/metadata"))
    offsets = _read(session, f"{folder}/offsets/{batch_id}")
    return BatchMark(metadata["id"], batch_id, hashlib.sha256(offsets).hexdigest())


def read_clock(session: SparkSession, folder: str, batch_id: int) -> int:
    """The clock of a batch in milliseconds, the same each time it runs."""
    lines = _read(session, f"{folder}/offsets/{batch_id}").decode().splitlines()
    return int(json.loads(lines[1])["batchTimestampMs"])


def list_files(session: SparkSession, folder: str, batch_id: int) -> tuple[str, ...]:
    """The files that a batch of a file source covers; every tenth entry of Spark's log repeats those before it."""
    try:
        entries = _read(session, f"{folder}/sources/0/{batch_id}")
    except (FileNotFoundError, Py4JJavaError):
        entries = _read(session, f"{folder}/sources/0/{batch_id}.compact")
    found = (json.loads(line) for line in entries.decode().splitlines()[1:])
    return tuple(one["path"] for one in found if one["batchId"] == batch_id)


def _read(session: SparkSession, place: str) -> bytes:
    """The bytes of a small file on any file system that Spark can reach."""
    if "://" not in place and not place.startswith("file:"):
        return Path(place).read_bytes()
    jvm = session._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(place)
    stream = path.getFileSystem(session._jsc.hadoopConfiguration()).open(path)
    try:
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
    finally:
        stream.close()
