"""Merging partial rows: the SQL by which nodes are derived, blocks built and windows finished."""

from __future__ import annotations

from collections.abc import Sequence

from weft.aggregates.statistics import BASICS, Statistic
from weft.backend.statements import duck_identifier
from weft.segments.types import duck_type


def merge_sql(
    source: str,
    keys: Sequence[tuple[str, str]],
    statistics: Sequence[Statistic],
    beside: Sequence[tuple[str, str]] = (),
) -> str:
    """Write the SELECT of the keys (SQL, name) and the merged statistics of rows of `source` that agree on the keys.

    Without keys the answer is a single row, also for no rows at all. `beside` are further aggregates, as (SQL, name).
    """
    prepared = [statistic for statistic in statistics if BASICS[statistic.basic].prepare]
    if prepared:
        source = _prepare(source, keys, prepared)
    columns = [
        *(f"{sql} AS {duck_identifier(name)}" for sql, name in (*keys, *beside)),
        *(f"{merged(statistic)} AS {duck_identifier(statistic.name)}" for statistic in statistics),
    ]
    by = f" GROUP BY {', '.join(sql for sql, _ in keys)}" if keys else ""
    return f"SELECT {', '.join(columns)} FROM {source}{by}"


def merged(statistic: Statistic) -> str:
    """Write the merge rule of a statistic over its own column and the columns of the statistics that it needs."""
    needed = [duck_identifier(other.name) for other in statistic.needs]
    column, data_type = duck_identifier(statistic.name), duck_type(statistic.type)
    return BASICS[statistic.basic].merge.format(*needed, c=column, t=data_type, h=_helper(statistic))


def _helper(statistic: Statistic) -> str:
    return duck_identifier(f"{statistic.name}_helper")


def _prepare(source: str, keys: Sequence[tuple[str, str]], prepared: Sequence[Statistic]) -> str:
    """Add to the source a helper column over whole groups for every merge rule that needs a helper."""
    partition = f"(PARTITION BY {', '.join(sql for sql, _ in keys)})" if keys else "()"
    helpers = ", ".join(
        BASICS[statistic.basic].prepare.format(*(duck_identifier(other.name) for other in statistic.needs), w=partition)
        + f" AS {_helper(statistic)}"
        for statistic in prepared
    )
    return f"(SELECT *, {helpers} FROM {source})"
