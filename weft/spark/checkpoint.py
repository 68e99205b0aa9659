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
