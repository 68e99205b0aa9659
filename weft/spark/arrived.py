"""A micro-batch as the tick sees it: rows to aggregate, and what to do about rows that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.feeds.streams import Stream
from weft.segments.kept import MOMENT
from weft.spark.batch import BatchOutput, aggregate, project
from weft.spark.checkpoint import BatchMark, list_files, read_clock
from weft.spark.dead import BAD_FILE, CORRUPT, LETTERS, NO_LETTERS, SOURCE, DeadLetters, letters
from weft.spark.drift import CONVERTED, drift
from weft.spark.failure import JAVA_GONE, reason_of
from weft.spark.guilty import suspects, values_of
from weft.spark.kernels import MOST_DIRECT_ROWS, Level0
from weft.spark.parquet_files import ParquetFiles, found
from weft.spark.passing import may_pass
from weft.spark.paths import can_be_fetched, is_file

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Read = Callable[[Sequence[str]], "DataFrame"]


@dataclass(frozen=True)
class SparkBatch:
    """A batch of a running stream, or of a stream whose rows are handed over (`checkpoint` is None then)."""

    rows: DataFrame
    mark: BatchMark
    stream: Stream
    count_jobs: Callable[[], int] = lambda: 0
    read: Read | None = None
    checkpoint: str | None = None
    # Whether the rows are the same each time that they are read.
    repeatable: bool = True

    def jobs(self) -> int:
        """How many Spark jobs the stream has started so far."""
        return self.count_jobs()

    @contextmanager
    def held(self) -> Iterator[SparkBatch]:
        """The batch with rows that are computed once, where computing them again may give other rows.

        Spark keeps them with its executors as the first statement reads them, which takes no job of its own. They are
        cut off from what they were computed from: should they be lost, reading them fails, and never gives other rows.
        """
        if self.repeatable:
            yield self
            return
        rows = self.rows.localCheckpoint(eager=False)
        try:
            yield replace(self, rows=rows)
        finally:
            # Now, not when Java gets to it: the next batch needs the room.
            with suppress(PySparkException, *JAVA_GONE):
                rows._jdf.queryExecution().logical().rdd().unpersist(False)

    def aggregate(self, level0: Level0) -> BatchOutput:
        """The partial rows of the network's base nodes; raises where the files have other types than the stream."""
        # What was cleaned is not looked at again: there is nothing to read it with.
        wrong = self._drift(self._files()) if self._converts else None
        if wrong is not None:
            raise wrong
        return aggregate(self.rows, level0, self.mark.batch_id, self._parquet_files)

    def _parquet_files(self) -> ParquetFiles | None:
        """The batch's files, where they are such as a pass reads by itself."""
        if self.read is None or self.checkpoint is None:
            return None
        # An old calendar that somebody asks of their session is Spark's alone.
        if self.rows.sparkSession.conf.get("spark.sql.parquet.datetimeRebaseModeInRead") != "CORRECTED":
            return None
        clock = read_clock(self.rows.sparkSession, self.checkpoint, self._planned)
        return found(self.stream, self._files(), clock, MOST_DIRECT_ROWS)

    def dead_letters(self, count: int) -> DeadLetters:
        """The batch's dead rows, of which there are `count`, with the reason and the source of every row."""
        again = self.rows if self.read is None or self.checkpoint is None else self._again(self._files())
        return letters(again, self.stream, self.mark.batch_id, count)

    def cleaned(self) -> tuple[SparkBatch, DeadLetters]:
        """The batch without dead rows and unreadable files, and these as letters; for a batch that failed."""
        if self.read is None or self.checkpoint is None:
            dead = letters(self.rows, self.stream, self.mark.batch_id)
            return replace(self, rows=self.rows.where(f"{MOMENT} IS NOT NULL")), dead
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
        """A row of the batch that fails by itself, as a batch; None where there is no such row."""
        left = suspects(self.rows, lambda rows: fails(replace(self, rows=rows)))
        return next(filter(fails, (replace(self, rows=rows) for rows in left)), None)

    def values(self, columns: Sequence[str]) -> dict[str, str | None]:
        """These columns of a batch of a single row as text, cut to what can be shown."""
        return values_of(self.rows, columns)

    def _again(self, files: Sequence[str]) -> DataFrame:
        """Read files of the batch once more, with the file of every row and the text of rows that cannot be parsed.

        Cut off from its files by a checkpoint: Spark would read only the columns that a query looks at, and in these a
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
        """Whether Spark silently converts any type in a file of the batch to the type that the stream declares."""
        known = self.read is not None and self.checkpoint is not None
        return known and (self.stream.source or "").lower() == CONVERTED

    def _drift(self, files: Sequence[str]) -> Exception | None:
        """What is wrong with the types in these files, where Spark would not say so."""
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
        """The files whose content makes no sense, with reasons; raises where something else than the content failed.

        A file is bad only if all of its bytes can be fetched: nobody can list all the words of a network that fails.
        """
        assert self.read is not None
        bad = {}
        for file in files:
            # Spark would read a folder of this name as the files in it, or as nothing at all, without a word.
            if not is_file(self.rows.sparkSession, file):
                raise PySparkException(f"{file} is not there as a file any more")
            trouble = _trouble(self.read([file])) or self._drift([file])
            if trouble is not None:
                if may_pass(trouble) or not can_be_fetched(self.rows.sparkSession, file):
                    raise trouble
                bad[file] = reason_of(trouble)
        return bad


def _trouble(rows: DataFrame) -> Exception | None:
    """The error of reading every column of every row; None where that works."""
    try:
        rows.write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError) as error:
        return error
    return None


def _gone(bad: dict[str, str], batch: SparkBatch) -> DeadLetters:
    """Unreadable files as letters: which file, and why."""
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
