"""What plain batch Spark says of the same query over the same rows, and the comparison with what the engine says.

Integers, decimals, strings and moments must be equal, doubles to 1e-9 relative; types and names of columns as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

RELATIVE, ABSOLUTE = 1e-9, 1e-9
PLACE = "weft_place"
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC",
    # Spark's statistics of cached columns leave NaN out, and then skip rows with x = 'NaN' or x > 'Infinity'.
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
}


class BatchSpark:
    """Batch Spark over some tables; many small queries, so nothing is compiled and everything is one task."""

    def __init__(self, spark: SparkSession, rows: pa.Table) -> None:
        self._session = spark.newSession()
        for key, value in SETTINGS.items():
            self._session.conf.set(key, value)
        self._frames: list[DataFrame] = []
        self.add("rows", rows)

    def add(self, name: str, rows: pa.Table) -> None:
        """One more table."""
        frame = self._session.createDataFrame(rows).coalesce(1).cache()
        frame.createOrReplaceTempView(name)
        self._frames.append(frame)

    def answer(self, sql: str) -> pa.Table:
        return self._session.sql(sql).toArrow()

    def answers(self, texts: Sequence[str]) -> list[pa.Table]:
        """Two at a time: the driver plans one while the other runs."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self.answer, texts))

    def close(self) -> None:
        for frame in self._frames:
            frame.unpersist()


def difference(found: pa.Table, expected: pa.Table, *, ordered: bool) -> str:
    """What is wrong with the found rows, or nothing. Without an order, rows are compared as a multiset."""
    if ordered:
        expected = expected.drop_columns([PLACE])
    got, wanted = (dict(zip(table.schema.names, map(str, table.schema.types), strict=True))
                   for table in (found, expected))
    if list(got.items()) != list(wanted.items()):
        return f"columns: got {got}, expected {wanted}"
    mine, theirs = _rows(found), _rows(expected)
    if ordered:
        wrong = [place for place, (one, other) in enumerate(zip(mine, theirs, strict=False)) if not same_row(one, other)]
        if wrong or len(mine) != len(theirs):
            place = wrong[0] if wrong else min(len(mine), len(theirs))
            return (f"row {place} of {len(mine)} (expected {len(theirs)}): got {mine[place:place + 2]}, "
                    f"expected {theirs[place:place + 2]}")
        return ""
    missing, extra = unmatched(mine, theirs)
    if missing or extra:
        return f"{len(mine)} rows, expected {len(theirs)}: missing {missing[:3]}, extra {extra[:3]}"
    return ""


def unmatched(mine: Iterable[tuple[Any, ...]], theirs: Iterable[tuple[Any, ...]]) -> tuple[list[Any], list[Any]]:
    """The rows that only one side has: (missing, extra)."""
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    for row in mine:
        groups.setdefault(_exact_part(row), []).append(row)
    missing = []
    for row in theirs:
        candidates = groups.get(_exact_part(row), [])
        match = next((place for place, other in enumerate(candidates) if same_row(row, other)), None)
        if match is None:
            missing.append(row)
        else:
            candidates.pop(match)
    return missing, [row for rows in groups.values() for row in rows]


def same_row(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(same_value, one, other))


def same_value(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(one) is type(other) and bool(one == other)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _exact_part(row: tuple[Any, ...]) -> str:
    return repr([value for value in row if not isinstance(value, float)])
