"""What a query answers from a committed state: which windows it has, and from where each window is read.

Keeps: every answer is exact for the ticks of that state; a window is given only when it is closed, kept and held in
full. Needs nothing but the query and the state: no plan, no writer, no Spark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby

import pyarrow as pa

from weft.algebra.windows import Asked, Sliced, micros
from weft.errors import EngineError
from weft.plan.finish import FinishedSource, finished_candidates
from weft.plan.route import Route
from weft.read.finished import spans_of
from weft.read.moments import Moment, datetime_of, moment_of
from weft.read.reader import NEVER, Reader, in_one_pass, read_routes
from weft.read.selected import (
    changed_since,
    refuse_selection,
    selected_between,
    selected_now,
    selected_over,
    span_in_kept_rows,
    spans_of_rows,
)
from weft.read.view import result_schema
from weft.registry.registered import Registered
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.state import StreamState

# A window that is merged by itself takes ten milliseconds; where windows are made in one pass only rows cost anything,
# and a part of so many windows takes one to three seconds.
MAX_MERGED = 2_000
PART_IN_ONE_PASS = 1_000_000


@dataclass(frozen=True)
class Answers:
    """The answers of a query from a committed state of its stream."""

    query: Registered
    state: StreamState
    reader: Reader

    @property
    def window(self) -> Sliced:
        """The query's window; a query without a window is refused."""
        window = self.query.needs.window
        if isinstance(window, Asked):
            raise refuse_selection(self)
        if not isinstance(window, Sliced):
            raise EngineError(
                "no-window",
                f"query {self.query.name!r} has no window",
                hint="Use result() for its totals, changes(since=...) for what changed.",
            )
        return window

    @property
    def is_asked(self) -> bool:
        """Whether the window is put on when somebody asks, and never closes."""
        return isinstance(self.query.needs.window, Asked)

    def between(self, since: Moment | None, until: Moment | None) -> pa.Table:
        """Read the selected rows that came after a moment, and not after another, by event time."""
        begin, end = (None if moment is None else moment_of(moment) + 1 for moment in (since, until))
        return selected_between(self, begin, end)

    def selected_over(self, begin: Moment, end: Moment) -> pa.Table | None:
        """Read the selected rows of a span; None where the query selects none, or does not hold all of them."""
        if not self.query.needs.selects:
            return None
        return selected_over(self, moment_of(begin), moment_of(end))

    def in_kept_rows(self, end: Moment | None) -> tuple[int, int] | None:
        """Tell over which span kept rows answer the query better than its own rows do; None where they do not."""
        return span_in_kept_rows(self, None if end is None else moment_of(end))

    def spans(self, since: Moment | None, until: Moment | None) -> list[tuple[Moment | None, Moment | None]]:
        """Take a span apart into spans with about as many selected rows as a call should read."""
        return spans_of_rows(self, since, until)

    @property
    def in_one_pass(self) -> bool:
        """Whether any number of its windows is made in one pass."""
        return isinstance(self.query.needs.window, Sliced) and in_one_pass(self.query.needs.window)

    @property
    def most_at_once(self) -> int:
        """How many windows a call should read at most."""
        return PART_IN_ONE_PASS if self.in_one_pass else MAX_MERGED

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Where the query is read: once it has taken effect, its own nodes, from the moment it was promised then."""
        promised = _promised(self.query, self.state)
        if promised is not None:
            return tuple(Route(part.node, promised) for part in self.query.needs.parts)
        routes = read_routes(self.query.needs, self.state)
        moment = _complete_from(self.query, self.state, routes)
        return tuple(Route(route.node, moment) for route in routes)

    def newest(self) -> pa.Table:
        """Read the newest closed window; of a query without a window, the totals."""
        if isinstance(self.query.needs.window, Asked):
            return selected_now(self)
        if not self.query.needs.window.clock.sliced:
            return self.totals()
        if self.state.watermark is None:
            return result_schema(self.query.needs).empty_table()
        return self.at(self.window.newest_closed_end(self.state.watermark))

    def ending_at(self, end: Moment) -> pa.Table:
        """Read the closed window that ends at a moment."""
        if isinstance(self.query.needs.window, Asked):
            return selected_now(self, moment_of(end))
        if not self.query.needs.window.clock.sliced:
            hint = "Call result() without end."
            raise EngineError("no-window", f"query {self.query.name!r} has no window", hint=hint)
        moment = moment_of(end)
        if not self.window.is_end(moment):
            raise EngineError(
                "no-such-window",
                f"no window of query {self.query.name!r} ends at {datetime_of(moment)}",
                hint=f"Its windows have {self.window}: ends are that far apart.",
            )
        return self.at(moment)

    def at(self, end: int) -> pa.Table:
        """Read the rows of a window; no rows unless it is closed, kept and held in full."""
        if self.state.watermark is None or not self.oldest() < end <= self.state.watermark:
            return result_schema(self.query.needs).empty_table()
        # A closed window never changes, so whoever asks for it again gets the same table.
        key = (self.query.name, self.query.row.sql, self.query.row.definition.mark, end)
        return self.reader.results.get(key, lambda: self.windows([end]))

    def ends(self, since: Moment | None, until: Moment | None) -> Sequence[int]:
        """List the ends of the closed windows of a span that are kept and held in full."""
        window, watermark = self.window, self.state.watermark
        if watermark is None:
            return []
        kept_from = max(self.first_row(), self.oldest())
        after = kept_from if since is None else max(kept_from, moment_of(since))
        last = watermark if until is None else min(watermark, moment_of(until))
        return window.ends(after=after, until=last)

    def check_few(self, ends: Sequence[int]) -> None:
        """Refuse more windows than a call should read."""
        if len(ends) > MAX_MERGED and not self.in_one_pass:
            upto = datetime_of(ends[MAX_MERGED - 1]).isoformat()
            raise EngineError(
                "too-many-windows",
                f"{len(ends):,} windows of query {self.query.name!r} are asked for, one call reads at most "
                f"{MAX_MERGED:,}",
                hint=f"Say until={upto!r} and go on with since= the same moment, or use results_in_parts().",
            )

    def windows(self, ends: Sequence[int]) -> pa.Table:
        """Read the rows of windows that are closed, kept and held in full."""
        # Windows from before a move are read from the old placements of their rows and from the present placement.
        settled = bisect_left(ends, self.query.settled_from + micros(self.window.range))
        tables = [] if settled == 0 and ends else [self._moved(ends[:settled])]
        if settled < len(ends):
            candidates = finished_candidates(self.query.name, self.query.needs) if self.query.eager else []
            tables += self._settled(ends[settled:], candidates)
        return pa.concat_tables(tables) if len(tables) > 1 else tables[0]

    def _moved(self, ends: Sequence[int]) -> pa.Table:
        view = self.reader.view(self.query, filtered=True)
        return self.reader.moved(self.query.stays, view, self.state, ends)

    def _settled(self, ends: Sequence[int], candidates: Sequence[tuple[FinishedSource, ...]]) -> list[pa.Table]:
        """Read windows since the last move: as they were finished when they closed, others merged from partial rows."""
        needs = self.query.needs
        if not candidates:
            return [self.reader.windows(needs, self.reader.view(self.query), self.state, self.routes, ends)]
        first, *others = candidates
        tables: list[pa.Table] = []
        parts = zip(first, needs.parts, strict=True)
        spans = spans_of(ends, [self._files(candidate, part.node, ends) for candidate, part in parts])
        for ahead, together in groupby(spans, key=lambda span: bool(span.files)):
            neighbours = list(together)
            if ahead:
                view = self.reader.view(self.query, filtered=first[0].filtered)
                requests = [candidate.request for candidate in first]
                tables.append(self.reader.finished(needs, view, requests, neighbours, ends))
            else:
                # What lies between two finished windows is one span.
                tables += self._settled(ends[neighbours[0].first : neighbours[0].stop], others)
        return tables

    def _files(self, candidate: FinishedSource, node: str, ends: Sequence[int]) -> list[SegmentRow]:
        """List the files in which windows of these ends were finished for the query.

        Files from before its first tick do not count: they are of an older query of that name, which is gone.
        """
        since = self.query.row.from_batch
        if since is None or node not in self.state.synopses:
            return []
        files = self.state.synopses[node].finished(candidate.family)
        near = [file for file in files if file.time_from <= ends[-1] and file.time_to > ends[0]]
        own = [file for file in near if file.batch_from >= since]
        return [file for file in own if self.reader.is_finished_in(file, candidate.request)]

    def totals(self) -> pa.Table:
        """Read the totals of a query without a window."""
        return self._totals(None)

    def changes(self, after: int) -> pa.Table:
        """Read, of a query without a window, the groups that changed after a tick, with their present totals.

        Of a selection the rows that came after it, each once.
        """
        if self.query.needs.selects:
            return changed_since(self, after)
        if self.query.needs.window.clock.sliced:
            hint = "Use results(since=...)."
            raise EngineError("has-window", f"query {self.query.name!r} has a window", hint=hint)
        return self._totals(after)

    def _totals(self, since: int | None) -> pa.Table:
        view = self.reader.view(self.query, filtered=len(self.query.stays) > 1, changes=since is not None)
        if len(self.query.stays) > 1:
            moment = self.routes[0].complete_from
            return self.reader.moved_totals(self.query.stays, view, self.state, moment, since=since)
        return self.reader.running(self.query.needs, view, self.state, self.routes, since=since)

    def oldest(self) -> int:
        """Tell the moment after which windows end that are kept and held in full."""
        whole = max(route.complete_from for route in self.routes) + micros(self.window.range) - 1
        if self.query.keep is None or self.state.watermark is None:
            return whole
        return max(whole, self.state.watermark - micros(self.query.keep))

    def first_row(self) -> int:
        """Tell a moment before every stored row of the query, and not long before."""
        return min((file.time_from for file in self.files()), default=self.state.watermark or 0)

    def files(self) -> list[SegmentRow]:
        """List the files that hold rows of the query, in its present and its past placements."""
        before = (part.node for past in self.query.pasts for part in past.needs.parts)
        nodes = {*(route.node for route in self.routes), *before} & self.state.synopses.keys()
        return [file for node in nodes for file in self.state.synopses[node].data]


def complete_since(query: Registered, state: StreamState) -> datetime | int | None:
    """Tell from which moment, or tick, a query is held in full, also a query that is only proposed; None for never."""
    moment = whole_from(query, state)
    if moment == NEVER:
        return None
    return moment if not query.needs.window.clock.sliced and moment != EARLIEST else datetime_of(moment)


def whole_from(query: Registered, state: StreamState) -> int:
    """Tell from which moment, or tick, a query is held in full, also a query that is only proposed; NEVER for never."""
    return _complete_from(query, state, read_routes(query.needs, state))


def _complete_from(query: Registered, state: StreamState, routes: tuple[Route, ...]) -> int:
    promised = _promised(query, state)
    if promised is not None:
        return promised
    return max(state.dropped_until(query.needs.window), *(route.complete_from for route in routes))


def _promised(query: Registered, state: StreamState) -> int | None:
    """Tell the moment from which the query was said to be complete; None in a state from before its first tick."""
    row = query.row
    return row.complete_from if row.from_batch is not None and row.from_batch <= state.batch_id else None
