"""The handle of a registered query: results whenever somebody asks, whether the stream runs or rests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import pyarrow as pa

from weft.aggregates.statistics import ROWS
from weft.algebra.windows import micros
from weft.backend.merge import quoted
from weft.errors import EngineError, StateError
from weft.plan.bound import Bound, bound_of
from weft.plan.explain import explain_query
from weft.plan.needs import Needs
from weft.plan.route import Route
from weft.read.moments import Moment, datetime_of, moment_of, tick_of
from weft.read.reader import NEVER, in_one_pass, kept_sql, read_routes, result_schema
from weft.segments.segment import EARLIEST
from weft.store.ledger import gather, horizon
from weft.store.source import slice_rows
from weft.store.state import StreamState
from weft.store.tables import FAILED

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame as SparkFrame

    from weft.engine import Engine
    from weft.registry.registered import Registered

Answer = TypeVar("Answer")

# A window that is merged by itself takes ten milliseconds; of those that are made in one pass only rows cost anything,
# and a part of so many takes a second or three.
MAX_MERGED = 2_000
PART_IN_ONE_PASS = 1_000_000


class ContinuousQuery:
    """A registered query. Every read is the exact answer for some prefix of the stream: the ticks committed so far."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self.name = name

    def __repr__(self) -> str:
        return f"ContinuousQuery({self.name!r})"

    @property
    def sql(self) -> str:
        return self._registered.row.sql

    @property
    def status(self) -> str:
        """'registered' until its first tick, 'running' after, 'failed' once an expression of it failed on a row."""
        row = self._registered.row
        return "running" if row.status == "registered" and row.from_batch is not None else row.status

    @property
    def complete_from(self) -> datetime | int | None:
        """The moment from which on its windows are held in full; None while there is none, the year 1 for always.

        A query that is registered late has every window that starts then or later. One without a window counts all
        rows of a tick and those after it, if not all rows that ever came: then this is the number of the tick.
        """
        state = self._state()
        return complete_since(self._registered, state)

    def result(self, end: Moment | None = None) -> pa.Table:
        """The newest closed window, or the closed one that ends at `end`; of a query without a window, the totals."""
        return self._read(lambda state: self._result(state, end))

    def _result(self, state: StreamState, end: Moment | None) -> pa.Table:
        registered = self._readable()
        window = registered.needs.window
        if window is None:
            if end is not None:
                raise EngineError("no-window", f"query {self.name!r} has no window", hint="Call result() without end.")
            routes = self._routes(registered, state)
            if registered.pasts:
                view, moment = registered.filtered_view, routes[0].complete_from
                return self._engine.reader.moved_totals(registered.steps, view, state, moment)
            return self._engine.reader.running(registered.needs, registered.view, state, routes)
        if end is None:
            if state.watermark is None:
                return result_schema(registered.needs).empty_table()
            return self._window(registered, state, window.newest_closed_end(state.watermark))
        moment = moment_of(end)
        if not window.is_end(moment):
            raise EngineError(
                "no-such-window",
                f"no window of query {self.name!r} ends at {datetime_of(moment)}",
                hint=f"Its windows have {window}: ends are that far apart.",
            )
        return self._window(registered, state, moment)

    def results(self, since: Moment | None = None, until: Moment | None = None) -> pa.Table:
        """All closed windows that are still kept and end after `since` and not after `until`, oldest first.

        Refused where they are more than one call should take; see results_in_parts().
        """
        return self._read(lambda state: self._results(state, since, until))

    def _results(self, state: StreamState, since: Moment | None, until: Moment | None) -> pa.Table:
        registered = self._readable()
        ends = self._ends(registered, state, since, until)
        self._check_few(ends)
        return self._windows(registered, state, ends)

    def results_in_parts(self, since: Moment | None = None, until: Moment | None = None) -> Iterator[pa.Table]:
        """What results() gives, in parts that are read one after the other, however many windows there are.

        Windows that close while the parts are read are not among them.
        """
        ends = self._read(lambda state: self._ends(self._readable(), state, since, until))
        most = PART_IN_ONE_PASS if self._in_one_pass() else MAX_MERGED
        for place in range(0, len(ends), most):
            part = ends[place : place + most]
            # A microsecond before its first end: no other window ends there.
            yield self.results(since=datetime_of(part[0] - 1), until=datetime_of(part[-1]))

    def _ends(
        self, registered: Registered, state: StreamState, since: Moment | None, until: Moment | None
    ) -> Sequence[int]:
        """The ends of the closed windows of a span that are kept and held in full."""
        window = registered.needs.window
        if window is None:
            raise EngineError(
                "no-window",
                f"query {self.name!r} has no window",
                hint="Use result() for its totals, changes(since=...) for what changed.",
            )
        if state.watermark is None:
            return []
        kept_from = max(self._first_row(state, registered), self._oldest(registered, state))
        after = kept_from if since is None else max(kept_from, moment_of(since))
        last = state.watermark if until is None else min(state.watermark, moment_of(until))
        return window.ends(after=after, until=last)

    def _in_one_pass(self) -> bool:
        window = self._registered.needs.window
        return window is not None and in_one_pass(window)

    def _check_few(self, ends: Sequence[int]) -> None:
        if len(ends) > MAX_MERGED and not self._in_one_pass():
            upto = datetime_of(ends[MAX_MERGED - 1]).isoformat()
            raise EngineError(
                "too-many-windows",
                f"{len(ends):,} windows of query {self.name!r} are asked for, one call reads at most {MAX_MERGED:,}",
                hint=f"Say until={upto!r} and go on with since= the same moment, or use results_in_parts().",
            )

    def changes(self, since: SupportsIndex = -1) -> pa.Table:
        """Of a query without a window: the groups that changed in ticks after `since`, with their totals now.

        The first column, `tick`, is the last tick that changed the group; give the greatest one seen as the next since.
        """
        return self._read(lambda state: self._changes(state, since))

    def _changes(self, state: StreamState, since: SupportsIndex) -> pa.Table:
        registered = self._readable()
        if registered.needs.window is not None:
            raise EngineError("has-window", f"query {self.name!r} has a window", hint="Use results(since=...).")
        after = tick_of(since)
        routes, reader = self._routes(registered, state), self._engine.reader
        if registered.pasts:
            view, moment = registered.filtered_changes_view, routes[0].complete_from
            return reader.moved_totals(registered.steps, view, state, moment, since=after)
        return reader.running(registered.needs, registered.changes_view, state, routes, since=after)

    def to_pandas(self) -> PandasFrame:
        """result() as a pandas DataFrame."""
        return self.result().to_pandas()

    def dataframe(self) -> SparkFrame:
        """result() as a Spark DataFrame."""
        return self._engine.spark.createDataFrame(self.result())

    def drop(self) -> None:
        """Stop and forget the query; no other query notices."""
        self._engine.registry.drop(self.name)

    def explain(self) -> str:
        """What the query reads, shares and holds, as text."""
        registered = self._registered
        stream = registered.row.stream
        network, bill = self._engine.network(stream), self._engine.bill(stream)
        mine = bill if bill is not None and self.name in bill.users[""] else None
        return explain_query(self.name, registered.needs, network, self.complete_from, self.bound, mine)

    @property
    def bound(self) -> Bound:
        """How much state the query can need: slices times groups, as far as these can be counted."""
        registered = self._registered
        stream = self._engine.registry.stream(registered.row.stream)
        return bound_of(registered.needs, registered.keep, stream.delay)

    def metrics(self) -> dict[str, Any]:
        """Its state in numbers."""
        return self._read(self._metrics)

    def _metrics(self, state: StreamState) -> dict[str, Any]:
        registered = self._registered
        return {
            "status": self.status,
            "error": registered.row.status_detail,
            "from_batch": registered.row.from_batch,
            "complete_from": self.complete_from,
            "bound": str(self.bound),
            "rows": self._counted_rows(registered, state),
            "late_rows": self._late_rows(registered, state),
            **self._progress(registered, state),
        }

    @property
    def _registered(self) -> Registered:
        return self._engine.registry.query(self.name)

    def _state(self) -> StreamState:
        """The state to read. What is registered is to be asked for afterwards: it may be newer, but never older.

        A query that moved since is then read from where its rows were; an older one would miss what came since.
        """
        return self._engine.state_of(self._registered.row.stream)

    def _read(self, answer: Callable[[StreamState], Answer]) -> Answer:
        """An answer from the newest state; from the one after it where its files went before they were read.

        They stay for a lease. Whoever takes longer, or has a clock that jumps, is answered from what they became.
        """
        state = self._state()
        try:
            return answer(state)
        except StateError as error:
            newer = self._state()
            if error.code != "segment-missing" or newer is state:
                raise
            return answer(newer)

    def _readable(self) -> Registered:
        """The query, unless it failed: then nothing that is stored answers it any more."""
        registered = self._registered
        if registered.row.status == FAILED:
            raise EngineError(
                "query-failed",
                f"query {self.name!r} stopped: {registered.row.status_detail}",
                hint="Drop it and register it again with the expression guarded, for example by try_cast or nullif.",
            )
        return registered

    def _routes(self, registered: Registered, state: StreamState) -> tuple[Route, ...]:
        """Where the query reads: once it has taken effect, its own nodes, from the moment it was promised then."""
        promised = _promised(registered, state)
        if promised is not None:
            return tuple(Route(part.node, promised) for part in registered.needs.parts)
        routes = read_routes(registered.needs, state)
        moment = _complete_from(registered, state, routes)
        return tuple(Route(one.node, moment) for one in routes)

    def _window(self, registered: Registered, state: StreamState, end: int) -> pa.Table:
        """The rows of a window; none unless it is closed, kept and held in full."""
        if state.watermark is None or not self._oldest(registered, state) < end <= state.watermark:
            return result_schema(registered.needs).empty_table()

        def read() -> pa.Table:
            stored = self._finished(registered, state, end) if registered.eager else None
            return self._windows(registered, state, [end]) if stored is None else stored

        # A closed window never changes, so whoever asks for it again gets the same table.
        return self._engine.results.get((self.name, registered.row.sql, end), read)

    def _windows(self, registered: Registered, state: StreamState, ends: Sequence[int]) -> pa.Table:
        """The rows of windows that are closed, kept and held in full."""
        window, reader = registered.needs.window, self._engine.reader
        assert window is not None
        # Windows from before a move are read from where their rows were, and where they are now.
        settled = bisect_left(ends, registered.settled_from + micros(window.range))
        moved = reader.moved(registered.steps, registered.filtered_view, state, ends[:settled])
        if settled == len(ends):
            return moved
        routes = self._routes(registered, state)
        here = reader.windows(registered.needs, registered.view, state, routes, ends[settled:])
        return pa.concat_tables([moved, here]) if settled else here

    def _finished(self, registered: Registered, state: StreamState, end: int) -> pa.Table | None:
        """The window as it was finished in the tick that closed it, or None where it was not."""
        window, since = registered.needs.window, registered.row.from_batch
        if window is None or end - micros(window.range) < registered.settled_from:
            return None
        places = self._engine.plan(registered.row.stream).finished.get(self.name, ())
        files = []
        for place, part in zip(places, registered.needs.parts, strict=False):
            file = state.synopses[part.node].results(place.family, end) if part.node in state.synopses else None
            if file is None or since is None or file.batch_from < since:
                return None
            files.append(file)
        if not files:
            return None
        view = registered.filtered_view if places[0].filtered else registered.view
        return self._engine.reader.finished(registered.needs, view, files, [one.request for one in places], end)

    def _oldest(self, registered: Registered, state: StreamState) -> int:
        """The windows that end after this moment are kept, and held in full."""
        window, watermark = registered.needs.window, state.watermark
        assert window is not None
        whole = max(one.complete_from for one in self._routes(registered, state)) + micros(window.range) - 1
        if registered.keep is None or watermark is None:
            return whole
        return max(whole, watermark - micros(registered.keep))

    def _first_row(self, state: StreamState, registered: Registered) -> int:
        """A moment before every stored row of the query, and not long before."""
        before = (part.node for past in registered.pasts for part in past.needs.parts)
        nodes = {*(one.node for one in self._routes(registered, state)), *before}
        starts = [file.time_from for node in nodes & state.synopses.keys() for file in state.synopses[node].data]
        return min(starts, default=state.watermark or 0)

    def _progress(self, registered: Registered, state: StreamState) -> dict[str, Any]:
        """How many closed windows can be read, and the end of the newest; of running totals, nothing of both."""
        window, watermark = registered.needs.window, state.watermark
        if window is None or watermark is None or registered.row.status == FAILED:
            return {"windows": 0, "last_result": None}
        first = max(self._oldest(registered, state), self._first_row(state, registered))
        newest = window.newest_closed_end(watermark)
        count = max(0, (newest - window.newest_closed_end(first)) // micros(window.slide))
        return {"windows": count, "last_result": datetime_of(newest) if count else None}

    def _counted_rows(self, registered: Registered, state: StreamState) -> int:
        """How many rows of the stream are in what is kept for this query, each once."""
        if registered.row.status == FAILED:
            return 0
        total = 0
        for step in registered.steps:
            synopsis = state.synopses.get(step.needs.parts[0].node)
            if synopsis is not None:
                synopsis = state.within(synopsis, step.since, step.until)
            if synopsis is not None and synopsis.data:
                names = [*synopsis.dimensions, ROWS.name]
                schema = self._engine.cache.get(synopsis.data[0]).schema
                source = slice_rows(self._engine.cache, synopsis, names, schema, -NEVER, NEVER)
                total += self._sum_rows(step.needs, f"({source.sql})", source.tables)
        return total

    def _late_rows(self, registered: Registered, state: StreamState) -> int:
        """How many rows, of the time that it keeps, came after every window that they belong to was closed."""
        window, first = registered.needs.window, registered.row.from_batch
        if window is None or first is None:
            return 0
        total, oldest = 0, horizon(state.watermark, registered.reach)
        for step in registered.steps:
            synopsis = state.synopses.get(step.needs.parts[0].node)
            files = [file for file in synopsis.files if file.kind == "late"] if synopsis is not None else []
            if files:
                late = {"weft_late": gather(map(self._engine.cache.get, files))}
                mine = f"watermark >= {oldest} AND batch >= {max(first, step.since)} AND \"window\" = '{window}'"
                mine += f" AND batch < {step.until}" if step.until is not None else ""
                total += self._sum_rows(step.needs, f"(SELECT * FROM weft_late WHERE {mine})", late)
        return total

    def _sum_rows(self, needs: Needs, source: str, tables: Mapping[str, pa.Table]) -> int:
        """The rows behind partial rows of the query's node that its predicate lets through."""
        total = f"SELECT CAST(coalesce(sum({quoted(ROWS.name)}), 0) AS BIGINT) AS n FROM {source} "
        return int(self._engine.duck.run(f"{total} WHERE {kept_sql(needs)}", tables)["n"][0].as_py())


def complete_since(registered: Registered, state: StreamState) -> datetime | int | None:
    """From which moment, or tick, on a query is held in full, also one that is only proposed; None for never."""
    moment = _complete_from(registered, state, read_routes(registered.needs, state))
    if moment == NEVER:
        return None
    return moment if registered.needs.window is None and moment != EARLIEST else datetime_of(moment)


def _complete_from(registered: Registered, state: StreamState, routes: tuple[Route, ...]) -> int:
    promised = _promised(registered, state)
    if promised is not None:
        return promised
    return max(state.dropped_until(registered.needs.window), *(one.complete_from for one in routes))


def _promised(registered: Registered, state: StreamState) -> int | None:
    """From which moment on the query was said to be complete; None in a state from before its first tick."""
    row = registered.row
    return row.complete_from if row.from_batch is not None and row.from_batch <= state.batch_id else None
