"""Partial rows as Arrow tables: shaped, marked, put into wider cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from weft.backend.interface import Cells, Finishing, Line, Selection
from weft.plan.dimensions import lowest
from weft.segments.roll import REQUEST
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform
from weft.segments.types import arrow_type


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows in this process."""

    table: pa.Table

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    @property
    def least(self) -> int | None:
        return self._bounds[0]

    @property
    def greatest(self) -> int | None:
        return self._bounds[1]

    @cached_property
    def _bounds(self) -> tuple[int | None, int | None]:
        bounds = pc.min_max(self.table[START]).as_py()
        return bounds["min"], bounds["max"]


def shape_of(selection: Selection, tables: Sequence[pa.Table]) -> pa.Schema:
    """Tell the columns that a selection reads: the columns that it gives, and the columns of its conditions."""
    schema = tables[0].schema if selection.schema is None else selection.schema
    read = {*selection.columns, START, LATE, LEVEL}
    return pa.schema([field for field in schema if field.name in read])


def shaped(tables: Iterable[pa.Table], shape: pa.Schema) -> pa.Table:
    """Join the rows of all tables, with the columns that are asked for.

    A file from before a statistic was kept has none of it: what is finished ahead for a whole node goes over such files
    too, and no query that needs the statistic reads such windows.
    """
    alike = [
        table.select(shape.names) if set(shape.names) <= set(table.column_names) else conform(table, shape)
        for table in tables
    ]
    return alike[0] if len(alike) == 1 else pa.concat_tables(alike, promote_options="default")


def within(rows: pa.Table, span: tuple[int, int] | None, level: int | None = None) -> pa.Table:
    """Keep the rows that start in a span of time, and of these the rows of a level."""
    if level is not None:
        rows = rows.filter(pc.equal(rows[LEVEL], level))
    if span is None:
        return rows
    return rows.filter(pc.and_(pc.greater_equal(rows[START], span[0]), pc.less(rows[START], span[1])))


def marked(rows: pa.Table, starts: frozenset[int], watermark: int) -> pa.Table:
    """Mark the rows with these starts as late, after a watermark, and all others as on time."""
    marks = pc.if_else(_is_among(rows, starts), pa.scalar(watermark, pa.int64()), pa.scalar(ON_TIME, pa.int64()))
    return rows.set_column(rows.column_names.index(LATE), LATE, marks)


def without(rows: pa.Table, starts: frozenset[int]) -> pa.Table:
    """Leave out the rows that have one of these starts."""
    return rows.filter(pc.invert(_is_among(rows, starts)))


def _is_among(rows: pa.Table, starts: frozenset[int]) -> pa.ChunkedArray:
    return pc.is_in(rows[START], value_set=pa.array(starts, pa.int64()))


def wider_cells(rows: pa.Table, cells: Iterable[Cells]) -> pa.Table:
    """Put the rows into the wider cells of fewer cuts; several rows may be of one group then.

    Needs: a cell is named by the greatest cut at or below its values, so that without a cut it joins the cell before.
    Cost: a look-up for each different cell, whatever the number of rows.
    """
    for dimension in cells:
        if dimension.matches:
            kept = pa.array(dimension.cuts, arrow_type(dimension.type))
            rows = rows.filter(pc.is_in(rows[dimension.column], value_set=kept))
            continue
        index = rows.schema.get_field_index(dimension.column)
        rows = rows.set_column(index, rows.schema.field(index), _wider(rows[dimension.column], dimension))
    return rows


def _wider(values: pa.ChunkedArray, cells: Cells) -> pa.Array:
    """Replace every cell by the cell of these cuts that holds it; NULL is a cell of its own."""
    known = values.combine_chunks().dictionary_encode()
    bounds = [lowest(cells.type), *cells.cuts]
    wider = [bounds[bisect_right(cells.cuts, cell)] for cell in known.dictionary.to_pylist()]
    return pa.array(wider, arrow_type(cells.type)).take(known.indices)


def requests_table(finishing: Finishing) -> pa.Table:
    """Make the table of a family's lines: by number, since comparing numbers is most of the work of finishing."""
    kinds = [
        (REQUEST, pa.int32()),
        ("name", pa.string()),
        ("kind", pa.int32()),
        ("length", pa.int64()),
        ("slide", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        *((f"p{index}", arrow_type(kind)) for index, kind in enumerate(finishing.constants)),
    ]
    columns = zip(*(_numbered(number, line) for number, line in enumerate(finishing.lines)), strict=True)
    return pa.table(
        [pa.array(values, kind) for values, (_, kind) in zip(columns, kinds, strict=True)],
        names=[name for name, _ in kinds],
    )


def _numbered(number: int, line: Line) -> tuple[object, ...]:
    windows = line.windows
    return (
        number,
        line.request,
        line.kind,
        windows.length,
        windows.slide,
        windows.first,
        windows.last,
        *line.constants,
    )
