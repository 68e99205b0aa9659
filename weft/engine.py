"""The one object users hold: streams and queries in, results out, Spark in between."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.algebra.windows import duration_text
from weft.backend.driver import DriverBackend
from weft.backend.duck import Duck
from weft.errors import EngineError, StateError, StreamError, WeftError
from weft.feeds.address import is_address
from weft.feeds.sources import Roots
from weft.feeds.streams import DEFAULT_AHEAD, define_stream, is_relative
from weft.handle import ContinuousQuery
from weft.optimize.learn import facts_of
from weft.optimize.optimizer import check_sharing
from weft.optimize.planner import Planner
from weft.optimize.planning import Plan
from weft.plan.bill import Bill, bill_of
from weft.plan.bound import bound_of
from weft.plan.cost import add
from weft.plan.explain import explain_network
from weft.plan.network import Network
from weft.plan.picture import FORMS, graphviz, mermaid
from weft.plan.proposal import explain_proposal
from weft.read.answers import Answers, complete_since
from weft.read.reader import Reader
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.segments.cache import TableCache
from weft.segments.files import open_files
from weft.sql.ddl import Duration, parse_wait
from weft.store.catalog import Catalog, sqlite_url
from weft.store.committed import CommittedState
from weft.store.letters import read_letters
from weft.store.lost import check_not_lost, holds_state
from weft.store.state import StreamState
from weft.store.storage import Storage
from weft.tick.bus import Bus
from weft.tick.events import Event, TickCommitted
from weft.tick.logged import log_event
from weft.watch.metrics import stream_metrics
from weft.watch.status import UNKNOWN, StreamStatus, one_line, status_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from weft.spark.runner import Runner
    from weft.tick.ticker import Ticker


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
        self._local = not is_address(self._root)
        if not self._local and catalog is None:
            raise EngineError(
                "catalog-missing",
                f"{self._root} is not a local folder, so the catalog cannot be a file there",
                hint='Name a database, for example catalog="postgresql+psycopg://user@host/weft".',
            )
        if self._local:
            self._root = str(Path(self._root).absolute())
        self._session = spark
        if spark is not None:
            from weft.spark.session import warn_of_open_doors, warn_of_time_zone

            warn_of_open_doors(spark)
            warn_of_time_zone(spark)
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
        if spark is not None:
            from weft.spark.session import enter

            enter(spark)
        try:
            self.files = open_files(f"{self._root}/segments", lambda: self.spark)
        except BaseException:
            self._leave_spark()
            self.catalog.close()
            raise
        # Readers get a thread each; ticks, of which there is one at a time, get all cores.
        self.duck, self._worker = Duck(), Duck(threads=os.cpu_count() or 1)
        with self.catalog.read() as reader:
            self.cache = TableCache(self.files, names=reader.names())
        self.registry = Registry(self.catalog, self._root if self._local else None)
        self.reader = Reader(DriverBackend(self.duck, self.cache, self.files))
        self.storage = Storage(self.catalog, self.files, DriverBackend(self._worker, self.cache, self.files))
        self._committed: dict[str, CommittedState] = {}
        self._planners: dict[str, Planner] = {}
        self._tickers: dict[str, Ticker] = {}
        self._runners: dict[str, Runner] = {}
        self._dataframes: dict[str, DataFrame] = {}
        self._closed = False
        self._bus = Bus()
        # How the newest tick of each stream went that this process ran.
        self._told: dict[str, TickCommitted] = {}
        self._bus.attach(log_event)
        self._bus.attach(self._note)
        # A script that just ends must not leave a stream, a JVM or an open database behind.
        atexit.register(_close, weakref.ref(self))

    def __repr__(self) -> str:
        """What it is of, without looking at anything that may have changed or gone."""
        streams, queries = len(self.registry.streams()), len(self.registry.queries())
        numbers = f"{streams} stream{'s' * (streams != 1)}, {queries} {'query' if queries == 1 else 'queries'}"
        return f"<weft.Engine {self._root!r}, {numbers}, {self._how()}>"

    def _how(self) -> str:
        if self._closed:
            return "closed"
        return "running" if any(runner.active for runner in list(self._runners.values())) else "at rest"

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started when none was given."""
        from weft.spark.session import start_for_engine

        with self._session_lock:
            if self._session is None:
                self._session = start_for_engine(Path(self._root) if self._local else None, self._settings)
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
        watermark: Duration = "0 seconds",
        max_ahead: Duration | None = DEFAULT_AHEAD,
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
        if self._local and path is not None and is_relative(os.fspath(path)):
            assert stream.path is not None
            # Not where it is now: a project that is moved with its state goes on.
            stream = replace(stream, kept_path=os.path.relpath(stream.path, self._root))
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

    def register(
        self, sql: str, *, name: str, keep: Duration | None = None, eager: bool | None = None
    ) -> ContinuousQuery:
        """Register a query; it takes effect at the next tick. Again with the same definition does nothing.

        `keep` is how long closed windows stay readable, in event time, or 'forever'; 7 days if it is not given. With
        `eager` windows are finished and stored in the tick that closes them; without, when somebody asks. Registering
        the same query again with another of both changes just that, and leaves as it is what is not given.
        """
        self.registry.register({name: sql}, keep, eager=eager)
        return ContinuousQuery(self, name)

    def register_all(
        self, queries: Mapping[str, str], *, keep: Duration | None = None, eager: bool | None = None
    ) -> list[ContinuousQuery]:
        """Register many queries by name, all or none of them."""
        self.registry.register(queries, keep, eager=eager)
        return [ContinuousQuery(self, name) for name in queries]

    def query(self, name: str) -> ContinuousQuery:
        """The handle of a registered query; of one that this Weft does not accept any more, to drop it."""
        if not self.registry.is_registered(name):
            self.registry.query(name)
        return ContinuousQuery(self, name)

    def queries(self) -> list[ContinuousQuery]:
        """The handles of all registered queries, by name."""
        self.registry.refresh()
        return [ContinuousQuery(self, name) for name in sorted(self.registry.accepted_names())]

    def run_available(self) -> None:
        """Process all that has arrived in every stream, then return."""
        _all([runner.wait for runner in self._start_all(availableNow=True)])

    def start(self, *, trigger: Duration = "0 seconds") -> None:
        """Process what arrives, a tick every `trigger` or as fast as ticks go, until stop()."""
        self._start_all(processingTime=duration_text(parse_wait(trigger)))

    def _start_all(self, **trigger: str | bool) -> list[Runner]:
        """Start all streams, or none: where one cannot start, those that did are stopped again."""
        started: list[Runner] = []
        try:
            for name in sorted(self.registry.streams()):
                runner = self._runner(name)
                runner.start(**trigger)
                started.append(runner)
        except BaseException:
            # What cannot be stopped says so itself; why one did not start is what matters here.
            with suppress(Exception):
                _all([runner.stop for runner in started])
            raise
        return started

    def stop(self) -> None:
        """Stop all streams, each after the tick that it is in; raises what made one of them stop before."""
        _all([runner.stop for runner in list(self._runners.values())])

    @property
    def running(self) -> bool:
        """Whether every stream runs in this process."""
        return all(self._runs(name) for name in self.registry.streams())

    def listen(
        self, callback: Callable[[Any], object], kinds: Iterable[type[Event]] | None = None
    ) -> Callable[[], None]:
        """Have `callback` called with every event of these kinds, by default all; the returned function ends that.

        Events are of the ticks that this engine runs. They come in order, from a thread of the listener's own: one
        that is slow or raises holds up nobody. Where more than 1,000 wait for it, the oldest are dropped.
        """
        return self._bus.listen(callback, kinds)

    def _note(self, event: Event) -> None:
        if isinstance(event, TickCommitted):
            self._told[event.stream] = event

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
        """Stop, and end a Spark that an engine started once no other engine uses it; again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.stop()
        finally:
            self._bus.close()
            self._leave_spark()
            with self._lock:
                self.duck.close()
                self._worker.close()
                self.catalog.close()

    def _leave_spark(self) -> None:
        with self._session_lock:
            if self._session is not None:
                from weft.spark.session import leave

                leave(self._session)

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
        searched = self.planner(name).optimizer.last
        others = {}
        if searched is not None:
            others = {"if all were shared": searched.result.everything, "if nothing were": searched.result.nothing}
        return explain_network(self.network(name), self.bill(name), others)

    def bill(self, stream: str) -> Bill | None:
        """What each node of a stream costs a tick, and each query; None for a stream that never ran."""
        planner = self.planner(stream)
        facts = facts_of(self.state_of(stream))
        if not facts.ticks:
            return None
        plan = planner.plan()
        return bill_of(plan.network, plan.amounts(facts), planner.optimizer.costs)

    def _explain_proposal(self, sql: str) -> str:
        proposed = self.registry.preview(sql)
        state, planner = self.state_of(proposed.row.stream), self.planner(proposed.row.stream)
        before, after = planner.propose(proposed)
        facts, costs = facts_of(state), planner.optimizer.costs
        seconds = None
        if facts.ticks:
            now, then = (costs.price(add(plan.amounts(facts).values())) for plan in (before, after))
            seconds = (now, then)
        needs = after.queries[proposed.name].needs
        bound = bound_of(needs, proposed.keep, self.registry.feed(proposed.query.block.feed).delay)
        return explain_proposal(needs, before.network, after.network, complete_since(proposed, state), bound, seconds)

    def optimize(self) -> dict[str, dict[str, float]]:
        """Search for a better plan of every stream now, and follow it from the next tick on if that is worth a move.

        It happens by itself while streams run; the answer has the seconds of a tick as planned, and as they would be
        if everything or nothing were shared.
        """
        return {name: self.planner(name).optimize().prices for name in sorted(self.registry.streams())}

    def metrics(self, *, queries: bool = False) -> dict[str, Any]:
        """The engine in numbers, by stream; with `queries` those of every query too, which takes a while for many."""
        streams = {name: self._stream_metrics(name) for name in sorted(self.registry.streams())}
        numbers: dict[str, Any] = {"queries": len(self.registry.accepted_names()), "streams": streams}
        if queries:
            with suppress(StateError):
                self.registry.refresh()
            names = sorted(self.registry.accepted_names())
            numbers["by_query"] = {name: _told(ContinuousQuery(self, name)) for name in names}
        return numbers

    def _stream_metrics(self, name: str) -> dict[str, Any]:
        """One stream in numbers; with a catalog that is down, what an engine knows by itself of the streams it runs."""
        runner = self._runners.get(name)
        try:
            state = self.state_of(name)
        except StateError as error:
            if not self._runners:
                raise
            if runner is None:
                return {**status_of({}), "status": UNKNOWN, "error": one_line(error)}
            state = self._committed_state(name).current
        if runner is not None:
            runner.tell()
        told = self._told[name].numbers() if name in self._told else {}
        queries, plan = len(self.registry.accepted_names(name)), self.planner(name).numbers()
        return stream_metrics(state, queries, self.catalog, runner, told, plan)

    def dead_letters(self, stream: str) -> pa.Table:
        """The rows of a stream that count for nothing: tick, reason, source and the row itself; the newest 100,000.

        Reasons: 'unparsable', 'no event time', 'too far back', 'too far ahead', and 'unreadable file' (the source).
        """
        from weft.spark.dead import LETTERS

        with self.catalog.read() as reader:
            known = reader.dead_letters(self.registry.stream(stream).name)
        return read_letters(self.files, known, LETTERS)

    def network(self, stream: str) -> Network:
        """The network that the stream's queries ask for."""
        return self.plan(stream).network

    def plan(self, stream: str) -> Plan:
        """Everything that is decided for the queries registered now."""
        return self.planner(stream).plan()

    def answers(self, name: str) -> Answers:
        """What a query answers now: from the newest committed state of its stream, with the query as it is then."""
        stream = self.registry.stream_of(name)
        if stream is not None and self._runs(stream):
            # The state first: what is registered may be newer, but never older. A query that moved since is then read
            # from where its rows were; an older one would miss what came since.
            state, query = self._committed_state(stream).current, self.registry.query(name)
            if query.row.stream == stream:
                return Answers(query, state, self.reader)
        if stream is None:
            with self.catalog.read() as snapshot:
                stream = self.registry.read(name, snapshot).row.stream
        state, query = self._committed_state(stream).reload(partial(self.registry.read, name))
        if query.row.stream != stream:
            # Dropped and registered again, on another stream.
            return self.answers(name)
        return Answers(query, state, self.reader)

    def registered(self, name: str) -> Registered:
        """A query as it is registered now."""
        stream = self.registry.stream_of(name)
        if stream is not None and self._runs(stream):
            return self.registry.query(name)
        with self.catalog.read() as snapshot:
            return self.registry.read(name, snapshot)

    def state_of(self, stream: str) -> StreamState:
        """The newest committed state of a stream, as far as this process may know without asking when it runs it."""
        committed = self._committed_state(self.registry.stream(stream).name)
        return committed.current if self._runs(stream) else committed.reload(self.registry.follow)[0]

    def _runs(self, stream: str) -> bool:
        """Whether this process runs the stream."""
        runner = self._runners.get(stream)
        return runner is not None and runner.active

    def _committed_state(self, stream: str) -> CommittedState:
        with self._lock:
            if stream not in self._committed:
                self._committed[stream] = CommittedState(stream, self.catalog)
            return self._committed[stream]

    def planner(self, stream: str) -> Planner:
        """Who plans a stream."""
        with self._lock:
            if stream not in self._planners:
                committed = self._committed_state(stream)
                committed.reload(self.registry.follow)
                self._planners[stream] = Planner(
                    self.registry.stream(stream), self.registry, self.catalog, committed, self._sharing
                )
            return self._planners[stream]

    def _ticker(self, name: str) -> Ticker:
        from weft.tick.ticker import Ticker

        with self._lock:
            if name not in self._tickers:
                stream, planner, committed = self.registry.stream(name), self.planner(name), self._committed_state(name)
                self._tickers[name] = Ticker(stream, planner, committed, self.registry, self.storage, self._bus)
            return self._tickers[name]

    def _runner(self, name: str) -> Runner:
        from weft.spark.runner import Runner

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
    return text if is_address(text) else os.path.abspath(text)
