"""Merging partial rows: the one SQL by which nodes are derived, blocks built and windows finished."""

from __future__ import annotations

from collections.abc import Sequence

from weft.aggregates.statistics import BASICS, Statistic
from weft.segments.types import duck_type


def duck_identifier(name: str) -> str:
    """Write a column name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def merge_sql(
    source: str,
    keys: Sequence[tuple[str, str]],
    statistics: Sequence[Statistic],
    beside: Sequence[tuple[str, str]] = (),
) -> str:
    """SELECT of the keys (SQL, name) and the merged statistics of all rows of `source` that agree on the keys.

    Without keys the answer is one row, also for no rows at all. `beside` are further aggregates, as (SQL, name).
    """
    prepared = [one for one in statistics if BASICS[one.basic].prepare]
    if prepared:
        source = _prepare(source, keys, prepared)
    columns = [
        *(f"{sql} AS {duck_identifier(name)}" for sql, name in (*keys, *beside)),
        *(f"{merged(one)} AS {duck_identifier(one.name)}" for one in statistics),
    ]
    by = f" GROUP BY {', '.join(sql for sql, _ in keys)}" if keys else ""
    return f"SELECT {', '.join(columns)} FROM {source}{by}"


def merged(one: Statistic) -> str:
    """The merge rule of a statistic over its column and those it needs."""
    needed = [duck_identifier(other.name) for other in one.needs]
    return BASICS[one.basic].merge.format(*needed, c=duck_identifier(one.name), t=duck_type(one.type), h=_helper(one))


def _helper(one: Statistic) -> str:
    return duck_identifier(f"{one.name}_helper")


def _prepare(source: str, keys: Sequence[tuple[str, str]], prepared: Sequence[Statistic]) -> str:
    """The source with a helper column over whole groups for every merge rule that needs one."""
    partition = f"(PARTITION BY {', '.join(sql for sql, _ in keys)})" if keys else "()"
    helpers = ", ".join(
        BASICS[one.basic].prepare.format(*(duck_identifier(other.name) for other in one.needs), w=partition)
        + f" AS {_helper(one)}"
        for one in prepared
    )
    return f"(SELECT *, {helpers} FROM {source})"
