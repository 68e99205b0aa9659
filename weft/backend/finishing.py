"""Windows that are finished ahead as DuckDB's SQL: every request of a family in one pass over the rows of its node."""

from __future__ import annotations

from weft.backend.interface import Finishing
from weft.backend.merge import merge_sql
from weft.backend.statements import duck_identifier, exploded
from weft.segments.roll import REQUEST
from weft.segments.rows import END, LATE, ON_TIME, START


def starts_sql(rows: str) -> str:
    """Select the slices that rows are in, each once, as on time: which windows hold a row is up to its slice."""
    return f"SELECT DISTINCT {START}, CAST({ON_TIME} AS BIGINT) AS {LATE} FROM {rows}"


def members_sql() -> str:
    """Select, for every kind of window of `requests` and slice of `starts`, the ends of due windows that hold it."""
    kinds = " JOIN (SELECT DISTINCT kind, first, last, length, slide FROM requests) ON true"
    return exploded("starts", ["kind", START], "first", "last", "length", "slide", kinds)


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
