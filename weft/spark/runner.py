"""The streaming query of a stream: source, projection, foreachBatch. All query logic lives behind the tick."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.errors import EngineError, StreamError, WeftError
from weft.failpoint import failpoint
from weft.feeds.streams import Stream
from weft.spark.arrived import SparkBatch
from weft.spark.batch import project
from weft.spark.called_back import CalledBack, Stopped
from weft.spark.checkpoint import BatchMark, read_mark
from weft.spark.compute import Arrived
from weft.spark.durations import durations_of, stages_of
from weft.spark.failure import JAVA_GONE, reason_of
from weft.spark.moved import Move, follow, move_of
from weft.spark.reading import is_file_source, open_stream, read_files
from weft.spark.repeat import is_repeatable
from weft.spark.starting import start_query
from weft.watch.status import AT_REST, FAILED, RUNNING, StreamStatus
from weft.watch.stopwatch import OTHER, Stopwatch, added, whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("weft.spark")


START_SECONDS = 30
# When to ask how long Spark took for the rest of a trigger, after a tick is done: soon, then less and less often.
ASK_AFTER = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Ticks(Protocol):
    """What the batches of a stream are handed to; the ticker in weft/tick."""

    @property
    def stream(self) -> Stream:
        """The stream that the batches are of."""

    @property
    def seconds(self) -> float:
        """How long the newest tick took here."""

    def start_anew(self) -> None:
        """Be as the catalog is."""

    def note_path(self) -> None:
        """Keep that Spark's notes have the stream's files where they are now."""

    def numbered(self, batch: BatchMark) -> BatchMark:
        """The batch under the number that it has here."""

    def run(self, batch: Arrived) -> None:
        """Run the tick of a batch."""

    def telling_later(self) -> AbstractContextManager[None]:
        """The tick that runs meanwhile is told by `tell`."""

    def tell(self, around: Mapping[str, float]) -> None:
        """Tell of the newest tick, with the stages around it."""


class Runner:
    """Starts and stops the streaming query of a stream."""

    def __init__(
        self,
        session: SparkSession,
        ticker: Ticks,
        dataframe: DataFrame | None,
        checkpoint: str,
        status: StreamStatus,
    ) -> None:
        self._status, self._said = status, AT_REST
        status.is_active = self.is_active
        self._session, self._ticker, self._dataframe, self._checkpoint = session, ticker, dataframe, checkpoint
        self._query: StreamingQuery | None = None
        self._batches = CalledBack(self._tick)
        self._failure: BaseException | None = None
        self._told: BaseException | None = None
        self._reported = False
        self._started = threading.Event()
        self._lock, self._gate, self._telling = threading.Lock(), threading.Lock(), threading.Lock()
        # The number of the newest batch as Spark has it, and our own seconds, until Spark tells the rest of them.
        self._untold: tuple[int, Stopwatch, float] | None = None
        self._stopping = False
        self._first = True
        self._home: Move | None = None
        self._repeatable = True

    def is_active(self) -> bool:
        """Whether the query runs; a query whose Java died does not, and what it committed can be read."""
        try:
            return self._query is not None and self._query.isActive
        except JAVA_GONE:
            return False

    def start(self, **trigger: Any) -> None:
        """Start from where the last tick ended."""
        with self._lock:
            if self.is_active():
                raise EngineError(
                    "already-running",
                    f"stream {self._ticker.stream.name!r} is running",
                    hint="Call engine.stop() first.",
                )
            # Before anything is said of the stream, or done to it: another engine may run it.
            self._status.check_free()
            self._told = None
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
        self._follow_the_files()
        source = self._rows()
        self._repeatable = is_repeatable(source)
        rows = project(source, self._ticker.stream)
        self._batches.let_go()
        self._batches = CalledBack(self._tick)
        writer = rows.writeStream.foreachBatch(self._batches).option("checkpointLocation", self._checkpoint)
        # Spark knows queries by name, and another engine may run a stream of this name in the same session.
        writer = writer.queryName(f"weft {self._ticker.stream.name} in {self._checkpoint}").trigger(**trigger)
        self._started.clear()
        try:
            self._query = start_query(writer, rows.sparkSession, self._checkpoint)
        except (Py4JError, PySparkException) as error:
            raise EngineError(
                "stream-failed",
                f"stream {self._ticker.stream.name!r} cannot start from {self._checkpoint}: {reason_of(error)}",
                hint="What is committed stays readable. Restore the checkpoint from a backup if it is damaged.",
            ) from error

    def _follow_the_files(self) -> None:
        """Where the project was moved with its files, have Spark know them where they are now."""
        stream = self._ticker.stream
        move = move_of(self._session, stream.noted_path, stream.path)
        if move is not None:
            follow(self._checkpoint, move, stream.name)
            self._ticker.note_path()
        self._home = move_of(self._session, stream.path, stream.first_path)

    def wait(self) -> None:
        """Wait until the query ends by itself; raise what ended it."""
        if self._query is not None:
            try:
                self._query.awaitTermination()
            except Exception as error:
                if not isinstance(self._failure, Stopped):
                    self._reported = True
                    raise self._reason(error) from error
            finally:
                self._say_how_it_ended()

    def stop(self) -> None:
        """Stop between two ticks: a tick that is under way is finished first."""
        with self._lock:
            if self._query is not None and self.is_active():
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
        self.tell()
        if self._query is not None and not self.is_active():
            self._batches.let_go()
            if self._said == RUNNING:
                self._say(AT_REST) if error is None else self._say(FAILED, self._reason(error))
        return error

    def _say(self, status: str, error: BaseException | None = None) -> None:
        self._said = status
        self._status.say(status, error)

    def _ended_by(self) -> BaseException | None:
        if self._query is None or self.is_active() or isinstance(self._failure, Stopped):
            return None
        try:
            error: BaseException | None = self._query.exception()
            return error
        except JAVA_GONE as gone:
            return gone

    def _reason(self, error: BaseException) -> BaseException:
        """The error that the tick raised, where it did; Spark wraps it beyond recognition.

        It is made once: what the catalog says of the stream is another thing when this engine has said how it ended.
        """
        if self._told is None:
            self._told = self._status.with_rival(self._failure or error)
        if not isinstance(self._told, WeftError):
            self._told = EngineError(
                "stream-failed",
                f"stream {self._ticker.stream.name!r} stopped: {reason_of(self._told)}",
                hint="What is committed stays readable. Mend the cause and start again: nothing is lost.",
            )
        return self._told

    @property
    def said(self) -> dict[str, Any]:
        """How the stream fares, as it was said here last."""
        return self._status.said

    def _tick(self, rows: DataFrame, batch_id: int) -> None:
        watch = Stopwatch()
        try:
            with watch.stage("tell"):
                # Whatever Spark said of the batch before, it said by now.
                self.tell(now=True)
            with self._gate:
                self._run_tick(rows, batch_id, watch)
        except BaseException as error:
            self._failure = error
            if not isinstance(error, Stopped):
                # Now, because nobody may look at this process for long.
                self._say(FAILED, self._reason(error))
            raise
        self._untold = batch_id, watch, time.monotonic() - watch.begin
        threading.Thread(target=self._tell_soon, name="weft-tell", daemon=True).start()

    def _run_tick(self, rows: DataFrame, batch_id: int, watch: Stopwatch) -> None:
        if self._stopping:
            raise Stopped
        session = rows.sparkSession
        with watch.stage("wait"):
            # The first tick may begin before start() has the query in hand.
            self._started.wait(START_SECONDS)
        failpoint("batch-begin")
        with watch.stage("mark"):
            # Spark gives all jobs of a streaming query its run id as their group.
            group = str(self._query.runId) if self._query is not None else "none"
            jobs = JobCounter(partial(session.sparkContext.statusTracker().getJobIdsForGroup, group))
            mark = read_mark(session, self._checkpoint, batch_id, look_back=self._first, home=self._home)
            mark = self._ticker.numbered(mark)
        self._first = False
        failpoint("batch-marked")
        stream = self._ticker.stream
        read = partial(read_files, session, stream) if is_file_source(stream) else None
        with self._ticker.telling_later():
            self._ticker.run(SparkBatch(rows, mark, stream, jobs, read, self._checkpoint, self._repeatable))

    def tell(self, *, now: bool = False) -> None:
        """Tell of the newest tick, once, when Spark has said how long it took around it; `now` or never says it."""
        with self._telling:
            if self._untold is None:
                return
            batch_id, watch, function = self._untold
            durations = self._durations(batch_id)
            if durations is None and not now and self.is_active():
                return
            self._untold = None
            ours = whole(watch.seconds, function - self._ticker.seconds, OTHER)
            try:
                self._ticker.tell(ours if durations is None else added(ours, stages_of(durations, function)))
            except Exception:  # what is committed stays; who stops a stream for its numbers?
                log.warning("tick not told", extra={"stream": self._ticker.stream.name}, exc_info=True)

    def _durations(self, batch_id: int) -> dict[str, int] | None:
        try:
            return None if self._query is None else durations_of(self._query, batch_id)
        except (*JAVA_GONE, PySparkException):
            return None

    def _tell_soon(self) -> None:
        """Tell of a tick also where no other follows and nobody asks."""
        for seconds in ASK_AFTER:
            time.sleep(seconds)
            self.tell()
            if self._untold is None:
                return

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
    """Counts the jobs of a streaming query. Spark remembers only the last thousand: new jobs are counted."""

    def __init__(self, remembered: Callable[[], Sequence[int]]) -> None:
        self._remembered = remembered
        self._newest, self._count = -1, 0

    def __call__(self) -> int:
        """How many there were so far, and were remembered at the first call."""
        new = [job for job in self._remembered() if job > self._newest]
        self._count += len(new)
        self._newest = max(new, default=self._newest)
        return self._count
