"""Selections of rows as DuckDB's SQL over named tables: the same statements wherever they run."""

from __future__ import annotations

from collections.abc import Sequence

from weft.backend.interface import ALL, Selection, Source, Windows
from weft.segments.rows import END, LATE, START


def duck_identifier(name: str) -> str:
    """Write a column name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


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
    return exploded(f"({sql})", others, *map(str, ends))


def exploded(
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
