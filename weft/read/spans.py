"""A span of event time: the ways in which what is stored answers a query over it, and the answer.

A span [begin, end) is a window that nobody had to ask for before: rows of its moments count that came while it was
open. It is taken from partial rows where both ends are edges of theirs, from kept rows, or whole blocks from partial
rows and the ragged ends from kept rows.
Keeps: a way is only taken where it gives what the same query would give, had it been registered before the first row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pyarrow as pa

from weft.algebra.windows import MICROSECOND, Asked, Sliced, Sliding
from weft.backend.interface import BackendError, Rows, Selection, Source
from weft.passes.row_reader import RowSpan
from weft.plan.dimensions import keeps_rows_of
from weft.plan.layout import Layout
from weft.plan.needs import Needs, Part
from weft.read.forms import Form
from weft.read.kept_rows import KeptRowsReader, OnlySpark, pass_of
from weft.read.reader import Reader, explain_failure, view_of
from weft.read.view import part_schema
from weft.segments.rows import END
from weft.segments.segment import EARLIEST, LATEST, SegmentRow
from weft.store.source import window_rows
from weft.store.state import StreamState, Synopsis

# Seconds that an answer takes, about: the statement, a file, a partial row, a pass, a kept row.
STATEMENT, FILE, PARTIAL, PASS, ROW = 4e-3, 3e-4, 1.5e-7, 2e-2, 2.5e-7


@dataclass(frozen=True)
class Span:
    """The moments from `begin` to before `end`, a window of the kind `sliding`, which is None for all that arrived."""

    begin: int = EARLIEST
    end: int = LATEST
    sliding: Sliced | None = None

    @property
    def kind(self) -> Sliding:
        """The kind of windows of which this span is one."""
        length = (self.end - self.begin) * MICROSECOND
        start = timedelta(microseconds=self.begin % (self.end - self.begin))
        return Sliding(range=length, slide=length, start=start)

    def shown(self, needs: Needs) -> Needs:
        """The query over this span alone."""
        closes = needs.window.clock.sliced and not isinstance(needs.window, Asked)
        return replace(needs, window=self.kind) if closes else needs

    def closes(self, needs: Needs) -> int:
        """The moment from which on rows come too late for the span; never for a window that is put on when asked."""
        return LATEST if isinstance(needs.window, Asked) else self.end


@dataclass(frozen=True)
class Way:
    """A way to answer a span: from nodes, one for each part of a form, between two edges, the rest from kept rows."""

    span: Span
    form: Form
    nodes: tuple[Synopsis, ...] = ()
    edges: tuple[int, int] = (0, 0)
    ragged: tuple[RowSpan, ...] = ()

    def files(self, state: StreamState) -> list[tuple[SegmentRow, float]]:
        """The files that it reads, each with how many of its rows, about."""
        taken = [(file, _share(file, *self.edges)) for node in self.nodes for file in _near(node.data, *self.edges)]
        kept = ((file, span) for span in self.ragged for file in state.kept.files if span.is_near(file))
        return [*taken, *((file, _share(file, span.begin, span.end)) for file, span in kept)]

    def seconds(self, state: StreamState) -> float:
        """About how long it takes."""
        files = self.files(state)
        prices = ((ROW if file.kind == "rows" else PARTIAL) * rows + FILE for file, rows in files)
        return STATEMENT + (PASS if self.ragged else 0.0) + sum(prices)


def ways(forms: Iterable[Form], in_rows: Needs, state: StreamState, span: Span) -> Iterator[Way]:
    """The ways to answer a span, by the forms that nodes may have; `in_rows` is the form for kept rows alone."""
    # Rows that are selected are stored for whoever selects them, and read by their own query.
    for form in [] if in_rows.selects else list(forms):
        # That a node has no rows of a match does not say that anybody looked for it.
        if form.needs.match is None:
            yield from _by_nodes(form, state, span)
    if state.kept.since <= span.begin and computes_here(in_rows):
        yield Way(span, Form(in_rows), ragged=(RowSpan(span.begin, span.end, span.closes(in_rows)),))


def computes_here(needs: Needs) -> bool:
    """Whether this process computes a query's partial rows from kept rows, without Spark."""
    try:
        pass_of(needs)
    except OnlySpark:
        return False
    return True


def _by_nodes(form: Form, state: StreamState, span: Span) -> Iterator[Way]:
    """The cheapest way by nodes alone, and the cheapest way by nodes between edges and rows beside."""
    dropped = state.dropped if span.sliding is None else state.dropped_until(span.sliding)
    whole: list[Synopsis] = []
    inner: list[tuple[Synopsis, tuple[int, int]]] = []
    for part in form.needs.parts:
        wide = [node for node in state.synopses.values() if _groups_by(node, part, form)]
        serving = [(node, _edges(node, form, part, state, span, dropped)) for node in wide]
        ends = [(node, edges) for node, edges in serving if edges is not None]
        full = [node for node, edges in ends if edges == (span.begin, span.end)]
        if full:
            whole.append(min(full, key=lambda node: _rows_near(node, span.begin, span.end)))
        if ends:
            inner.append(max(ends, key=lambda pair: (pair[1][1] - pair[1][0], -pair[0].rows)))
    if len(whole) == len(form.needs.parts):
        yield Way(span, form, tuple(whole), (span.begin, span.end))
    elif len(inner) == len(form.needs.parts):
        edges = max(edges[0] for _, edges in inner), min(edges[1] for _, edges in inner)
        nodes = tuple(node for node, _ in inner)
        if edges[0] < edges[1] and all(_has_edges(node, state, edges) for node in nodes):
            ragged = [RowSpan(begin, end, span.end) for begin, end in ((span.begin, edges[0]), (edges[1], span.end))]
            ragged = [each for each in ragged if each.begin < each.end]
            if all(state.kept.since <= each.begin for each in ragged) and computes_here(form.needs):
                yield Way(span, form, nodes, edges, tuple(ragged))


def _groups_by(node: Synopsis, part: Part, form: Form) -> bool:
    """Whether a node that ticks add to is grouped by all that a part needs, in slices."""
    names = {dimension.name for dimension in part.dimensions}
    alike = node.fed and node.clock.sliced and names <= node.dimensions
    return alike and keeps_rows_of(node.dimensions, names)


def _edges(
    node: Synopsis, form: Form, part: Part, state: StreamState, span: Span, dropped: int
) -> tuple[int, int] | None:
    """The first and the last edge in a span between which a node holds what a part needs; None for none."""
    near = [(file, state.layouts[file.layout]) for file in _near(node.data, span.begin, span.end)]
    lacking = (file.time_to for file, layout in near if _lacks(layout, form.needs, part))
    begin = max([span.begin, node.complete_from, dropped, *lacking])
    edges = _common({layout for file, layout in near if file.time_to > begin}, begin, span.end)
    return edges if edges[0] < edges[1] else None


def _lacks(layout: Layout, needs: Needs, part: Part) -> bool:
    """Whether files of a layout lack statistics or cuts that a part needs."""
    cuts = dict(layout.cuts)
    if any(statistic.name not in layout.statistics for statistic in part.statistics):
        return True
    return any(not set(map(repr, points)) <= cuts.get(name, frozenset()) for name, points in needs.cuts)


def _common(layouts: Iterable[Layout], begin: int, end: int) -> tuple[int, int]:
    """The first and the last moment from `begin` to `end` that are edges of all layouts."""
    slicings = [layout.slicing for layout in layouts if layout.slicing is not None]
    first, last = begin, end
    while begin != EARLIEST and first < last:
        after = max((each.next_edge(first - 1) for each in slicings), default=first)
        if after == first:
            break
        first = after
    while end != LATEST and first < last:
        before = min((each.floor(last) for each in slicings), default=last)
        if before == last:
            break
        last = before
    return first, last


def _has_edges(node: Synopsis, state: StreamState, edges: tuple[int, int]) -> bool:
    layouts = {state.layouts[file.layout] for file in _near(node.data, *edges)}
    return _common(layouts, *edges) == edges


def held_from(forms: Iterable[Form], state: StreamState, window: Sliced) -> int | None:
    """The moment from which on nodes answer all windows of a kind; None where none does."""
    moments = []
    for form in forms:
        parts = []
        for part in form.needs.parts:
            nodes = [node for node in state.synopses.values() if _groups_by(node, part, form)]
            whole = (_whole_from(node, form.needs, part, state, window) for node in nodes)
            parts.append(min(whole, default=LATEST))
        moments.append(max(state.dropped_until(window), *parts))
    least = min(moments, default=LATEST)
    return None if least == LATEST else least


def _whole_from(node: Synopsis, needs: Needs, part: Part, state: StreamState, window: Sliced) -> int:
    """The moment from which on all files of a node serve a part, for windows of a kind."""

    def misses(layout: Layout) -> bool:
        return _lacks(layout, needs, part) or layout.slicing is None or not layout.slicing.covers(window)

    return max([node.complete_from, *(file.time_to for file in node.data if misses(state.layouts[file.layout]))])


def read_way(way: Way, state: StreamState, reader: Reader, kept: KeptRowsReader) -> pa.Table:
    """The answer."""
    form, span = way.form, way.span
    view = view_of(span.shown(form.needs))
    rows = _of_kept_rows(way, state, kept) if way.ragged else {}
    beside = tuple((sql, name) for name, sql in form.computed.items())
    parts = []
    for index, part in enumerate(form.needs.parts):
        schema = part_schema(form.needs, index)
        columns = tuple(name for name in schema.names if name not in _OWN)
        selections = []
        if way.nodes:
            taken = window_rows(way.nodes[index], columns, schema, *way.edges, closes=span.end)
            selections.append(_beside(taken, beside))
        if way.ragged:
            end = (f"CAST({span.end} AS BIGINT)", END)
            selections.append(_beside(Selection((Source((rows[part.node],), beside=(end,)),), columns, schema), beside))
        parts.append([replace(selection, where=form.where) for selection in selections])
    return reader.run(view, parts)


def _of_kept_rows(way: Way, state: StreamState, kept: KeptRowsReader) -> Mapping[str, Rows]:
    """The partial rows of the spans that are taken from kept rows."""
    try:
        return kept.partial_rows(way.form.needs, state.kept.files, way.ragged)
    except BackendError as error:
        raise explain_failure(error) from error


_OWN = frozenset({"start", "late", "level"})


def _beside(selection: Selection, computed: tuple[tuple[str, str], ...]) -> Selection:
    """The selection with groups that are computed beside its columns."""
    sources = tuple(replace(source, beside=(*source.beside, *computed)) for source in selection.sources)
    return replace(selection, sources=sources)


def _near(files: Sequence[SegmentRow], begin: int, end: int) -> list[SegmentRow]:
    return [file for file in files if file.time_from < end and file.time_to > begin]


def _rows_near(node: Synopsis, begin: int, end: int) -> float:
    return sum(_share(file, begin, end) for file in _near(node.data, begin, end))


def _share(file: SegmentRow, begin: int, end: int) -> float:
    """How many rows of a file lie in a span, about."""
    inside = min(file.time_to, end) - max(file.time_from, begin)
    return file.rows * max(0.0, min(1.0, inside / max(1, file.time_to - file.time_from)))
