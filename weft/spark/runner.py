"""The one streaming query of a stream: source, projection, foreachBatch. All query logic lives behind the tick."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.errors import EngineError, StreamError, WeftError
from weft.failpoint import failpoint
from weft.spark.arrived import SparkBatch
from weft.spark.batch import project
from weft.spark.checkpoint import read_mark
from weft.spark.failure import JAVA_GONE, reason_of
from weft.spark.reading import is_file_source, open_stream, read_files
from weft.watch.status import AT_REST, FAILED, RUNNING, StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from weft.tick.ticker import Ticker


class _Stopped(Exception):
    """A tick began while its stream was being stopped; Spark runs the batch again at the next start."""


# A process that dies while Spark plans the very first batch leaves a temporary file in the checkpoint, and Spark would
# refuse that checkpoint for good. Ours is of one stream, and every tick checks whose batches it holds.
LEFTOVERS_ALLOWED = ("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")
START_SECONDS = 30


class Runner:
    """Starts and stops the streaming query of one stream."""

    def __init__(
        self,
        session: SparkSession,
        ticker: Ticker,
        dataframe: DataFrame | None,
        checkpoint: str,
        status: StreamStatus,
    ) -> None:
        self._status, self._said = status, AT_REST
        self._session, self._ticker, self._dataframe, self._checkpoint = session, ticker, dataframe, checkpoint
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._reported = False
        self._started = threading.Event()
        self._lock, self._gate = threading.Lock(), threading.Lock()
        self._stopping = False
        self._first = True

    @property
    def active(self) -> bool:
        """Whether the query runs; one whose Java died does not, and what it committed can be read."""
        try:
            return self._query is not None and self._query.isActive
        except JAVA_GONE:
            return False

    def start(self, **trigger: Any) -> None:
        """Start from where the last tick ended."""
        with self._lock:
            if self.active:
                raise EngineError(
                    "already-running",
                    f"stream {self._ticker.stream.name!r} is running",
                    hint="Call engine.stop() first.",
                )
            try:
                self._begin(**trigger)
            except Exception as error:
                self._say(FAILED, error)
                raise
            # Before the first tick may fail, which waits for this: what is said last must be what happened last.
            self._say(RUNNING)
            self._started.set()

    def _begin(self, **trigger: Any) -> None:
        self._failure, self._stopping, self._first = None, False, True
        self._ticker.start_anew()
        rows = project(self._rows(), self._ticker.stream)
        writer = rows.writeStream.foreachBatch(self._tick).option("checkpointLocation", self._checkpoint)
        self._session.conf.set(*LEFTOVERS_ALLOWED)
        self._started.clear()
        try:
            self._query = writer.queryName(f"weft {self._ticker.stream.name}").trigger(**trigger).start()
        except (Py4JError, PySparkException) as error:
            raise EngineError(
                "stream-failed",
                f"stream {self._ticker.stream.name!r} cannot start from {self._checkpoint}: {reason_of(error)}",
                hint="What is committed stays readable. Restore the checkpoint from a backup if it is damaged.",
            ) from error

    def wait(self) -> None:
        """Wait until the query ends by itself; raise what ended it."""
        if self._query is not None:
            try:
                self._query.awaitTermination()
            except Exception as error:
                if not isinstance(self._failure, _Stopped):
                    self._reported = True
                    raise self._reason(error) from error
            finally:
                self._say_how_it_ended()

    def stop(self) -> None:
        """Stop between two ticks: a tick that is under way is finished first."""
        with self._lock:
            if self._query is not None and self.active:
                self._stopping = True
                # Only wait here, do not hold: Spark's stop waits for a tick that begins now, and that for the gate.
                with self._gate:
                    pass
                self._query.stop()
            self.check()

    def check(self) -> None:
        """Raise what ended the query, if anything did; once, so that closing after a caught error is quiet."""
        error = self._say_how_it_ended()
        if error is not None and not self._reported:
            self._reported = True
            raise self._reason(error) from error

    @property
    def trouble(self) -> BaseException | None:
        """What ended the query; None while it runs, and where it was stopped or came to the end of its rows."""
        error = self._say_how_it_ended()
        return None if error is None else self._reason(error)

    def _say_how_it_ended(self) -> BaseException | None:
        """Say, once, that a query that ran does so no more; what ended it, None for nothing or where it runs."""
        error = self._ended_by()
        if self._query is not None and not self.active and self._said == RUNNING:
            self._say(AT_REST) if error is None else self._say(FAILED, self._reason(error))
        return error

    def _say(self, status: str, error: BaseException | None = None) -> None:
        self._said = status
        self._status.say(status, error)

    def _ended_by(self) -> BaseException | None:
        if self._query is None or self.active or isinstance(self._failure, _Stopped):
            return None
        try:
            found: BaseException | None = self._query.exception()
            return found
        except JAVA_GONE as gone:
            return gone

    def _reason(self, error: BaseException) -> BaseException:
        """Our own error where the tick raised one; Spark wraps it beyond recognition."""
        if isinstance(self._failure, WeftError):
            return self._failure
        return EngineError(
            "stream-failed",
            f"stream {self._ticker.stream.name!r} stopped: {reason_of(self._failure or error)}",
            hint="What is committed stays readable. Mend the cause and start again: nothing is lost.",
        )

    def _tick(self, rows: DataFrame, batch_id: int) -> None:
        try:
            with self._gate:
                if self._stopping:
                    raise _Stopped
                session = rows.sparkSession
                # The first tick may begin before start() has the query in hand.
                self._started.wait(START_SECONDS)
                # Spark gives all jobs of a streaming query its run id as their group.
                group = str(self._query.runId) if self._query is not None else "none"
                jobs = JobCounter(partial(session.sparkContext.statusTracker().getJobIdsForGroup, group))
                failpoint("batch-begin")
                mark = self._ticker.numbered(read_mark(session, self._checkpoint, batch_id, look_back=self._first))
                self._first = False
                failpoint("batch-marked")
                stream = self._ticker.stream
                read = partial(read_files, session, stream) if is_file_source(stream) else None
                self._ticker.run(SparkBatch(rows, mark, stream, jobs, read, self._checkpoint))
        except BaseException as error:
            self._failure = error
            if not isinstance(error, _Stopped):
                # Now, because nobody may look at this process for long.
                self._say(FAILED, self._reason(error))
            raise

    def _rows(self) -> DataFrame:
        stream = self._ticker.stream
        if stream.source is None:
            if self._dataframe is None:
                raise StreamError(
                    "dataframe-missing",
                    f"stream {stream.name!r} is given as a DataFrame",
                    hint=f"Call engine.add_stream({stream.name!r}, dataframe=...) again after opening.",
                )
            return self._dataframe
        return open_stream(self._session, stream)


class JobCounter:
    """Counts the jobs of a streaming query. Spark remembers only the last thousand: those that are new are counted."""

    def __init__(self, remembered: Callable[[], Sequence[int]]) -> None:
        self._remembered = remembered
        self._newest, self._count = -1, 0

    def __call__(self) -> int:
        """How many there were so far, and were remembered at the first call."""
        new = [one for one in self._remembered() if one > self._newest]
        self._count += len(new)
        self._newest = max(new, default=self._newest)
        return self._count
