"""The newest closed window of a query that has rows: going back in time, over what is stored and no further."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import pyarrow as pa

from weft.algebra.windows import micros
from weft.read.answers import Answers
from weft.read.reader import NEVER, predicate_sql
from weft.read.view import result_schema
from weft.registry.registered import Stay
from weft.segments.rows import START
from weft.store.source import slice_rows


def latest(answers: Answers) -> pa.Table:
    """Read the newest kept and closed window that has rows; of a query without a window, its totals or rows."""
    if answers.is_asked:
        return answers.newest()
    if not answers.query.needs.window.clock.sliced:
        return answers.totals()
    ends = answers.ends(None, None)
    stop, size = len(ends), 1
    while stop:
        part = ends[max(0, stop - size) : stop]
        table = answers.windows(part)
        if table.num_rows:
            # Rows come with the oldest window first.
            ends = table.column(1)
            return table.slice(ends.index(ends[-1]).as_py())
        # The next window with rows is the last that holds the newest row before this part, unless HAVING empties it.
        newest = _newest_slice(answers, part[0])
        if newest is None:
            break
        stop = min(stop - len(part), bisect_right(ends, newest + micros(answers.window.range)))
        size = min(2 * size, answers.most_at_once)
    return result_schema(answers.query.needs).empty_table()


def _newest_slice(answers: Answers, before: int) -> int | None:
    """Search the newest slice before a moment with a row that the query's predicate lets through; return its start.

    The search goes backwards in spans that double in length, and skips the time of which no file has rows.
    """
    files, end, length = answers.files(), before, micros(answers.window.range)
    while True:
        end = min(end, max((file.time_to for file in files if file.time_from < end), default=-NEVER))
        if end == -NEVER:
            return None
        starts = [_last_start(answers, stay, end - length, end) for stay in answers.query.stays]
        newest = max((start for start in starts if start is not None), default=None)
        if newest is not None:
            return newest
        end, length = end - length, 2 * length


def _last_start(answers: Answers, stay: Stay, first: int, end: int) -> int | None:
    """Search the last slice that starts from `first` to before `end` with a row of the query in one of its stays."""
    node = stay.needs.parts[0].node if stay.until is not None else answers.routes[0].node
    if node not in answers.state.synopses:
        return None
    synopsis = answers.state.within(answers.state.synopses[node], stay.since, stay.until)
    if not synopsis.data:
        return None
    rows = slice_rows(synopsis, sorted(synopsis.dimensions), None, first, end)
    if not any(source.rows for source in rows.sources):
        return None
    selection = replace(rows, where=predicate_sql(stay.needs))
    start: int | None = answers.reader.backend.measure(selection, [f"max({START})"])[0]
    return start
