"""One-time queries: any query, once, over what is stored already; nothing is registered, and no tick waits for it.

The answer is that of the same query registered before the first row: its newest closed window, or the newest that was
closed at a past moment, or its totals. Where what is stored cannot say it, the question is refused, with the moment
from which on it could be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from weft.algebra.windows import Asked, Sliced, micros
from weft.errors import EngineError, StateError
from weft.plan.bill import seconds_text
from weft.plan.needs import Needs, analyse
from weft.plan.placement import Placement
from weft.plan.route import Route
from weft.read.forms import Form, forms_of
from weft.read.kept_rows import KeptRowsReader
from weft.read.moments import Moment, datetime_of, moment_of
from weft.read.reader import Reader, read_routes, view_of
from weft.read.spans import Span, Way, computes_here, held_from, read_way, ways
from weft.read.state_reader import StateReader
from weft.read.view import build_view, result_schema
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.segments.segment import EARLIEST, LATEST
from weft.store.state import StreamState

Answer = TypeVar("Answer")
BY_MATCHES = Placement(matches=True)
NOTHING = "answers nothing: no row has arrived"


@dataclass(frozen=True)
class Question:
    """A query over a span, as the newest committed state of its stream can answer it."""

    query: Registered
    state: StreamState
    placements: tuple[Placement, ...]

    @property
    def forms(self) -> list[Form]:
        """The forms in which nodes may hold what it needs."""
        stored = [synopsis.dimensions for synopsis in self.state.synopses.values() if synopsis.fed]
        return list(forms_of(self.query.query, self.query.aggregates, self.placements, stored))

    @property
    def in_rows(self) -> Needs:
        """What it needs of kept rows: rows that its predicate does not keep are not grouped."""
        return analyse(self.query.query, self.query.aggregates, BY_MATCHES)

    def way(self, span: Span) -> Way | None:
        """The cheapest way to answer it over a span; None where there is none."""
        found = ways(self.forms, self.in_rows, self.state, span)
        return min(found, key=lambda way: way.seconds(self.state), default=None)


@dataclass(frozen=True)
class Totals:
    """The totals of a query as nodes of totals hold them, all rows that ever came."""

    needs: Needs
    routes: tuple[Route, ...]


class Asker:
    """Answers one-time queries; safe to use from several threads."""

    def __init__(self, registry: Registry, states: StateReader, reader: Reader, kept: KeptRowsReader) -> None:
        self._registry, self._states, self._reader, self._kept = registry, states, reader, kept

    def ask(self, sql: str, at: Moment | None = None) -> pa.Table:
        """The newest closed window of a query, or the newest that was closed `at` a moment; its totals."""
        query = self._registry.preview(sql)
        return self._with_files(query, lambda state: self._answer(query, state, at))

    def explain(self, sql: str, at: Moment | None = None) -> str:
        """From where the answer would come and about what it would cost, as text."""
        query = self._registry.preview(sql)
        return self._with_files(query, lambda state: self._explained(query, state, at))

    def over(self, query: Registered, begin: Moment, end: Moment | None) -> pa.Table:
        """A registered query over any span of event time, with the rows that have arrived."""
        span = span_of(query, begin, end)
        return self._with_files(query, lambda state: self._read(query, state, span))

    def explain_over(self, query: Registered, begin: Moment, end: Moment | None) -> str:
        """From where over() would take its answer, as text."""
        span = span_of(query, begin, end)
        return self._with_files(query, lambda state: explained(self._way(query, state, span), state))

    @property
    def rows_read(self) -> int:
        """How many kept rows were read so far."""
        return self._kept.rows_read

    def _with_files(self, query: Registered, answer: Callable[[StreamState], Answer]) -> Answer:
        """An answer from the newest state; from the state after it where its files went before they were read."""
        state = self._states.state_of(query.row.stream)
        try:
            return answer(state)
        except StateError as error:
            newer = self._states.state_of(query.row.stream)
            if error.code != "segment-missing" or newer is state:
                raise
            return answer(newer)

    def _answer(self, query: Registered, state: StreamState, at: Moment | None) -> pa.Table:
        if isinstance(query.needs.window, Asked):
            span = _span_asked(query.needs.window, state, at)
            return view_of(query.needs).result.empty_table() if span is None else self._read(query, state, span)
        if not isinstance(query.needs.window, Sliced):
            return self._totals(query, state, at)
        if state.watermark is None and at is None:
            return result_schema(query.needs).empty_table()
        return self._read(query, state, _window_at(query.needs.window, state, at))

    def _explained(self, query: Registered, state: StreamState, at: Moment | None) -> str:
        if isinstance(query.needs.window, Asked):
            span = _span_asked(query.needs.window, state, at)
            return NOTHING if span is None else explained(self._way(query, state, span), state)
        if isinstance(query.needs.window, Sliced):
            if state.watermark is None and at is None:
                return NOTHING
            return explained(self._way(query, state, _window_at(query.needs.window, state, at)), state)
        totals = self._totals_of(query, state, at)
        return _explain_totals(totals, state) if isinstance(totals, Totals) else explained(totals, state)

    def _read(self, query: Registered, state: StreamState, span: Span) -> pa.Table:
        return read_way(self._way(query, state, span), state, self._reader, self._kept)

    def _way(self, query: Registered, state: StreamState, span: Span) -> Way:
        question = self._question(query, state)
        way = question.way(span)
        if way is None:
            raise _not_held(question, span)
        return way

    def _totals(self, query: Registered, state: StreamState, at: Moment | None) -> pa.Table:
        totals = self._totals_of(query, state, at)
        if isinstance(totals, Way):
            return read_way(totals, state, self._reader, self._kept)
        return self._reader.running(totals.needs, build_view(totals.needs), state, totals.routes)

    def _totals_of(self, query: Registered, state: StreamState, at: Moment | None) -> Totals | Way:
        """Where the totals of all rows that ever came are read."""
        if at is not None:
            hint = "Ask without a moment, or group by window(...)."
            raise EngineError("no-window", "totals over all that has arrived have no past moments", hint=hint)
        question = self._question(query, state)
        for form in question.forms:
            routes = read_routes(form.needs, state)
            begun = state.batch_id >= 0
            if not form.computed and (not begun or all(route.complete_from <= 0 for route in routes)):
                return Totals(form.needs, routes)
        way = question.way(Span())
        if way is None:
            raise _not_held(question, Span())
        return way

    def _question(self, query: Registered, state: StreamState) -> Question:
        placements = self._registry.placements(query.row.stream)
        return Question(query, state, (BY_MATCHES, *placements))


def span_of(query: Registered, begin: Moment, end: Moment | None) -> Span:
    """The span between two moments; a window of the query where it is one."""
    if end is None:
        raise EngineError("bad-span", "a span has a begin and no end", hint="Say end= too.")
    first, last = moment_of(begin), moment_of(end)
    if first >= last:
        message = f"begin {datetime_of(first)} is not before end {datetime_of(last)}"
        raise EngineError("bad-span", message, hint="A span has its begin, and not its end.")
    window = query.needs.window
    if isinstance(window, Sliced) and window.is_end(last) and last - first == micros(window.range):
        return Span(first, last, window)
    return Span(first, last, Span(first, last).kind)


def _span_asked(window: Asked, state: StreamState, at: Moment | None) -> Span | None:
    """The span of a window that is put on now, or as if the newest row had come `at` a moment; None before any row.

    Without a begin it is all that is kept.
    """
    now = state.max_event_time if at is None else moment_of(at)
    if now is None:
        return None
    begin, end = window.span(now)
    if begin is None and state.kept.since != LATEST:
        begin = state.kept.since
    return Span(EARLIEST if begin is None else begin, (now if end is None else end) + 1)


def _window_at(window: Sliced, state: StreamState, at: Moment | None) -> Span:
    """The newest closed window, or the newest that was closed at a moment."""
    watermark = EARLIEST if state.watermark is None else state.watermark
    end = window.newest_closed_end(watermark if at is None else moment_of(at))
    if end > watermark:
        raise EngineError(
            "not-closed",
            f"the window that ends at {datetime_of(end)} is open still",
            hint=f"The stream's watermark is at {datetime_of(watermark)}; ask for a moment up to then."
            if state.watermark is not None
            else "Nothing has arrived yet.",
        )
    return Span(end - micros(window.range), end, window)


def _not_held(question: Question, span: Span) -> EngineError:
    """The error of a question that nothing stored answers, with what would."""
    state, stream = question.state, question.state.stream
    moments = [state.kept.since] if computes_here(question.in_rows) else []
    if span.sliding is not None:
        held = held_from(question.forms, state, span.sliding)
        moments += [] if held is None else [held]
    newest = state.max_event_time
    since = min((moment for moment in moments if newest is not None and moment <= newest), default=LATEST)
    what = "all that has arrived" if span.begin == EARLIEST else f"{_said(span.begin)} to {_said(span.end)}"
    register = "Register the query: it is answered from the stream's next tick on"
    if since in (LATEST, EARLIEST):
        why = f"no rows of stream {stream!r} are kept that could, and no groups by {_needed(question.query.needs)}"
        hint = f'{register}. Or keep rows: add_stream(..., retain="2 hours").'
    elif span.begin == EARLIEST:
        why = f"rows of stream {stream!r} are kept from {_said(since)} on, and not all that ever came"
        hint = f"Ask for a window that starts then or later. {register}, counting from there."
    else:
        why = f"what is stored of stream {stream!r} answers it from {_said(since)} on"
        until = _said(newest or since)
        hint = f"Ask for a span from {_said(since)} to {until}. Rows that are kept longer (retain=) answer more."
    return EngineError("not-held", f"{what} cannot be answered: {why}", hint=hint)


def _needed(needs: Needs) -> str:
    """What a query needs of nodes, in words."""
    dimensions = {dimension.spelled for part in needs.parts for dimension in part.dimensions}
    statistics = {statistic.spelled for part in needs.parts for statistic in part.statistics}
    return f"({', '.join(sorted(dimensions))}) with {', '.join(sorted(statistics))}"


def explained(way: Way, state: StreamState) -> str:
    """A way in words."""
    span = way.span
    whole = span.begin == EARLIEST
    lines = ["answers all that has arrived" if whole else f"answers {_said(span.begin)} to {_said(span.end)}"]
    lines += [f"  from {_node_text(node.node.definition['expressions'])}" for node in way.nodes]
    if way.nodes and way.ragged:
        lines.append(f"    between the edges {_said(way.edges[0])} and {_said(way.edges[1])}")
    lines += [
        "  from kept rows" + ("" if whole else f" of {_said(each.begin)} to {_said(each.end)}") for each in way.ragged
    ]
    files = way.files(state)
    partial = [rows for file, rows in files if file.kind != "rows"]
    kept = [rows for file, rows in files if file.kind == "rows"]
    if way.nodes:
        lines.append(f"  reads about {sum(partial):,.0f} partial rows in {_many(len(partial), 'file')}")
    if way.ragged:
        lines.append(f"  reads about {sum(kept):,.0f} kept rows in {_many(len(kept), 'file')}")
    return "\n".join([*lines, f"  takes about {seconds_text(way.seconds(state))}"])


def _explain_totals(totals: Totals, state: StreamState) -> str:
    nodes = [state.synopses[route.node] for route in totals.routes if route.node in state.synopses]
    rows = sum(node.rows for node in nodes)
    lines = [f"  from {_node_text(node.node.definition['expressions'], 'totals')}" for node in nodes]
    return "\n".join(["answers all that has arrived", *lines, f"  reads {rows:,} partial rows"])


def _node_text(expressions: Sequence[str], kind: str = "node") -> str:
    return f"{kind} ({', '.join(sorted(expressions))})"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _said(moment: int) -> str:
    return datetime_of(moment).isoformat()
