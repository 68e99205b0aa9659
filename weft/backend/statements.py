"""Specifications of rows as DuckDB's SQL over named tables: the same statements wherever they run."""

from __future__ import annotations

from collections.abc import Sequence

from weft.backend.duck import duck_identifier
from weft.backend.interface import ALL, Finishing, Selection, Source, Windows
from weft.backend.merge import merge_sql
from weft.segments.roll import REQUEST
from weft.segments.rows import END, LATE, ON_TIME, START


def selection_sql(selection: Selection, tables: Sequence[tuple[str, Source]]) -> str:
    """Write a selection as SELECT, over the tables that hold the rows of its sources."""
    columns = [duck_identifier(column) for column in selection.columns]
    sql = " UNION ALL ".join(_source_sql(name, source, columns) for name, source in tables)
    if selection.windows is not None:
        sql = _each_window(sql, selection.columns, selection.windows)
    if selection.where == ALL and not selection.output:
        return sql
    output = ", ".join(map(duck_identifier, selection.output)) or "*"
    return f"SELECT {output} FROM ({sql}) WHERE {selection.where}"


def _source_sql(name: str, source: Source, columns: Sequence[str]) -> str:
    terms = [*(f"{sql} AS {duck_identifier(alias)}" for sql, alias in source.beside), *columns]
    return f"SELECT {', '.join(terms)} FROM {name} WHERE {source.where}"


def _each_window(sql: str, columns: Sequence[str], windows: Windows) -> str:
    others = [duck_identifier(column) for column in columns if column not in (START, LATE)]
    ends = (windows.first, windows.last, windows.length, windows.slide)
    return _exploded(f"({sql})", others, *map(str, ends))


def _exploded(
    rows: str, columns: Sequence[str], first: str, last: str, length: str, slide: str, joined: str = ""
) -> str:
    """Repeat each row for every window that it counts for, of the windows whose ends go from first to last by slide.

    The first window that holds a row is the first that ends after it; the last starts at it or before.
    """
    next_end = f"({START} + {slide} - ((({START} - {first}) % {slide}) + {slide}) % {slide})"
    ends = f"unnest(range(greatest({next_end}, {first}), least({START} + {length}, {last}) + 1, {slide}))"
    others = "".join(f"{column}, " for column in columns)
    return (
        f"SELECT * EXCLUDE ({LATE}) FROM (SELECT {LATE}, {others}{ends} AS {END} FROM {rows}{joined}) "
        f"WHERE {LATE} < {END}"
    )


def starts_sql(rows: str) -> str:
    """Select the slices that rows are in, each once, as on time: which windows hold a row is up to its slice."""
    return f"SELECT DISTINCT {START}, CAST({ON_TIME} AS BIGINT) AS {LATE} FROM {rows}"


def members_sql() -> str:
    """Select, for every kind of window of `requests` and slice of `starts`, the ends of due windows that hold it."""
    kinds = " JOIN (SELECT DISTINCT kind, first, last, length, slide FROM requests) ON true"
    return _exploded("starts", ["kind", START], "first", "last", "length", "slide", kinds)


def finishing_sql(finishing: Finishing, rows: str) -> str:
    """Repeat every row for each window of each request that it counts for, and merge by request, window and keys.

    Over the tables `requests`, `members` and `names`. Slices are few and rows many: which slices belong to which
    windows is worked out before, and rows meet their windows in a hash join.
    """
    statistics = finishing.statistics
    names = (*finishing.keys, *(statistic.name for statistic in statistics))
    columns = ", ".join(map(duck_identifier, names))
    windows = (
        f"SELECT {REQUEST}, {END}, {columns} FROM {rows} AS slices JOIN requests ON {finishing.condition} "
        f"JOIN members ON members.{START} = slices.{START} AND members.kind = requests.kind WHERE {LATE} < {END}"
    )
    keys = [(REQUEST, REQUEST), (END, END), *((duck_identifier(name), name) for name in finishing.keys)]
    merged = merge_sql(f"({windows})", keys, statistics)
    return (
        f"SELECT names.name AS {REQUEST}, * EXCLUDE ({REQUEST}, name) FROM ({merged}) AS merged "
        f"JOIN names ON names.{REQUEST} = merged.{REQUEST} ORDER BY {REQUEST}, {END}"
    )
