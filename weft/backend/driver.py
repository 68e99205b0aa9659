"""The backend in the driver: partial rows as Arrow tables in this process, merged by DuckDB, kept in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import ROW_COUNT
from weft.backend.duck import Duck, run_on
from weft.backend.finishing import finishing_sql, members_sql, starts_sql
from weft.backend.interface import (
    ALL,
    FinishedRun,
    Finishing,
    Kinds,
    Merge,
    Rows,
    Selection,
    Source,
)
from weft.backend.keys import terms
from weft.backend.kinds import count_kinds, kinds_of, kinds_sql
from weft.backend.merge import merge_sql
from weft.backend.runs import runs, runs_of
from weft.backend.small_merges import merge_few
from weft.backend.statements import selection_sql
from weft.backend.tables import TableRows, marked, requests_table, shape_of, shaped, wider_cells, within, without
from weft.segments.cache import Recent, TableCache
from weft.segments.files import Files, Written
from weft.segments.parts import SMALL_BYTES
from weft.segments.roll import REQUEST, common_roll, is_on_roll, roll_of, with_roll
from weft.segments.rows import START, conform
from weft.segments.segment import SegmentRow

INDEX_BYTES = 64 * 2**20

Tables = dict[str, pa.Table]


class DriverBackend:
    """A backend that works on rows in this process; every merge is a single statement."""

    def __init__(self, duck: Duck, cache: TableCache, files: Files) -> None:
        self._duck, self._cache, self._files = duck, cache, files
        self._indexes = Recent(INDEX_BYTES)

    def hold(self, table: pa.Table) -> Rows:
        return TableRows(table)

    def stored(self, file: SegmentRow) -> Rows:
        return TableRows(self._cache.get(file))

    def starts(self, rows: Rows) -> frozenset[int]:
        return frozenset(pc.unique(_table(rows)[START]).to_pylist())

    def count(self, rows: Rows) -> int:
        return int(pc.sum(_table(rows)[ROW_COUNT.name]).as_py() or 0)

    def mark(self, rows: Rows, starts: frozenset[int], watermark: int) -> Rows:
        return TableRows(marked(_table(rows), starts, watermark))

    def without(self, rows: Rows, starts: frozenset[int]) -> Rows:
        return TableRows(without(_table(rows), starts))

    def filter(self, selection: Selection, order: Sequence[str] = ()) -> Rows:
        if _is_plain(selection):
            tables = [table for source in selection.sources for table in self._load(source)]
            table = shaped(tables, shape_of(selection, tables)).select(list(selection.columns))
        else:
            sql, bound = self._select(selection)
            table = self._run(f"SELECT * FROM {sql}", bound)
            table = table if selection.schema is None else conform(table, selection.schema)
        return TableRows(table.sort_by([(name, "ascending") for name in order]) if order else table)

    def merge(self, merge: Merge) -> Rows:
        sql, tables = self._select(merge.rows)
        if merge.cells:
            tables = {name: wider_cells(table, merge.cells) for name, table in tables.items()}
        table = merge_few(next(iter(tables.values())), merge) if _is_plain(merge.rows) else None
        if table is None:
            text = merge_sql(sql, terms(merge.keys), merge.statistics, terms(merge.beside))
            table = self._run(text, tables)
        return TableRows(table if merge.schema is None else conform(table, merge.schema))

    def measure(self, selection: Selection, aggregates: Sequence[str]) -> tuple[Any, ...]:
        sql, tables = self._select(selection)
        measured = self._run(f"SELECT {', '.join(aggregates)} FROM {sql}", tables)
        return tuple(column[0].as_py() for column in measured.columns)

    def kinds(self, rows: Rows, values: Sequence[str], truths: Sequence[str]) -> Kinds:
        counted = count_kinds(_table(rows), values, truths)
        if counted is not None:
            return counted
        selection = Selection((Source((rows,)),), (*values, *truths, ROW_COUNT.name))
        return kinds_of(self.measure(selection, kinds_sql(values, truths)), values, truths)

    def finish(self, finishing: Finishing) -> Rows:
        sql, tables = self._select(finishing.rows)
        requests = requests_table(finishing)
        starts = self._run(starts_sql(sql), tables)
        members = self._run(members_sql(), {"starts": starts, "requests": requests})
        names = requests.select([REQUEST, "name"])
        beside = {"requests": requests, "members": members, "names": names}
        table = self._run(finishing_sql(finishing, sql), {**tables, **beside})
        schema = finishing.schema
        return TableRows(with_roll(table.select(schema.names).cast(schema), roll_of(finishing.roll)))

    def join_finished(self, files: Sequence[SegmentRow]) -> Rows:
        tables = [self._cache.get(file) for file in files]
        return TableRows(with_roll(pa.concat_tables(tables, promote_options="default"), common_roll(tables)))

    def is_finished(self, file: SegmentRow, request: str) -> bool:
        return is_on_roll(self._cache.get(file), request)

    def answer(
        self, sql: str, parts: Sequence[Sequence[Selection]], schema: pa.Schema, *, after: int | None = None
    ) -> pa.Table:
        tables: Tables = {}
        for number, part in enumerate(parts):
            texts = []
            for index, selection in enumerate(part):
                text, bound = self._select(selection, f"{number}_{index}_")
                texts.append(text)
                tables |= bound
            rows = texts[0] if len(texts) == 1 else f"({' UNION ALL '.join(f'SELECT * FROM {text}' for text in texts)})"
            sql = sql.replace(f"{{part{number}}}", rows)
        table = self._run(sql, tables)
        table = table.rename_columns(schema.names).cast(schema)
        return table if after is None else table.filter(pc.greater(table.column(0), after))

    def size(self, rows: Rows) -> int:
        table = _table(rows)
        # Exact numbers take longer than writing a few rows; they are less where rows are a piece of a longer table.
        whole = int(table.get_total_buffer_size())
        return whole if whole <= SMALL_BYTES else int(table.nbytes)

    def write(self, path: str, rows: Rows) -> Written:
        written = self._files.write_table(path, _table(rows))
        self._cache.put((path, 0), _table(rows))
        return written

    def write_parts(self, path: str, rows: Sequence[Rows]) -> tuple[Written, ...]:
        tables = [_table(part) for part in rows]
        written = self._files.write_parts(path, tables)
        for part, table in zip(written, tables, strict=True):
            self._cache.put((path, part.byte_from), table)
        return written

    def forget(self, paths: Iterable[str]) -> None:
        gone = frozenset(paths)
        self._cache.forget(gone)
        self._indexes.forget(gone)

    def _select(self, selection: Selection, label: str = "") -> tuple[str, Tables]:
        """Write what stands after FROM for a selection, over named tables: sources with equal conditions share one."""
        loaded: dict[Source, list[pa.Table]] = {}
        for source in selection.sources:
            if source.rows:
                loaded.setdefault(Source((), source.where, source.beside), []).extend(self._load(source))
        if not loaded:
            assert selection.schema is not None, "a selection of no rows says which columns they would have"
            loaded = {Source((), ALL, selection.sources[0].beside): [selection.schema.empty_table()]}
        shape = shape_of(selection, next(iter(loaded.values())))
        named = {f"weft_{label}{index}": pair for index, pair in enumerate(loaded.items())}
        sql = selection_sql(selection, [(name, source) for name, (source, _) in named.items()])
        sql = f"weft_{label}0" if len(named) == 1 and _is_plain(selection) else f"({sql})"
        return sql, {name: shaped(tables, shape) for name, (_, tables) in named.items()}

    def _load(self, source: Source) -> list[pa.Table]:
        return [
            within(table, None if _is_inside(rows, source.span) else source.span, source.level)
            for rows in source.rows
            for table in self._tables(rows)
        ]

    def _tables(self, rows: SegmentRow | Rows | FinishedRun) -> Iterator[pa.Table]:
        match rows:
            case SegmentRow():
                yield self._cache.get(rows)
            case FinishedRun(file, request, first, last):
                table = self._cache.get(file)
                index = self._indexes.get((file.path, file.byte_from), partial(runs, table))
                for begin, length in runs_of(index, request, first, last) or [(0, 0)]:
                    yield table.slice(begin, length)
            case _:
                yield _table(rows)

    def _run(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        return run_on(self._duck, sql, tables)


def _is_plain(selection: Selection) -> bool:
    """Whether rows are taken as they are."""
    plain = all(source.where == ALL and not source.beside for source in selection.sources)
    return plain and selection.windows is None and selection.where == ALL and not selection.output


def _is_inside(rows: SegmentRow | Rows | FinishedRun, span: tuple[int, int] | None) -> bool:
    """Whether all rows of a segment start in a span of time, as the catalog says."""
    return span is not None and isinstance(rows, SegmentRow) and span[0] <= rows.time_from and rows.time_to <= span[1]


def _table(rows: Rows) -> pa.Table:
    assert isinstance(rows, TableRows), "these rows are another backend's"
    return rows.table
