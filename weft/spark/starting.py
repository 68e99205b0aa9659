"""The settings that a streaming query of Weft starts with; they are in force for that query alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.spark.paths import is_on_local_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# A process that dies while Spark plans the very first batch leaves a temporary file in the checkpoint, and Spark would
# refuse that checkpoint for good. Ours is of a single stream, and every tick checks whose batches it holds.
LEFTOVERS_ALLOWED = ("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")
# Spark's own choice starts some thirty processes a batch (readlink, chmod) where Hadoop has no native library. This
# manager writes the same files, with checksums, and renames them into place: atomic on a local disk, and not elsewhere.
RENAMED_FILES = (
    "spark.sql.streaming.checkpointFileManagerClass",
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
)
# How long a query may take to open its sources before its settings go; a slower query writes files as Spark chooses.
OPEN_MILLISECONDS = 10_000
# A setting is the whole session's, and several streams may start in it.
_starting = threading.Lock()


def start_query(writer: DataStreamWriter, session: SparkSession, checkpoint: str) -> StreamingQuery:
    """Start a streaming query with the settings that it needs, which no other query gets."""
    with _start_settings(session, checkpoint):
        query = writer.start()
        # The query copies the settings at once; the log of a file source asks the session itself, in Spark's thread.
        with suppress(Py4JError, PySparkException):
            java: Any = query._jsq
            java.streamingQuery().awaitInitialization(OPEN_MILLISECONDS)
        return query


@contextmanager
def _start_settings(session: SparkSession, checkpoint: str) -> Iterator[None]:
    """Change the settings of a session for a while.

    The session may be the user's own, and a manager of checkpoint files that the user chose stays.
    """
    with _starting:
        chosen = dict([LEFTOVERS_ALLOWED])
        if session.conf.get(RENAMED_FILES[0], None) is None and is_on_local_disk(session, checkpoint):
            chosen.update([RENAMED_FILES])
        before = {name: session.conf.get(name, None) for name in chosen}
        for name, value in chosen.items():
            session.conf.set(name, value)
        try:
            yield
        finally:
            for name, earlier in before.items():
                session.conf.unset(name) if earlier is None else session.conf.set(name, earlier)
