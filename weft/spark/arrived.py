"""A micro-batch as the tick sees it: rows to aggregate, and what to do about those that cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException

from weft.plan.network import Network
from weft.spark.batch import Batch, aggregate, project
from weft.spark.checkpoint import BatchMark, list_files, read_clock
from weft.spark.dead import BAD_FILE, LETTERS, NO_LETTERS, DeadLetters, letters
from weft.spark.failure import reason_of
from weft.spark.level0 import MOMENT, Statement
from weft.streams import Stream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# What a file system says where a file is gone or closed to us: that may pass, and is no fault of the file's content.
TRANSIENT = re.compile(
    r"FILE_NOT_EXIST|FileNotFound|No such file|AccessDenied|AccessControl|Permission denied|Input/output error|"
    r"Connect|Timeout|timed out|UnknownHost",
)
Read = Callable[[Sequence[str]], "DataFrame"]


@dataclass(frozen=True)
class SparkBatch:
    """A batch of a running stream, or of one whose rows are handed over (`checkpoint` is None then)."""

    rows: DataFrame
    mark: BatchMark
    stream: Stream
    count_jobs: Callable[[], int] = lambda: 0
    read: Read | None = None
    checkpoint: str | None = None

    def jobs(self) -> int:
        """How many Spark jobs the stream has started so far."""
        return self.count_jobs()

    def aggregate(self, network: Network, parts: Sequence[Statement]) -> Batch:
        """The partial rows of the network's base nodes."""
        return aggregate(self.rows, parts, self.mark.batch_id)

    def dead_letters(self) -> DeadLetters:
        """The batch's dead rows, each with its reason and where it came from."""
        if self.read is None or self.checkpoint is None:
            return letters(self.rows, self.stream, self.mark.batch_id, files=False)
        return self._letters(self._files())

    def cleaned(self) -> tuple[SparkBatch, DeadLetters]:
        """The batch without dead rows and unreadable files, and these; for when it failed as it came."""
        if self.read is None or self.checkpoint is None:
            found = letters(self.rows, self.stream, self.mark.batch_id, files=False)
            return replace(self, rows=self.rows.where(f"{MOMENT} IS NOT NULL")), found
        files = self._files()
        bad = {} if _trouble(self.rows) is None else self._bad(files)
        good = [file for file in files if file not in bad]
        if not good:
            return replace(self, rows=self.rows.sparkSession.createDataFrame([], self.rows.schema)), _gone(bad, self)
        rows = project(self.read(good), self.stream, now=self._now())
        alive = rows.where(f"{MOMENT} IS NOT NULL")
        return replace(self, rows=alive), self._letters(good) + _gone(bad, self)

    def _letters(self, files: Sequence[str]) -> DeadLetters:
        assert self.read is not None
        if not files:
            return NO_LETTERS
        rows = project(self.read(files), self.stream, now=self._now(), corrupt=True)
        return letters(rows, self.stream, self.mark.batch_id, files=True)

    def _files(self) -> tuple[str, ...]:
        assert self.checkpoint is not None
        return list_files(self.rows.sparkSession, self.checkpoint, self.mark.batch_id)

    def _now(self) -> Column:
        from pyspark.sql import functions as f

        assert self.checkpoint is not None
        clock = read_clock(self.rows.sparkSession, self.checkpoint, self.mark.batch_id)
        return f.lit(datetime.fromtimestamp(clock / 1000, UTC))

    def _bad(self, files: Sequence[str]) -> dict[str, str]:
        """The files whose content cannot be read, with reasons; raises where a file cannot be reached at all."""
        assert self.read is not None
        bad = {}
        for file in files:
            trouble = _trouble(self.read([file]))
            if trouble is not None:
                if TRANSIENT.search(str(trouble)):
                    raise trouble
                bad[file] = reason_of(trouble)
        return bad


def _trouble(rows: DataFrame) -> PySparkException | None:
    """What happens when every column of every row is read."""
    try:
        rows.write.format("noop").mode("overwrite").save()
    except PySparkException as error:
        return error
    return None


def _gone(bad: dict[str, str], batch: SparkBatch) -> DeadLetters:
    """Unreadable files as letters: which, and why."""
    if not bad:
        return NO_LETTERS
    table = pa.table(
        [
            [batch.mark.batch_id] * len(bad),
            [BAD_FILE] * len(bad),
            list(bad),
            [json.dumps({"error": reason}) for reason in bad.values()],
        ],
        schema=LETTERS,
    )
    return DeadLetters({BAD_FILE: len(bad)}, table)
