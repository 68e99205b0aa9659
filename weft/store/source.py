"""Partial rows as SQL: which files of a node hold a span of time, and which of their rows count.

Every partial row is in exactly one place: in a block file, in a tick that is partly sealed (then only from the sealed
moment on), or in a tick that is not sealed yet. Stragglers came after their block was built and are read beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.backend.merge import quoted
from weft.plan.blocks import cover
from weft.segments.cache import TableCache
from weft.segments.rows import LATE, LEVEL, START, STRAGGLER, conform
from weft.segments.segment import SegmentRow
from weft.store.state import Synopsis

END = "window_end"


@dataclass(frozen=True)
class Source:
    """Rows as a SELECT over named tables."""

    sql: str
    tables: Mapping[str, pa.Table]


def window_rows(
    cache: TableCache,
    synopsis: Synopsis,
    columns: Sequence[str],
    schema: pa.Schema,
    start: int,
    end: int,
    label: str = "",
) -> Source:
    """The rows of the window [start, end), from the fewest blocks, each with the window's end."""
    row = synopsis.node
    pieces = cover(start, end, unit=synopsis.unit, heights=synopsis.heights, sealed=row.sealed_time)
    ranges = [f"({LEVEL} = {piece.level} AND {START} >= {piece.start} AND {START} < {piece.end})" for piece in pieces]
    ranges.append(f"({LEVEL} = {STRAGGLER} AND {START} >= {start} AND {START} < {end})")
    blocks, old, new = _near(cache, synopsis, start, end)
    counts = f"{LATE} < {end} AND {START} < {end}"
    return union(
        label,
        columns,
        schema,
        [
            ("blocks", blocks, f"{LATE} < {end} AND ({' OR '.join(ranges)})"),
            ("old", old, f"{counts} AND {START} >= {max(start, row.sealed_time)}"),
            ("new", new, f"{counts} AND {START} >= {start}"),
        ],
        f"CAST({end} AS BIGINT) AS {END}",
    )


def slice_rows(
    cache: TableCache,
    synopsis: Synopsis,
    columns: Sequence[str],
    schema: pa.Schema,
    start: int,
    end: int,
    label: str = "",
) -> Source:
    """The rows of all slices that start in [start, end), with their starts and lateness."""
    blocks, old, new = _near(cache, synopsis, start, end)
    within = f"{START} >= {start} AND {START} < {end}"
    return union(
        label,
        (START, LATE, *columns),
        schema,
        [
            ("blocks", blocks, f"{within} AND {LEVEL} IN (0, {STRAGGLER})"),
            ("old", old, f"{within} AND {START} >= {synopsis.node.sealed_time}"),
            ("new", new, within),
        ],
    )


def union(
    label: str,
    columns: Sequence[str],
    schema: pa.Schema,
    groups: Sequence[tuple[str, list[pa.Table], str]],
    extra: str = "",
) -> Source:
    """The columns of all groups of tables, each under its own condition; of an empty table where there are none."""
    if not any(group for _, group, _ in groups):
        groups = [("none", [schema.empty_table()], "true")]
    selects, tables = [], {}
    kept = ", ".join([*([extra] if extra else []), *(quoted(column) for column in columns)])
    shape = pa.schema([field for field in schema if field.name in {*columns, START, LATE, LEVEL}])
    for place, group, condition in groups:
        if group:
            name = f"weft_{place}{label}"
            tables[name] = pa.concat_tables([_shaped(table, shape) for table in group])
            selects.append(f"SELECT {kept} FROM {name} WHERE {condition}")
    return Source(" UNION ALL ".join(selects), tables)


def _shaped(table: pa.Table, shape: pa.Schema) -> pa.Table:
    """The columns that are asked for. A file from before a statistic was kept has none of it: what is finished ahead
    for a whole node goes over such files too, and no query that needs the statistic reads those windows."""
    if set(shape.names) <= set(table.column_names):
        return table.select(shape.names)
    return conform(table, shape)


def exploded(
    rows: Source, columns: Sequence[str], *, first: str, last: str, length: str, slide: str, joined: str = ""
) -> str:
    """Each row once for every window that it counts for, of those whose ends go from first to last by slide.

    The first window that holds a row is the first that ends after it; the last starts at it or before.
    """
    next_end = f"({START} + {slide} - ((({START} - {first}) % {slide}) + {slide}) % {slide})"
    ends = f"unnest(range(greatest({next_end}, {first}), least({START} + {length}, {last}) + 1, {slide}))"
    kept = ", ".join(columns)
    return (
        f"SELECT * EXCLUDE ({LATE}) FROM (SELECT {LATE}, {kept}, {ends} AS {END} FROM ({rows.sql}){joined}) "
        f"WHERE {LATE} < {END}"
    )


def _near(cache: TableCache, synopsis: Synopsis, start: int, end: int) -> tuple[list[pa.Table], ...]:
    """The files that can hold rows of a span: blocks, ticks that are partly sealed, and ticks that are not."""

    def load(files: list[SegmentRow]) -> list[pa.Table]:
        return [cache.get(file) for file in files]

    near = [file for file in synopsis.data if file.time_from < end and file.time_to > start]
    sealed = synopsis.node.sealed_batch
    return (
        load([file for file in near if file.kind == "block"]),
        load([file for file in near if file.kind == "tick" and file.batch_to <= sealed]),
        load([file for file in near if file.kind == "tick" and file.batch_to > sealed]),
    )
