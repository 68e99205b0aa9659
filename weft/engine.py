"""The one object users hold: streams and queries in, results out, Spark in between."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.backend.duck import Duck
from weft.errors import EngineError, StreamError, WeftError
from weft.feeds.sources import Roots
from weft.feeds.streams import DEFAULT_AHEAD, define_stream
from weft.handle import ContinuousQuery, complete_since
from weft.optimize.learn import facts_of
from weft.optimize.optimizer import check_sharing
from weft.optimize.planning import Plan
from weft.plan.bill import Bill, bill_of
from weft.plan.bound import bound_of
from weft.plan.cost import add
from weft.plan.explain import explain_network
from weft.plan.network import Network
from weft.plan.picture import FORMS, graphviz, mermaid
from weft.plan.proposal import explain_proposal
from weft.read.reader import Reader
from weft.registry.registry import DEFAULT_KEEP, Registry
from weft.segments.cache import RESULT_BYTES, Recent, TableCache
from weft.segments.files import open_files
from weft.spark.dead import LETTERS
from weft.spark.failure import JAVA_GONE
from weft.spark.runner import Runner
from weft.spark.session import is_running, local_session, warn_of_open_doors
from weft.sql.ddl import parse_wait
from weft.store.catalog import Catalog, sqlite_url
from weft.store.letters import read_letters
from weft.store.lost import check_not_lost, holds_state
from weft.store.state import StreamState
from weft.tick.ticker import Ticker
from weft.watch.metrics import stream_metrics
from weft.watch.status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Engine:
    """Runs continuous queries over streams, with all state in one folder.

    Opening an existing folder brings back its streams and queries. Spark starts with the first call that needs it, so
    results can be read before, or without it. Every method may be called from several threads.
    """

    def __init__(
        self,
        state: str | os.PathLike[str],
        *,
        spark: SparkSession | None = None,
        catalog: str | None = None,
        spark_settings: Mapping[str, str] | None = None,
        roots: Iterable[str | os.PathLike[str]] | None = None,
        sharing: str = "auto",
    ) -> None:
        check_sharing(sharing)
        self._sharing = sharing
        self._roots = Roots.of(roots)
        self._root = os.fspath(state).rstrip("/")
        self._local = "://" not in self._root and not self._root.startswith("file:")
        if not self._local and catalog is None:
            raise EngineError(
                "catalog-missing",
                f"{self._root} is not a local folder, so the catalog cannot be a file there",
                hint='Name a database, for example catalog="postgresql+psycopg://user@host/weft".',
            )
        if self._local:
            self._root = str(Path(self._root).absolute())
        self._session, self._owned = spark, False
        if spark is not None:
            warn_of_open_doors(spark)
        self._settings = dict(spark_settings or {})
        # Spark takes seconds to start: nobody who only reads waits for that.
        self._lock, self._session_lock = threading.RLock(), threading.RLock()
        if catalog is None:
            check_not_lost(Path(self._root))
            self.catalog = Catalog(
                sqlite_url(Path(self._root) / "catalog.sqlite"), make=lambda: not holds_state(Path(self._root))
            )
        else:
            self.catalog = Catalog(catalog)
        self.files = open_files(f"{self._root}/segments", lambda: self.spark)
        # Readers get a thread each; ticks, of which there is one at a time, get all cores.
        self.duck, self._worker, self.cache = Duck(), Duck(threads=os.cpu_count() or 1), TableCache(self.files)
        self.registry, self.reader = Registry(self.catalog), Reader(self.duck, self.cache)
        self.results = Recent(RESULT_BYTES)
        self._tickers: dict[str, Ticker] = {}
        self._runners: dict[str, Runner] = {}
        self._dataframes: dict[str, DataFrame] = {}
        self._closed = False
        # A script that just ends must not leave a stream, a JVM or an open database behind.
        atexit.register(_close, weakref.ref(self))

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started when none was given."""
        with self._session_lock:
            if self._session is None:
                # Workers must be the same Python as the driver, whatever `python3` is on the path.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
                scratch = Path(self._root) if self._local else Path(tempfile.mkdtemp(prefix="weft-"))
                # A session that somebody else started is not ours to end.
                self._owned = not is_running()
                self._session = local_session(scratch / "spark", self._settings)
            return self._session

    def add_stream(
        self,
        name: str,
        *,
        source: str | None = None,
        path: str | os.PathLike[str] | None = None,
        schema: str | None = None,
        dataframe: DataFrame | None = None,
        event_time: str,
        watermark: str = "0 seconds",
        max_ahead: str | None = DEFAULT_AHEAD,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a stream; again with the same definition does nothing.

        Windows close when the watermark, the newest event time less `watermark`, passes their end. A row whose time is
        more than `max_ahead` ahead of the clock is left out with the reason (see dead_letters); None takes any time.
        """
        stream = define_stream(
            name,
            source=source,
            path=_absolute(path),
            schema=schema,
            dataframe=dataframe,
            event_time=event_time,
            watermark=watermark,
            options=options,
            max_ahead=max_ahead,
        )
        self._roots.check(stream)
        with self._lock:
            self.registry.add_stream(stream)
            if dataframe is not None:
                self._dataframes[name] = dataframe

    def create_aggregate(
        self,
        name: str,
        *,
        parameters: str = "x double",
        statistics: Mapping[str, str],
        merge: Mapping[str, str],
        result: str,
    ) -> None:
        """Define an aggregate in SQL: statistics over its parameters, how each merges, and the result over them."""
        parts = {"statistics": _copied(statistics), "merge": _copied(merge)}
        self.registry.create_aggregate(name, {"parameters": parameters, **parts, "result": result})

    def register(self, sql: str, *, name: str, keep: str = DEFAULT_KEEP, eager: bool = False) -> ContinuousQuery:
        """Register a query; it takes effect at the next tick. Again with the same definition does nothing.

        `keep` is how long closed windows stay readable, in event time, or 'forever'. With `eager` windows are finished
        and stored in the tick that closes them; without, when somebody asks.
        """
        self.registry.register({name: sql}, keep, eager=eager)
        return ContinuousQuery(self, name)

    def register_all(
        self, queries: Mapping[str, str], *, keep: str = DEFAULT_KEEP, eager: bool = False
    ) -> list[ContinuousQuery]:
        """Register many queries by name, all or none of them."""
        self.registry.register(queries, keep, eager=eager)
        return [ContinuousQuery(self, name) for name in queries]

    def query(self, name: str) -> ContinuousQuery:
        """The handle of a registered query; of one that this Weft does not accept any more, to drop it."""
        return ContinuousQuery(self, name if self.registry.is_refused(name) else self.registry.query(name).name)

    def queries(self) -> list[ContinuousQuery]:
        """The handles of all registered queries, by name."""
        self.registry.refresh()
        return [ContinuousQuery(self, name) for name in sorted(self.registry.queries())]

    def run_available(self) -> None:
        """Process all that has arrived in every stream, then return."""
        runners = [self._runner(name) for name in sorted(self.registry.streams())]
        for runner in runners:
            runner.start(availableNow=True)
        _all([runner.wait for runner in runners])

    def start(self, *, trigger: str = "0 seconds") -> None:
        """Process what arrives, a tick every `trigger` or as fast as ticks go, until stop()."""
        parse_wait(trigger)
        for name in sorted(self.registry.streams()):
            self._runner(name).start(processingTime=trigger)

    def stop(self) -> None:
        """Stop all streams, each after the tick that it is in; raises what made one of them stop before."""
        _all([runner.stop for runner in list(self._runners.values())])

    def adopt(self, stream: str) -> None:
        """Go on with the checkpoint that the stream has now, though it is not the one that was counted with.

        For when that one is lost. Every row that the new checkpoint hands over is counted, also one that was counted
        before: take away what was, such as files that were read, before the stream starts again.
        """
        self.registry.refresh()
        stream = self.registry.stream(stream).name
        if stream in self._runners and self._runners[stream].active:
            raise EngineError("already-running", f"stream {stream!r} is running", hint="Call engine.stop() first.")
        self._ticker(stream).adopt()

    def close(self) -> None:
        """Stop, and end the Spark session if this engine started it; again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.stop()
        finally:
            with self._session_lock:
                if self._session is not None and self._owned:
                    # A Java that died has nothing to stop, and must not keep the rest open.
                    with suppress(*JAVA_GONE):
                        self._session.stop()
                    self._session = None
            with self._lock:
                self.duck.close()
                self._worker.close()
                self.catalog.close()

    def explain(self, sql: str | None = None, *, form: str = "text") -> str:
        """The networks of all streams; of a query that is not registered, what it would share and what it would add.

        `form` is 'text', or for the networks 'mermaid' or 'graphviz'.
        """
        if form not in FORMS:
            raise EngineError("bad-form", f"there is no form {form!r}", hint=f"Use one of {', '.join(FORMS)}.")
        if sql is not None:
            return self._explain_proposal(sql)
        names = sorted(self.registry.streams())
        if form == "text":
            return "\n".join(self._explain_stream(name) for name in names)
        draw = {"mermaid": mermaid, "graphviz": graphviz}[form]
        return "\n".join(draw(self.network(name)) for name in names)

    def _explain_stream(self, name: str) -> str:
        searched = self._ticker(name).optimizer.last
        others = {}
        if searched is not None:
            others = {"if all were shared": searched.found.everything, "if nothing were": searched.found.nothing}
        return explain_network(self.network(name), self.bill(name), others)

    def bill(self, stream: str) -> Bill | None:
        """What each node of a stream costs a tick, and each query; None for a stream that never ran."""
        ticker = self._ticker(stream)
        facts = facts_of(self.state_of(stream))
        if not facts.ticks:
            return None
        plan = ticker.plan()
        return bill_of(plan.network, plan.amounts(facts), ticker.optimizer.costs)

    def _explain_proposal(self, sql: str) -> str:
        proposed = self.registry.preview(sql)
        stream = self.registry.stream(proposed.row.stream)
        state = self.state_of(stream.name)
        before, after = self._ticker(stream.name).propose(proposed)
        facts, costs = facts_of(state), self._ticker(stream.name).optimizer.costs
        seconds = None
        if facts.ticks:
            now, then = (costs.price(add(plan.amounts(facts).values())) for plan in (before, after))
            seconds = (now, then)
        needs = after.queries[proposed.name].needs
        bound = bound_of(needs, proposed.keep, stream.delay)
        return explain_proposal(needs, before.network, after.network, complete_since(proposed, state), bound, seconds)

    def optimize(self) -> dict[str, dict[str, float]]:
        """Search for a better plan of every stream now, and follow it from the next tick on if that is worth a move.

        It happens by itself while streams run; the answer has the seconds of a tick as planned, and as they would be
        if everything or nothing were shared.
        """
        return {name: self._ticker(name).optimize().prices for name in sorted(self.registry.streams())}

    def metrics(self, *, queries: bool = False) -> dict[str, Any]:
        """The engine in numbers, by stream; with `queries` those of every query too, which takes a while for many."""
        streams = {
            name: stream_metrics(
                self._ticker(name),
                self.state_of(name),
                len(self.registry.queries(name)),
                self.catalog,
                self._runners.get(name),
            )
            for name in sorted(self.registry.streams())
        }
        found: dict[str, Any] = {"queries": len(self.registry.queries()), "streams": streams}
        return {**found, "by_query": {one.name: _told(one) for one in self.queries()}} if queries else found

    def dead_letters(self, stream: str) -> pa.Table:
        """The rows of a stream that count for nothing: tick, reason, source and the row itself; the newest 100,000.

        Reasons: 'unparsable', 'no event time', 'too far back', 'too far ahead', and 'unreadable file' (the source).
        """
        with self.catalog.read() as reader:
            known = reader.dead_letters(self.registry.stream(stream).name)
        return read_letters(self.files, known, LETTERS)

    def network(self, stream: str) -> Network:
        """The network that the stream's queries ask for."""
        return self.plan(stream).network

    def plan(self, stream: str) -> Plan:
        """Everything that is decided for the queries registered now."""
        return self._ticker(stream).plan()

    def state_of(self, stream: str) -> StreamState:
        """The newest committed state of a stream, as far as this process may know without asking when it runs it."""
        ticker = self._ticker(stream)
        runner = self._runners.get(stream)
        return ticker.state if runner is not None and runner.active else ticker.reload()

    def _ticker(self, name: str) -> Ticker:
        with self._lock:
            if name not in self._tickers:
                self._tickers[name] = Ticker(
                    self.registry.stream(name),
                    self.registry,
                    self.catalog,
                    self.files,
                    self._worker,
                    self.cache,
                    self._sharing,
                )
            return self._tickers[name]

    def _runner(self, name: str) -> Runner:
        before = self._runners.get(name)
        if before is not None and before.active:
            return before
        # Again, because the definition comes from the catalog, which others may write.
        self._roots.check(self.registry.stream(name))
        session = self.spark
        with self._lock:
            if self._runners.get(name) is before:
                self._runners[name] = Runner(
                    session,
                    self._ticker(name),
                    self._dataframes.get(name),
                    f"{self._root}/checkpoints/{name}",
                    StreamStatus(self.catalog, name),
                )
            return self._runners[name]


def _copied(given: Mapping[str, str]) -> Any:
    """A mapping as it is now and is kept; what is none is refused where the whole is looked at."""
    return dict(given) if isinstance(given, Mapping) else given


def _told(query: ContinuousQuery) -> dict[str, Any]:
    """The metrics of a query; of one that cannot tell them, why, and the others are told all the same."""
    try:
        return query.metrics()
    except WeftError as error:
        return {"error": str(error)}


def _all(calls: Iterable[Callable[[], None]]) -> None:
    """Make all of these calls, whatever one of them raises; then raise the first of that."""
    errors = []
    for call in calls:
        try:
            call()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _close(engine: weakref.ref[Engine]) -> None:
    still_there = engine()
    if still_there is not None:
        with suppress(Exception):
            still_there.close()


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    """A local path as it is from anywhere; an address with a scheme stays."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise StreamError("bad-source", f"the path {str(path)[:60]!r} is no path", hint="Give a text or a Path.")
    text = os.fspath(path)
    return text if "://" in text or text.startswith("file:") else os.path.abspath(text)
