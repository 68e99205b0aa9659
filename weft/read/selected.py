"""What a selection answers whose window is put on when somebody asks: the rows of a span, as far as they are kept.

Kept: rows are given only from the moment on from which all rows of the query are held, and only as long as they are
kept, whatever is on disk beyond that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.algebra.windows import Asked, micros
from weft.backend.interface import Source
from weft.backend.statements import duck_identifier
from weft.errors import EngineError
from weft.plan.dimensions import TICK
from weft.read.moments import Moment, datetime_of, moment_of
from weft.read.rows_view import build_rows_view
from weft.read.view import View
from weft.segments.rows import END, LATE
from weft.segments.segment import SegmentRow
from weft.store.source import slice_rows

if TYPE_CHECKING:
    from weft.read.answers import Answers

# A call reads about so many stored rows, as far as files allow.
ROWS_AT_ONCE = 1_000_000
# Beyond every moment that a row may have, and within what DuckDB takes for a moment.
FIRST, LAST = -(2**62), 2**62


def selected_now(answers: Answers, now: int | None = None) -> pa.Table:
    """The rows of the window as it is where the newest row came at `now`, by default the newest committed row."""
    window = answers.query.needs.window
    assert isinstance(window, Asked)
    moment = answers.state.max_event_time if now is None else now
    if moment is None:
        return answers.reader.view(answers.query).result.empty_table()
    begin, end = window.span(moment)
    # Both sides are included.
    return selected_between(answers, begin, (moment if end is None else end) + 1)


def span_in_kept_rows(answers: Answers, now: int | None = None) -> tuple[int, int] | None:
    """The span of a window that is put on now, where kept rows reach further back than the selection's own; or None."""
    window, kept = answers.query.needs.window, answers.state.kept.since
    moment = answers.state.max_event_time if now is None else now
    if not isinstance(window, Asked) or moment is None:
        return None
    begin, end = window.span(moment)
    first = max(_shown_from(answers), FIRST if begin is None else begin, FIRST if begin is not None else kept)
    last = (moment if end is None else end) + 1
    return (first, last) if kept <= first < min(last, kept_from(answers)) else None


def selected_between(answers: Answers, begin: int | None, end: int | None) -> pa.Table:
    """The rows from one moment to before another, as far as they are kept."""
    first = max(kept_from(answers), FIRST if begin is None else begin)
    return _selected(answers, answers.reader.view(answers.query), first, LAST if end is None else end)


def changed_since(answers: Answers, after: int) -> pa.Table:
    """The rows that came with ticks after one, each once, led by its tick; however late they came."""
    return _selected(answers, answers.reader.view(answers.query, changes=True), _shown_from(answers), LAST, after)


def selected_over(answers: Answers, begin: int, end: int) -> pa.Table | None:
    """The rows of a span, as of a window of its own; None where not all of them are there."""
    # Spans are read with what computes rows, which no other result needs.
    from weft.read.spans import Span

    state, window = answers.state, answers.query.needs.window
    # A row that no window of the query could use is not there, and may be one of the span.
    takes_all = isinstance(window, Asked) and window.length is None
    dropped = FIRST if takes_all else state.dropped
    if begin >= end or begin < max(kept_from(answers), dropped):
        return None
    span = Span(begin, end)
    return _selected(answers, build_rows_view(span.shown(answers.query.needs)), begin, end, closes=end)


def _selected(
    answers: Answers, view: View, begin: int, end: int, after: int | None = None, closes: int | None = None
) -> pa.Table:
    """Read the selected rows from the moment `begin` to before `end`.

    With `after`, those of later ticks; with `closes`, those that came while a window was open that ends then.
    """
    needs = answers.query.needs
    (part,), (columns,), (schema,) = needs.parts, view.columns, view.schemas
    node = answers.state.synopses.get(part.node)
    if node is None or begin >= end:
        return view.result.empty_table()
    # Slices begin before the rows that are in them, by no more than one is long.
    longest = max(micros(window.slide) for window in needs.window.as_sliced())
    rows = slice_rows(node, columns, schema, begin - longest, end)
    moment = duck_identifier(needs.moment)
    within = f"{moment} >= make_timestamptz({begin}) AND {moment} < make_timestamptz({end})"
    if after is not None:
        rows = replace(rows, sources=tuple(_with_later(source, after) for source in rows.sources))
        within += f" AND {duck_identifier(TICK.name)} > {after}"
    if closes is not None:
        beside = ((f"CAST({closes} AS BIGINT)", END),)
        rows = replace(rows, sources=tuple(replace(source, beside=beside) for source in rows.sources))
        within += "" if answers.is_asked else f" AND {LATE} < {closes}"
    return answers.reader.run(view, [[replace(rows, where=within)]])


def _with_later(source: Source, after: int) -> Source:
    """The files of a source that may have rows of ticks after one."""
    later = (rows for rows in source.rows if not isinstance(rows, SegmentRow) or rows.batch_to > after)
    return replace(source, rows=tuple(later))


def kept_from(answers: Answers) -> int:
    """The moment from which on all rows of the selection are there."""
    return max(_shown_from(answers), *(route.complete_from for route in answers.routes))


def _shown_from(answers: Answers) -> int:
    """The moment from which on rows are shown, whatever is there of before: so long are they kept."""
    reach, watermark, window = answers.query.reach, answers.state.watermark, answers.query.needs.window
    if reach is None or watermark is None:
        return FIRST
    # Rows go with their slices, a while after they are let go of.
    return watermark - (reach - micros(window.step) if isinstance(window, Asked) else reach)


def refuse_selection(answers: Answers) -> EngineError:
    """The refusal of closed windows to a query that has none."""
    return EngineError(
        "no-window",
        f"query {answers.query.name!r} has no windows that close",
        hint="Use result() for its rows as they are now, results(since=..., until=...) for those of a span.",
    )


def spans_of_rows(
    answers: Answers, since: Moment | None, until: Moment | None
) -> list[tuple[Moment | None, Moment | None]]:
    """Neighbouring spans that make up a span, each with the stored rows of a few files."""
    first, last = (None if moment is None else moment_of(moment) for moment in (since, until))
    edges, held = list[int](), 0
    for file in sorted(answers.files(), key=lambda file: file.time_to):
        held += file.rows
        inside = (first is None or file.time_to > first) and (last is None or file.time_to < last)
        if held >= ROWS_AT_ONCE and inside and (not edges or file.time_to > edges[-1]):
            edges.append(file.time_to)
            held = 0
    bounds = [since, *map(datetime_of, edges), until]
    return list(zip(bounds[:-1], bounds[1:], strict=True))
