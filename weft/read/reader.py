"""Reading results: from the files of a committed state to an Arrow table, without Spark.

A window that was finished ahead is looked up. Any other is merged from the blocks that cover it; several windows at
once are made in one pass over slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from weft.algebra.expressions import Slot, walk
from weft.algebra.types import TIMESTAMP
from weft.algebra.windows import Window, micros
from weft.backend.duck import Duck
from weft.backend.merge import quoted
from weft.backend.render import duck_sql
from weft.errors import EngineError
from weft.plan.finish import MAX_OVERLAP
from weft.plan.needs import Needs
from weft.plan.route import Route, Stocked, route
from weft.read.runs import run_of, runs
from weft.read.view import View, build_view
from weft.segments.cache import Recent, TableCache
from weft.segments.roll import is_on_roll
from weft.segments.rows import START, row_schema
from weft.segments.segment import SegmentRow
from weft.segments.types import arrow_type
from weft.store.source import END, Source, exploded, slice_rows, union, window_rows
from weft.store.state import StreamState, Synopsis

INDEX_BYTES = 64 * 2**20
# After every moment: the query holds no window yet.
NEVER = 2**63 - 1

FAILURES = {"weft:division-by-zero": "division by zero", "weft:overflow": "arithmetic overflow"}


@dataclass(frozen=True)
class Step:
    """A time of a query's life: what it needed then, and which epochs of its nodes' files belong to it."""

    needs: Needs
    since: int
    until: int | None

    @cached_property
    def view(self) -> View:
        return build_view(self.needs)


RowsOf = Callable[[Synopsis, Sequence[str], pa.Schema, str], Source]
"""Makes the rows of a node: these columns of it, in this form, under this label."""


def in_one_pass(window: Window) -> bool:
    """Whether many windows are made in one pass over slices, and not one after the other from blocks."""
    return window.range // window.slide <= MAX_OVERLAP


def kept_sql(needs: Needs) -> str:
    """The condition over a node's rows that the query's predicate is."""
    if needs.residue is None:
        return "true"
    slots = {node.name: quoted(node.name) for node in walk(needs.residue) if isinstance(node, Slot)}
    return duck_sql(needs.residue, slots)


def stock_of(state: StreamState) -> list[Stocked]:
    """The stored nodes as routing sees them."""
    return [
        Stocked(synopsis.node.id, synopsis.running, synopsis.dimensions, synopsis.complete_from, state.held(synopsis))
        for synopsis in state.synopses.values()
        if synopsis.fed
    ]


class Reader:
    """Reads queries' results from committed states; safe to call from several threads."""

    def __init__(self, duck: Duck, cache: TableCache) -> None:
        self._duck = duck
        self._cache = cache
        self._indexes = Recent(INDEX_BYTES)

    def moved(self, steps: Sequence[Step], view: View, state: StreamState, ends: Sequence[int]) -> pa.Table:
        """Windows of a query that moved, from all places that its rows were kept in; `view` takes filtered rows."""
        window = steps[-1].needs.window
        assert window is not None
        schema = result_schema(steps[-1].needs)
        if len(ends) > 1 and in_one_pass(window):
            return self._run(view, schema, self._steps(steps, view, state, END, partial(self._many, window, ends)))
        tables = [schema.empty_table()]
        for end in ends:
            rows = partial(self._one, end - micros(window.range), end)
            tables.append(self._run(view, schema, self._steps(steps, view, state, END, rows)))
        return pa.concat_tables(tables)

    def moved_totals(
        self, steps: Sequence[Step], view: View, state: StreamState, promised: int, *, since: int | None = None
    ) -> pa.Table:
        """The totals of a query that moved; with `since`, only groups that changed in a later tick."""
        schema = result_schema(steps[-1].needs, changes=since is not None)
        table = self._run(view, schema, self._steps(steps, view, state, START, partial(self._totals, promised)))
        return table if since is None else table.filter(pc.greater(table.column(0), since))

    def _steps(self, steps: Sequence[Step], view: View, state: StreamState, lead: str, rows_of: RowsOf) -> list[Source]:
        """For every part of a query its rows of all steps, those that its predicate keeps; the column `lead` first."""
        sources = []
        for part, wanted in enumerate(view.columns):
            texts: list[str] = []
            tables: dict[str, pa.Table] = {}
            kept = ", ".join([lead, *map(quoted, wanted)])
            for place, step in enumerate(steps):
                rows = self._step(step, part, state, lead, rows_of, f"{part}_{place}")
                texts.append(f"SELECT {kept} FROM ({rows.sql}) WHERE {kept_sql(step.needs)}")
                tables |= rows.tables
            sources.append(Source(" UNION ALL ".join(texts), tables))
        return sources

    def _step(self, step: Step, part: int, state: StreamState, lead: str, rows_of: RowsOf, label: str) -> Source:
        columns, schema = step.view.columns[part], part_schema(step.needs, part)
        node = state.synopses.get(step.needs.parts[part].node)
        if node is None:
            return union(label, columns, schema, [], f"CAST(0 AS BIGINT) AS {lead}")
        return rows_of(state.within(node, step.since, step.until), columns, schema, label)

    def _totals(
        self, promised: int, synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema, label: str
    ) -> Source:
        """The rows of all ticks from the one that was promised on."""
        tables = [self._cache.get(file) for file in synopsis.data if file.time_to > promised]
        return union(label, (START, *columns), schema, [("all", tables, f"{START} >= {promised}")])

    def _one(
        self, start: int, end: int, synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema, label: str
    ) -> Source:
        """The rows of the window [start, end), from the fewest blocks."""
        return window_rows(self._cache, synopsis, columns, schema, start, end, label)

    def _many(
        self,
        window: Window,
        ends: Sequence[int],
        synopsis: Synopsis,
        columns: Sequence[str],
        schema: pa.Schema,
        label: str,
    ) -> Source:
        """The rows of several neighbouring windows, in one pass over slices."""
        length, slide = micros(window.range), micros(window.slide)
        rows = slice_rows(self._cache, synopsis, columns, schema, ends[0] - length, ends[-1], label)
        kept = [quoted(column) for column in columns]
        sql = exploded(rows, kept, first=str(ends[0]), last=str(ends[-1]), length=str(length), slide=str(slide))
        return Source(sql, rows.tables)

    def windows(
        self, needs: Needs, view: View, state: StreamState, found: Sequence[Route], ends: Sequence[int]
    ) -> pa.Table:
        """The rows of the windows with these ends, oldest window first."""
        window, schema = needs.window, result_schema(needs)
        assert window is not None
        if not ends or any(one.node not in state.synopses for one in found):
            return schema.empty_table()

        def read(rows_of: RowsOf) -> pa.Table:
            sources = [
                rows_of(state.synopses[one.node], columns, part_schema(needs, part), str(part))
                for part, (one, columns) in enumerate(zip(found, view.columns, strict=True))
            ]
            return self._run(view, schema, sources)

        if len(ends) > 1 and in_one_pass(window):
            return read(partial(self._many, window, ends))
        return pa.concat_tables([read(partial(self._one, end - micros(window.range), end)) for end in ends])

    def finished(
        self, needs: Needs, view: View, files: Sequence[SegmentRow], requests: Sequence[str], end: int
    ) -> pa.Table | None:
        """A window that was finished ahead: each part from the file and the line that it is stored under.

        None where a file was made when nobody asked for that line.
        """
        sources = []
        for part, (file, request, columns) in enumerate(zip(files, requests, view.columns, strict=True)):
            table = self._cache.get(file)
            if not is_on_roll(table, request):
                return None
            index = self._indexes.get(file.path, partial(runs, table))
            rows = table.slice(*run_of(index, request, end)).select([END, *columns])
            sources.append(Source(f"SELECT * FROM weft_finished{part}", {f"weft_finished{part}": rows}))
        return self._run(view, result_schema(needs), sources)


    def running(
        self, needs: Needs, view: View, state: StreamState, found: Sequence[Route], *, since: int | None = None
    ) -> pa.Table:
        """The totals of a query without a window; with `since`, only groups that changed in a later tick."""
        schema = result_schema(needs, changes=since is not None)
        sources = []
        for part, (one, columns) in enumerate(zip(found, view.columns, strict=True)):
            files = [file for file in _data(state, one) if file.time_to > one.complete_from]
            tables = [self._cache.get(file) for file in files]
            sources.append(
                union(
                    str(part),
                    (START, *columns),
                    part_schema(needs, part),
                    [("all", tables, f"{START} >= {one.complete_from}")],
                )
            )
        table = self._run(view, schema, sources)
        return table if since is None else table.filter(pc.greater(table.column(0), since))

    def _run(self, view: View, schema: pa.Schema, sources: Sequence[Source]) -> pa.Table:
        sql = view.sql
        tables: dict[str, pa.Table] = {}
        for part, source in enumerate(sources):
            sql = sql.replace(f"{{part{part}}}", f"({source.sql})")
            tables |= source.tables
        try:
            table = self._duck.run(sql, tables)
        except duckdb.Error as error:
            raise _explain(error) from error
        return table.rename_columns(schema.names).cast(schema)


def _data(state: StreamState, route: Route) -> tuple[SegmentRow, ...]:
    return state.synopses[route.node].data if route.node in state.synopses else ()


def part_schema(needs: Needs, part: int) -> pa.Schema:
    """The columns that a part's rows have wherever they are stored."""
    one = needs.parts[part]
    statistics = {need for each in one.statistics for need in (each, *each.needs)}
    return row_schema(tuple(one.dimensions), tuple(statistics))


def result_schema(needs: Needs, *, changes: bool = False) -> pa.Schema:
    """The columns of a result: the window first, then the select list under its own names."""
    moment = arrow_type(TIMESTAMP)
    lead = [("window_start", moment), ("window_end", moment)] if needs.window is not None else []
    lead = [("tick", pa.int64())] if changes else lead
    return pa.schema([*lead, *((item.name, arrow_type(item.expression.type)) for item in needs.select)])


def read_routes(needs: Needs, state: StreamState) -> tuple[Route, ...]:
    """Where every part of the query is read; a part that nothing is stored for is read from nothing."""
    stock = stock_of(state)
    return tuple(route(needs, part, stock) or Route(part.node, NEVER) for part in needs.parts)


def _explain(error: duckdb.Error) -> EngineError:
    """What went wrong in a result expression, in the query's terms."""
    message = str(error).splitlines()[0]
    reason = next((words for mark, words in FAILURES.items() if mark in message), message)
    return EngineError(
        "result-failed",
        f"the result cannot be computed: {reason}",
        hint="Spark would fail on these rows too. Guard the expression, for example with nullif(x, 0).",
    )
