"""The other side: DuckDB, which evaluates every query by itself over the rows of a tick, one after the other."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.diverse_queries import Asked

THREADS = 2
TOLERANCE = 1e-9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Alone:
    """A database of its own for the rows of ticks."""

    def __init__(self) -> None:
        self._database = duckdb.connect()
        self._database.execute(f"SET threads = {THREADS}")
        self._database.execute("SET TimeZone = 'UTC'")

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def load(self, files: Iterable[Path], table: str = "rows") -> float:
        """Put the rows of files into a table; the seconds that took."""
        listed = ", ".join(f"'{path}'" for path in files)
        begin = time.monotonic()
        self._database.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM read_parquet([{listed}])")
        return time.monotonic() - begin

    def seconds(self, queries: Mapping[str, Asked], table: str = "rows") -> float:
        """How long it takes to answer all queries over the table, each by itself."""
        texts = [query.duck(table) for query in queries.values()]
        begin = time.monotonic()
        with warnings.catch_warnings():
            # It would have us ask in another way, which takes two times as long for small results.
            warnings.simplefilter("ignore", UserWarning)
            for text in texts:
                self._database.execute(text).to_arrow_table()
        return time.monotonic() - begin

    def newest(self, query: Asked, watermark: int, table: str = "rows") -> tuple[int, list[tuple[Any, ...]]] | None:
        """The end of the newest closed window that the query has an answer for, and the answer; None without any."""
        closed = f"window_start + {query.length} <= {watermark}"
        newest = f"SELECT max(window_start) FROM ({query.duck(table)}) WHERE {closed}"
        (start,) = self._database.execute(newest).fetchone() or (None,)
        if start is None:
            return None
        end = start + query.length
        inside = f"epoch_us(ts) >= {start} AND epoch_us(ts) < {end}"
        text = f"SELECT * EXCLUDE (window_start) FROM ({query.duck(table, inside)}) WHERE window_start = {start}"
        return end, self._database.execute(text).fetchall()

    def watermark(self, table: str = "rows") -> int:
        """The newest event time."""
        (moment,) = self._database.execute(f"SELECT max(epoch_us(ts)) FROM {table}").fetchone() or (0,)
        return int(moment)


def check_answers(
    engine: Any, queries: Mapping[str, Asked], files: Iterable[Path], most: int = 12
) -> int:
    """Compare some queries' newest closed window that has rows with DuckDB over all rows; how many had such a window.

    Raises where an answer differs, and where there is no window to compare at all.
    """
    names = list(queries)
    compared = 0
    with Alone() as alone:
        alone.load(files)
        watermark = alone.watermark()
        for name in names[:: max(1, len(names) // most)]:
            found = alone.newest(queries[name], watermark)
            if found is None:
                continue
            end, expected = found
            table = engine.query(name).result(EPOCH + timedelta(microseconds=end))
            got = [tuple(row.values()) for row in table.drop_columns(["window_start", "window_end"]).to_pylist()]
            if not same(got, expected):
                raise AssertionError(f"{name}, window until {end}: Weft has {got[:5]}, DuckDB {expected[:5]}")
            compared += 1
    if not compared:
        raise AssertionError("no query has a closed window to compare")
    return compared


def same(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    """Whether two answers hold the same rows in any order; doubles to a relative 1e-9."""
    if len(left) != len(right):
        return False
    mine, theirs = (sorted(([_plain(value) for value in row] for row in rows), key=_order) for rows in (left, right))
    return all(
        _close(one, other) for row, row_there in zip(mine, theirs, strict=True)
        for one, other in zip(row, row_there, strict=True)
    )


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def _order(row: list[Any]) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
