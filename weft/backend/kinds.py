"""How many kinds of rows there are: exactly by Arrow where rows are few, and by sketches of DuckDB where they are many.

A statement of DuckDB costs a millisecond, however few the rows; Arrow counts a hundred rows in some ten microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import ROW_COUNT
from weft.backend.interface import Kinds
from weft.backend.statements import duck_identifier

FEW_ROWS = 2_000
VALUES = "approx_count_distinct({0}) + max(CAST({0} IS NULL AS INT))"
SHARE = f"coalesce(sum({ROW_COUNT.name}) FILTER (WHERE {{0}}) / sum({ROW_COUNT.name}), 0)"


def count_kinds(rows: pa.Table, values: Sequence[str], truths: Sequence[str]) -> Kinds | None:
    """Count by Arrow; None where that takes too long, or Arrow cannot group such a type."""
    if rows.num_rows > FEW_ROWS:
        return None
    names = [*values, *truths]
    try:
        counts = {name: float(pc.count_distinct(rows[name], mode="all").as_py()) for name in values}
        if len(names) == 1 and values:
            return Kinds(counts, {}, counts[names[0]])
        groups = rows.select(names).group_by(names, use_threads=False).aggregate([]).num_rows
        return Kinds(counts, {name: _share(rows, name) for name in truths}, float(groups))
    except pa.ArrowNotImplementedError:
        return None


def _share(rows: pa.Table, truth: str) -> float:
    weights = rows[ROW_COUNT.name]
    total = pc.sum(weights).as_py()
    return (pc.sum(weights.filter(rows[truth])).as_py() or 0) / total if total else 0.0


def kinds_sql(values: Sequence[str], truths: Sequence[str]) -> list[str]:
    """Write the counts of values, the shares of truths and the count of groups as aggregates."""
    columns = [duck_identifier(name) for name in (*values, *truths)]
    counts = [VALUES.format(duck_identifier(name)) for name in values]
    shares = [SHARE.format(duck_identifier(name)) for name in truths]
    return [*counts, *shares, f"approx_count_distinct(hash({', '.join(columns)}))"]


def kinds_of(measured: Sequence[object], values: Sequence[str], truths: Sequence[str]) -> Kinds:
    """Read what DuckDB made of that."""
    *numbers, groups = map(float, measured)  # type: ignore[arg-type]
    counts, shares = numbers[: len(values)], numbers[len(values) :]
    return Kinds(dict(zip(values, counts, strict=True)), dict(zip(truths, shares, strict=True)), groups)
