"""A micro-batch as the tick sees it: rows to aggregate, and what to do about those that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.feeds.streams import Stream
from weft.plan.network import Network
from weft.spark.batch import Batch, aggregate, project
from weft.spark.checkpoint import BatchMark, list_files, read_clock
from weft.spark.dead import BAD_FILE, CORRUPT, LETTERS, NO_LETTERS, SOURCE, DeadLetters, letters
from weft.spark.drift import CONVERTED, drift
from weft.spark.failure import reason_of
from weft.spark.guilty import suspects, values_of
from weft.spark.level0 import MOMENT, Statement
from weft.spark.passing import may_pass
from weft.spark.paths import can_be_fetched, is_file

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
        """The partial rows of the network's base nodes; raises where types in the files are not those of the stream."""
        # What was cleaned is not looked at again: there is nothing to read it with.
        wrong = self._drift(self._files()) if self._converts else None
        if wrong is not None:
            raise wrong
        return aggregate(self.rows, parts, self.mark.batch_id)

    def dead_letters(self, count: int) -> DeadLetters:
        """The batch's dead rows, of which there are so many, each with its reason and where it came from."""
        again = self.rows if self.read is None or self.checkpoint is None else self._again(self._files())
        return letters(again, self.stream, self.mark.batch_id, count)

    def cleaned(self) -> tuple[SparkBatch, DeadLetters]:
        """The batch without dead rows and unreadable files, and these; for when it failed as it came."""
        if self.read is None or self.checkpoint is None:
            found = letters(self.rows, self.stream, self.mark.batch_id)
            return replace(self, rows=self.rows.where(f"{MOMENT} IS NOT NULL")), found
        files = self._files()
        bad = self._bad(files) if _trouble(self.rows) or self._drift(files) else {}
        good = [file for file in files if file not in bad]
        if not good:
            nothing = self.rows.sparkSession.createDataFrame([], self.rows.schema)
            return replace(self, rows=nothing, read=None), _gone(bad, self)
        rows = self._again(good)
        alive = rows.where(f"{MOMENT} IS NOT NULL").drop(CORRUPT, SOURCE)
        return replace(self, rows=alive, read=None), letters(rows, self.stream, self.mark.batch_id) + _gone(bad, self)

    def guilty(self, fails: Callable[[SparkBatch], object]) -> SparkBatch | None:
        """One row of the batch that fails by itself, as a batch; None where there is none."""
        left = suspects(self.rows, lambda rows: fails(replace(self, rows=rows)))
        return next(filter(fails, (replace(self, rows=rows) for rows in left)), None)

    def values(self, columns: Sequence[str]) -> dict[str, str | None]:
        """These columns of a batch of one row as text, cut to what can be shown."""
        return values_of(self.rows, columns)

    def _again(self, files: Sequence[str]) -> DataFrame:
        """The rows of some files of the batch once more, with the file of each and the text of those without meaning.

        Cut off from its files by a checkpoint: Spark would read only the columns that a query looks at, and in those a
        row may be as it should be. In the stream itself all columns are read, whatever is asked of them.
        """
        from pyspark.sql import functions as f

        assert self.read is not None
        read = self.read(files).withColumn(SOURCE, f.input_file_name())
        return project(read, self.stream, now=self._now(), beside=(CORRUPT, SOURCE)).localCheckpoint(eager=False)

    @property
    def _planned(self) -> int:
        """The number under which Spark's checkpoint knows the batch."""
        return self.mark.batch_id if self.mark.planned is None else self.mark.planned

    @property
    def _converts(self) -> bool:
        """Whether Spark takes any type in a file of the batch for that of the stream."""
        known = self.read is not None and self.checkpoint is not None
        return known and (self.stream.source or "").lower() == CONVERTED

    def _drift(self, files: Sequence[str]) -> Exception | None:
        """What is wrong with the types in some files, where Spark would not say so."""
        return drift(self.rows.sparkSession, self.stream, files) if self._converts else None

    def _files(self) -> tuple[str, ...]:
        assert self.checkpoint is not None
        return list_files(self.rows.sparkSession, self.checkpoint, self._planned)

    def _now(self) -> Column:
        from pyspark.sql import functions as f

        assert self.checkpoint is not None
        clock = read_clock(self.rows.sparkSession, self.checkpoint, self._planned)
        return f.lit(datetime.fromtimestamp(clock / 1000, UTC))

    def _bad(self, files: Sequence[str]) -> dict[str, str]:
        """The files whose content makes no sense, with reasons; raises where it is not the content that failed.

        Only of a file whose bytes all come is that said: of a network that fails nobody can list all the words.
        """
        assert self.read is not None
        bad = {}
        for file in files:
            # A folder in its place would be read as the files in it, or as nothing at all, without a word.
            if not is_file(self.rows.sparkSession, file):
                raise PySparkException(f"{file} is not there as a file any more")
            trouble = _trouble(self.read([file])) or self._drift([file])
            if trouble is not None:
                if may_pass(trouble) or not can_be_fetched(self.rows.sparkSession, file):
                    raise trouble
                bad[file] = reason_of(trouble)
        return bad


def _trouble(rows: DataFrame) -> Exception | None:
    """What happens when every column of every row is read."""
    try:
        rows.write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError) as error:
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
