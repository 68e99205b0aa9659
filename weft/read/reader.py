"""Reading results: from the files of a committed state to an Arrow table, without Spark.

A window that was finished ahead is looked up. Any other is merged from the blocks that cover it; several windows at
once are made in one pass over slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import pyarrow as pa

from weft.algebra.expressions import Slot, walk
from weft.algebra.windows import Sliced, micros
from weft.backend.interface import Backend, BackendError, FinishedRun, Selection, Source, Windows
from weft.backend.render import duck_sql
from weft.backend.statements import duck_identifier
from weft.errors import EngineError
from weft.plan.finish import MAX_OVERLAP
from weft.plan.needs import Needs
from weft.plan.route import Route, Stocked, route
from weft.read.finished import Span
from weft.read.rows_view import build_rows_view
from weft.read.view import View, build_view, columns_of, part_schema
from weft.registry.registered import Registered, Stay
from weft.segments.cache import RESULT_BYTES, Recent
from weft.segments.rows import END, START
from weft.segments.segment import SegmentRow
from weft.store.source import no_rows, slice_rows, total_rows, window_rows
from weft.store.state import StreamState, Synopsis

VIEWS = 20_000
# A moment after all moments: the query holds no window yet.
NEVER = 2**63 - 1

FAILURES = {"weft:division-by-zero": "division by zero", "weft:overflow": "arithmetic overflow"}


RowsOf = Callable[[Synopsis, Sequence[str], pa.Schema], Selection]
"""Selects rows of a node: these columns of it, of these types."""


def in_one_pass(window: Sliced) -> bool:
    """Whether many windows are made in one pass over slices, and not each by itself from blocks."""
    return window.overlap <= MAX_OVERLAP


def predicate_sql(needs: Needs) -> str:
    """Write the query's predicate as a condition over a node's rows."""
    if needs.residue is None:
        return "true"
    slots = {node.name: duck_identifier(node.name) for node in walk(needs.residue) if isinstance(node, Slot)}
    return duck_sql(needs.residue, slots)


def stock_of(state: StreamState) -> list[Stocked]:
    """Describe the stored nodes as routing sees them."""
    return [
        Stocked(synopsis.node.id, synopsis.clock, synopsis.dimensions, synopsis.complete_from, state.held(synopsis))
        for synopsis in state.synopses.values()
        if synopsis.fed
    ]


class Reader:
    """Reads queries' results from committed states; safe to call from several threads."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.results = backend, Recent(RESULT_BYTES)
        self._view = lru_cache(maxsize=VIEWS)(_build_view)

    def view(self, query: Registered, *, filtered: bool = False, changes: bool = False) -> View:
        """Return the view of a query, built once; with `filtered`, over rows that passed its predicate already."""
        return self._view(_Viewed(query), filtered, changes)

    def moved(self, stays: Sequence[Stay], view: View, state: StreamState, ends: Sequence[int]) -> pa.Table:
        """Read windows of a query that moved, from all its placements; `view` takes filtered rows."""
        window = stays[-1].needs.window
        assert isinstance(window, Sliced)
        if len(ends) > 1 and in_one_pass(window):
            rows_of = partial(_neighbours_rows, window, ends)
            return self.run(view, self._rows_of_stays(stays, view, state, END, rows_of))
        tables = [view.result.empty_table()]
        for end in ends:
            window_of = partial(_window_rows, end - micros(window.range), end)
            tables.append(self.run(view, self._rows_of_stays(stays, view, state, END, window_of)))
        return pa.concat_tables(tables)

    def moved_totals(
        self, stays: Sequence[Stay], view: View, state: StreamState, promised: int, *, since: int | None = None
    ) -> pa.Table:
        """Read the totals of a query that moved; with `since`, only groups that changed in a later tick."""
        parts = self._rows_of_stays(stays, view, state, START, partial(_totals_rows, promised))
        return self.run(view, parts, since)

    def _rows_of_stays(
        self, stays: Sequence[Stay], view: View, state: StreamState, lead: str, rows_of: RowsOf
    ) -> list[list[Selection]]:
        """Select, for every part of a query, the rows of all stays that its predicate keeps; column `lead` first."""
        parts = []
        for part, wanted in enumerate(view.columns):
            output = (lead, *wanted)
            selections = [_stay_rows(stay, part, state, lead, rows_of) for stay in stays]
            parts.append(
                [
                    replace(selection, where=predicate_sql(stay.needs), output=output)
                    for stay, selection in zip(stays, selections, strict=True)
                ]
            )
        return parts

    def windows(
        self, needs: Needs, view: View, state: StreamState, routes: Sequence[Route], ends: Sequence[int]
    ) -> pa.Table:
        """Read the windows with these ends, oldest window first."""
        window = needs.window
        assert isinstance(window, Sliced)
        if not ends or any(chosen.node not in state.synopses for chosen in routes):
            return view.result.empty_table()

        def read(rows_of: RowsOf) -> pa.Table:
            parts = [
                [rows_of(state.synopses[chosen.node], columns, schema)]
                for chosen, columns, schema in zip(routes, view.columns, view.schemas, strict=True)
            ]
            return self.run(view, parts)

        if len(ends) > 1 and in_one_pass(window):
            return read(partial(_neighbours_rows, window, ends))
        return pa.concat_tables([read(partial(_window_rows, end - micros(window.range), end)) for end in ends])

    def is_finished_in(self, file: SegmentRow, request: str) -> bool:
        """Whether a file of finished windows was made for this line of its family too."""
        return self.backend.is_finished(file, request)

    def finished(
        self, needs: Needs, view: View, requests: Sequence[str], spans: Sequence[Span], ends: Sequence[int]
    ) -> pa.Table:
        """Read windows that were finished ahead: each part from the files and the line that it is stored under."""
        parts = []
        for part, (request, columns) in enumerate(zip(requests, view.columns, strict=True)):
            runs = tuple(
                FinishedRun(span.files[part], request, ends[span.first], ends[span.stop - 1]) for span in spans
            )
            parts.append([Selection((Source(runs),), (END, *columns))])
        return self.run(view, parts)

    def running(
        self, needs: Needs, view: View, state: StreamState, routes: Sequence[Route], *, since: int | None = None
    ) -> pa.Table:
        """Read the totals of a query without a window; with `since`, only groups that changed in a later tick."""
        parts = []
        for chosen, columns, schema in zip(routes, view.columns, view.schemas, strict=True):
            node = state.synopses.get(chosen.node)
            none = no_rows(START, columns, schema)
            parts.append([none if node is None else total_rows(node, columns, schema, chosen.complete_from)])
        return self.run(view, parts, since)

    def run(self, view: View, parts: Sequence[Sequence[Selection]], after: int | None = None) -> pa.Table:
        """Run a view over the rows of its parts; with `after`, only rows whose first column is greater."""
        try:
            return self.backend.answer(view.sql, parts, view.result, after=after)
        except BackendError as error:
            raise explain_failure(error) from error


def _stay_rows(stay: Stay, part: int, state: StreamState, lead: str, rows_of: RowsOf) -> Selection:
    """Select the rows of a part of a query in a stay."""
    columns, schema = columns_of(stay.needs, stay.needs.parts[part]), part_schema(stay.needs, part)
    node = state.synopses.get(stay.needs.parts[part].node)
    if node is None:
        return no_rows(lead, columns, schema)
    return rows_of(state.within(node, stay.since, stay.until), columns, schema)


def _totals_rows(promised: int, synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema) -> Selection:
    """Select the rows of all ticks from the promised tick on."""
    return total_rows(synopsis, columns, schema, promised)


def _window_rows(start: int, end: int, synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema) -> Selection:
    """Select the rows of the window [start, end), from the fewest blocks."""
    return window_rows(synopsis, columns, schema, start, end)


def _neighbours_rows(
    window: Sliced, ends: Sequence[int], synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema
) -> Selection:
    """Select the rows of several neighbouring windows, in one pass over slices."""
    length, slide = micros(window.range), micros(window.slide)
    rows = slice_rows(synopsis, columns, schema, ends[0] - length, ends[-1])
    return replace(rows, windows=Windows(ends[0], ends[-1], length, slide))


class _Viewed:
    """A query as the key of its view: equal where registration and placement are."""

    def __init__(self, query: Registered) -> None:
        self.query = query
        self._key = (query.name, query.row.sql, query.row.definition.mark, query.placement)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Viewed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _build_view(viewed: _Viewed, filtered: bool, changes: bool) -> View:
    needs = viewed.query.needs
    return view_of(replace(needs, residue=None) if filtered else needs, changes=changes)


def view_of(needs: Needs, *, changes: bool = False) -> View:
    """Build the view of a query that selects rows, or aggregates them."""
    return (build_rows_view if needs.selects else build_view)(needs, changes=changes)


def read_routes(needs: Needs, state: StreamState) -> tuple[Route, ...]:
    """Choose the node that every part of the query is read from; a part without any stored node is read as empty.

    So is a match before ticks look for it: where a node of matches has no rows, others may have looked for nothing.
    """
    if needs.match is not None:
        return tuple(Route(part.node, NEVER) for part in needs.parts)
    stock = stock_of(state)
    return tuple(route(needs, part, stock) or Route(part.node, NEVER) for part in needs.parts)


def explain_failure(error: BackendError) -> EngineError:
    """Say what went wrong in a result expression, in the query's terms."""
    message = str(error).splitlines()[0]
    reason = next((words for mark, words in FAILURES.items() if mark in message), message)
    return EngineError(
        "result-failed",
        f"the result cannot be computed: {reason}",
        hint="Spark would fail on these rows too. Guard the expression, for example with nullif(x, 0).",
    )
