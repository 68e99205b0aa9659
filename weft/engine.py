"""The object that users hold: streams and queries in, results out, Spark in between.

It wires together the parts that do the work: the opened state folder (weft/store/folder.py), the reader of committed
states (weft/read/state_reader.py), the planners (weft/optimize/planners.py) and the runners (weft/tick/runners.py).
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from weft.algebra.windows import duration_text
from weft.errors import StateError, engine_closed
from weft.feeds.address import absolute_path, path_from
from weft.feeds.sources import Roots
from weft.feeds.streams import DEFAULT_AHEAD, define_stream
from weft.handle import ContinuousQuery, metrics_or_error
from weft.optimize.planner import Planner
from weft.optimize.planners import Planners
from weft.optimize.planning import Plan
from weft.optimize.policy import Policy, check_kernel, check_sharing
from weft.plan.bill import Bill
from weft.plan.network import Network
from weft.read.answers import Answers
from weft.read.ask import Asker
from weft.read.kept_rows import KeptRowsReader
from weft.read.moments import Moment
from weft.read.reader import Reader
from weft.read.state_reader import StateReader
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.rows import StreamRows, rows_of
from weft.spark.engine_session import open_state
from weft.sql.ddl import Duration, parse_wait
from weft.store.letters import read_letters
from weft.store.state import StreamState
from weft.tick.bus import Bus
from weft.tick.events import Event
from weft.tick.logged import log_event
from weft.tick.runners import Runners
from weft.tick.stream_numbers import StreamNumbers

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
        kernel: str = "auto",
    ) -> None:
        check_sharing(sharing)
        check_kernel(kernel)
        self._roots = Roots.of(roots)
        self._session, self._folder = open_state(state, catalog, spark, spark_settings)
        self._lock, self._closed, self._bus = threading.RLock(), False, Bus()
        self.catalog, self.files, self.storage = self._folder.catalog, self._folder.files, self._folder.storage
        self.duck, self.cache = self._folder.duck, self._folder.cache
        self.registry = Registry(self.catalog, self._folder.local_path)
        self.reader = Reader(self._folder.reading)
        self.state_reader = StateReader(self.registry, self.catalog, self.reader)
        self._kept = KeptRowsReader(self.files, self._folder.reading)
        self.asker = Asker(self.registry, self.state_reader, self.reader, self._kept)
        self._planners = Planners(self.registry, self.catalog, self.state_reader, Policy(sharing, kernel))
        self._runners = Runners(
            self._folder, self._session, self.registry, self.state_reader, self._planners, self._roots, self._bus,
            self._kept,
        )
        self.filled_share = self._runners.filled_share
        self._numbers = StreamNumbers(self.registry, self.catalog, self.state_reader, self._planners, self._runners)
        self._bus.attach(log_event)
        self._bus.attach(self._numbers.note)
        # A script that just ends must not leave a stream, a JVM or an open database behind.
        atexit.register(_close, weakref.ref(self))

    def __repr__(self) -> str:
        """The folder, how much is registered and whether anything runs, as this process knows it."""
        if self._closed:
            return f"<weft.Engine {self._folder.root!r}, closed>"
        streams, queries = len(self.registry.streams()), self.registry.query_count()
        numbers = f"{streams} stream{'s' * (streams != 1)}, {queries} {'query' if queries == 1 else 'queries'}"
        return f"<weft.Engine {self._folder.root!r}, {numbers}, {'running' if self._runners.any_active else 'at rest'}>"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local session is started where none was handed over."""
        return self._session.get()

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
        retain: Duration | None = None,
    ) -> None:
        """Add a stream; again with the same definition does nothing.

        Windows close when the watermark, the newest event time less `watermark`, passes their end. A row whose time is
        more than `max_ahead` ahead of the clock is left out with the reason (see dead_letters); None takes any time.
        `retain` is how long whole rows are kept (see rows), in event time, or 'forever'; 'never' forbids to keep any.
        Adding the same stream again with another `retain` changes just that, and leaves it where it is not given.
        """
        stream = define_stream(
            name, source=source, path=absolute_path(path), schema=schema, dataframe=dataframe, event_time=event_time,
            watermark=watermark, options=options, max_ahead=max_ahead, retain=retain,
        )
        self._roots.check(stream)
        stream = replace(stream, kept_path=path_from(self._folder.local_path, path, stream.path))
        with self._lock:
            self.registry.add_stream(stream)
            if dataframe is not None:
                self._runners.dataframes[name] = dataframe

    def create_aggregate(
        self, name: str, *, parameters: str = "x double",
        statistics: Mapping[str, str], merge: Mapping[str, str], result: str,
    ) -> None:
        """Define an aggregate in SQL: statistics over its parameters, how each merges, and the result over them."""
        parts = {"parameters": parameters, "statistics": statistics, "merge": merge, "result": result}
        # Copies, which the caller cannot change later; a part that is no mapping is refused with the definition.
        copies = {key: dict(part) if isinstance(part, Mapping) else part for key, part in parts.items()}
        self.registry.create_aggregate(name, copies)

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

    @overload
    def ask(self, sql: str, *, at: Moment | None = None, explain: Literal[False] = False) -> pa.Table: ...

    @overload
    def ask(self, sql: str, *, at: Moment | None = None, explain: Literal[True]) -> str: ...

    def ask(self, sql: str, *, at: Moment | None = None, explain: bool = False) -> pa.Table | str:
        """Answer a query once, as if it had been registered before the first row; nothing is registered.

        Its newest closed window, or the newest that ends at `at` or before; without a window, its totals. What stored
        groups and rows cannot say is refused. With `explain`: from where it would come and what that costs, as text.
        """
        return self.asker.explain(sql, at) if explain else self.asker.ask(sql, at)

    def query(self, name: str) -> ContinuousQuery:
        """The handle of a registered query; also of a query that this Weft accepts no more, to drop it."""
        if not self.registry.is_registered(name):
            self.registry.query(name)
        return ContinuousQuery(self, name)

    def queries(self) -> list[ContinuousQuery]:
        """The handles of all registered queries, by name."""
        self.registry.refresh()
        return [ContinuousQuery(self, name) for name in sorted(self.registry.accepted_names())]

    def run_available(self) -> None:
        """Process all that has arrived in every stream, then return."""
        self._runners.run_available()

    def start(self, *, trigger: Duration = "0 seconds") -> None:
        """Process what arrives, a tick every `trigger` or as fast as ticks go, until stop()."""
        self._runners.start(processingTime=duration_text(parse_wait(trigger)))

    def stop(self) -> None:
        """Stop all streams, each after the tick that it is in; raises what made a stream end before."""
        self._runners.stop()

    @property
    def running(self) -> bool:
        """Whether every stream runs in this process."""
        return all(self._runners.runs(name) for name in self.registry.streams())

    def listen(
        self, callback: Callable[[Any], object], kinds: Iterable[type[Event]] | None = None
    ) -> Callable[[], None]:
        """Have `callback` called with every event of these kinds, by default all; the returned function ends that.

        Events are of the ticks that this engine runs. They come in order, from a thread of the listener's own: a
        listener that is slow or raises holds up nobody. Where more than 1,000 wait for it, the oldest are dropped.
        """
        return self._bus.listen(callback, kinds)

    def adopt(self, stream: str) -> None:
        """Go on with the checkpoint that the stream has now, though it was counted with another checkpoint.

        For when that checkpoint is lost. Every row that the new checkpoint hands over is counted, also a row that was
        counted before: take away what was, such as files that were read, before the stream starts again.
        """
        self.registry.refresh()
        self._runners.adopt(self.registry.stream(stream).name)

    def close(self) -> None:
        """Stop, and end a Spark that an engine started once no other engine uses it; again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.stop()
        finally:
            self._bus.close()
            self._session.leave()
            self._kept.close()
            with self._lock:
                self._folder.close()

    def explain(self, sql: str | None = None, *, form: str = "text") -> str:
        """The networks of all streams; of a query that is not registered, what it would share and what it would add.

        `form` is 'text', or for the networks 'mermaid' or 'graphviz'.
        """
        return self._planners.explain(sql, form)

    def bill(self, stream: str) -> Bill | None:
        """What each node of a stream costs a tick, and each query; None for a stream that never ran."""
        return self._planners.bill(stream)

    def optimize(self) -> dict[str, dict[str, float]]:
        """Search for a better plan of every stream now, and follow it from the next tick on if that is worth a move.

        It happens by itself while streams run; the answer has the seconds of a tick as planned, and as they would be
        if everything or nothing were shared.
        """
        return {name: self.planner(name).optimize().prices for name in sorted(self.registry.streams())}

    def metrics(self, *, queries: bool = False) -> dict[str, Any]:
        """The engine in numbers, by stream; with `queries` by query too, which takes a while for many."""
        streams = {name: self._numbers.of(name) for name in sorted(self.registry.streams())}
        numbers: dict[str, Any] = {"queries": len(self.registry.accepted_names()), "streams": streams}
        if queries:
            with suppress(StateError):
                self.registry.refresh()
            names = sorted(self.registry.accepted_names())
            numbers["by_query"] = {name: metrics_or_error(ContinuousQuery(self, name)) for name in names}
        return numbers

    def dead_letters(self, stream: str) -> pa.Table:
        """The rows of a stream that count for nothing: tick, reason, source and the row itself; the newest 100,000.

        Reasons: 'unparsable', 'no event time', 'too far back', 'too far ahead', and 'unreadable file' (the source).
        """
        from weft.spark.dead import LETTERS

        with self.catalog.read() as reader:
            known = reader.dead_letters(self.registry.stream(stream).name)
        return read_letters(self.files, known, LETTERS)

    def rows(
        self,
        stream: str,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
    ) -> StreamRows:
        """The kept rows of a stream that happened from `since` on and before `until`: tables of bounded size in a loop.

        `.table()` has them at once, `.dataframe()` as a Spark DataFrame. `where` is a condition in SQL. Without `since`
        all rows from the moment on from which all are kept; see add_stream's `retain`.
        """
        return rows_of(self, stream, since, until, columns, where)

    def network(self, stream: str) -> Network:
        """The network that the stream's queries ask for."""
        return self.plan(stream).network

    def plan(self, stream: str) -> Plan:
        """Everything that is decided for the queries registered now."""
        return self.planner(stream).plan()

    def answers(self, name: str) -> Answers:
        """What a query answers now: from the newest committed state of its stream, with the query as it is then."""
        return self.state_reader.answers(name)

    def registered(self, name: str) -> Registered:
        """A query as it is registered now."""
        return self.state_reader.registered(name)

    def state_of(self, stream: str) -> StreamState:
        """The newest committed state of a stream, as far as this process may know without asking when it runs it."""
        return self.state_reader.state_of(stream)

    def planner(self, stream: str) -> Planner:
        """The planner of a stream."""
        if self._closed:
            raise engine_closed()
        return self._planners.of(stream)


def _close(engine: weakref.ref[Engine]) -> None:
    """Close an engine that is still in use when the process ends."""
    still_there = engine()
    if still_there is not None:
        with suppress(Exception):
            still_there.close()
