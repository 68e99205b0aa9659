"""DuckDB as a kernel for level 0: a pass over rows as Arrow, in the driver's process or in a task of Spark's.

Needs: nothing of Spark, so that a task that runs it loads nothing else. Slices and cells are looked up in tables of
edges by NumPy, and the predicates that a row meets in an index; everything else is DuckDB's SQL over a table that the
rows are copied into once.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.backend.duck import SETTINGS, answer_of
from weft.backend.functions import install
from weft.passes.keeping import NOTHING, Kept
from weft.passes.lookup import Lookups
from weft.passes.work import FOUND, NUMBER, PLACE, ROWS, CellColumn, Line, Pass, Share
from weft.plan.slices import Slicing
from weft.segments.kept import MOMENT

# The share of the machine's memory that a kernel may take; what needs more is left to Spark.
MEMORY_SHARE = 0.25
# An array of NumPy's.
Numbers: TypeAlias = Any


@dataclass(frozen=True)
class Passed:
    """What a pass over rows yields: how many rows, how many of them without a moment, the newest moment, partial rows.

    The columns of a node's partial rows are its slice, where it has slices, its dimensions and its statistics. kept:
    the files that the rows were written to beside it.
    """

    rows: int
    dead: int
    newest: int | None
    partials: dict[str, list[pa.Table]]
    kept: Kept = NOTHING

    @property
    def bytes(self) -> int:
        """What its partial rows take."""
        return sum(part.nbytes for parts in self.partials.values() for part in parts)


class PassKernel:
    """A DuckDB that runs passes, one at a time; what a pass needs beside rows is made once."""

    def __init__(self, threads: int) -> None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = f"{int(memory * MEMORY_SHARE) >> 20} MiB"
        self._duck = duckdb.connect(":memory:", config={"threads": threads, "memory_limit": limit})
        install(self._duck)
        for setting in SETTINGS:
            self._duck.execute(setting)
        self._pool, self._local = ThreadPoolExecutor(threads, "weft-pass"), threading.local()
        self._lookups = Lookups()
        self._lock = threading.Lock()

    def run(self, work: Pass, rows: pa.Table) -> Passed:
        """The partial rows of all base nodes."""
        moments = rows[MOMENT].combine_chunks() if rows.num_rows else pa.array([], pa.int64())
        if isinstance(moments, pa.ChunkedArray):
            moments = pa.concat_arrays(moments.chunks)
        dead = moments.null_count
        alive = rows.filter(pc.is_valid(rows[MOMENT])) if dead else rows
        partials: dict[str, list[pa.Table]] = {}
        with self._lock, self._table_of(work, alive):
            for line, part in zip(work.lines, self._pool.map(self._run, work.lines), strict=True):
                for share in line.shares:
                    partials.setdefault(share.node, []).append(share_of(part, share, alone=len(line.shares) == 1))
        return Passed(rows.num_rows, dead, pc.max(moments).as_py(), partials)

    def _run(self, line: Line) -> pa.Table:
        """Run a statement in a thread of the pool; DuckDB itself has a single thread work on so few rows."""
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._duck.cursor()
        return answer_of(self._local.cursor, line.sql)

    @contextmanager
    def _table_of(self, work: Pass, rows: pa.Table) -> Iterator[None]:
        """The rows as a table of DuckDB's, with their slices, cells and computed columns."""
        asked = rows
        for column in work.slices:
            asked = asked.append_column(column.name, pa.array(floors(_numpy(rows[MOMENT]), column.slicing)))
        with self._registered("weft_asked", asked):
            values = self._values([cell.value for cell in work.cells])
            for cell, own in zip(work.cells, values, strict=True):
                asked = asked.append_column(cell.name, cells(own, cell))
        if work.lookup is not None:
            asked = asked.append_column(PLACE, pa.array(np.arange(asked.num_rows)))
            found = self._lookups.found(work.lookup, asked, self._values_of_slice, self._pool.map)
            with self._registered("weft_pairs", found):
                self._duck.execute(f"CREATE OR REPLACE TABLE {FOUND} AS SELECT * FROM weft_pairs")
        columns = "".join(f', {sql} AS "{name}"' for name, sql in work.columns)
        with self._registered("weft_asked", asked):
            self._duck.execute(f"CREATE OR REPLACE TABLE {ROWS} AS SELECT *{columns} FROM weft_asked")
        try:
            yield
        finally:
            self._duck.execute(f"DROP TABLE {ROWS}; DROP TABLE IF EXISTS {FOUND}")

    @contextmanager
    def _registered(self, name: str, table: pa.Table) -> Iterator[None]:
        self._duck.register(name, table)
        try:
            yield
        finally:
            self._duck.unregister(name)

    def _values_of_slice(self, sql: Sequence[str], rows: pa.Table) -> list[pa.ChunkedArray]:
        with self._registered("weft_asked", rows):
            return self._values(sql)

    def _values(self, sql: Sequence[str]) -> list[pa.ChunkedArray]:
        """What these come to for all rows, by a single statement: each takes milliseconds."""
        if not sql:
            return []
        columns = ", ".join(f"{part} AS v{index}" for index, part in enumerate(sql))
        return list(self._duck.sql(f"SELECT {columns} FROM weft_asked").to_arrow_table().columns)

    def close(self) -> None:
        """Let go of the DuckDB."""
        with self._lock:
            # The cursors go with the threads that have them.
            self._pool.shutdown()
            self._duck.close()
            del self._duck, self._local


_kernels: dict[int, PassKernel] = {}
_making = threading.Lock()


def kernel_of_process(threads: int) -> PassKernel:
    """The kernel of this process, which passes of all streams take in turn."""
    with _making:
        if threads not in _kernels:
            if not _kernels:
                atexit.register(_close_kernels)
            _kernels[threads] = PassKernel(threads)
        return _kernels[threads]


def _close_kernels() -> None:
    """Let go of the kernels before the interpreter does: a connection that outlives it is reported as a leak."""
    while _kernels:
        _kernels.popitem()[1].close()


def share_of(part: pa.Table, share: Share, *, alone: bool) -> pa.Table:
    """A node's share of what a statement made, its matches under the name that they have there."""
    if not share.column:
        return part
    if not alone:
        part = part.filter(pc.is_in(part[NUMBER], value_set=pa.array(share.numbers, pa.int64())))
    return part.rename_columns([share.column if name == NUMBER else name for name in part.column_names])


def floors(moments: Numbers, slicing: Slicing) -> Numbers:
    """The start of each moment's slice.

    >>> floors(np.array([-1, 0, 7, 10]), Slicing(((10, 0),), 10, 0)).tolist()
    [-10, 0, 0, 10]
    """
    if slicing.kind == "scattered":
        latest = [moments - np.mod(moments - residue, step) for step, residue in slicing.progressions]
        return np.maximum.reduce(latest)
    within = np.mod(moments - slicing.offset, slicing.period)
    base = moments - within
    if slicing.kind == "uniform":
        return base
    edges = np.asarray(slicing.table, np.int64)
    return base + edges[np.searchsorted(edges, within, side="right") - 1]


def cells(values: pa.ChunkedArray, cell: CellColumn) -> pa.Array:
    """The greatest cut at or below each value, NULL for no value. NaN is above every cut, as it is for Spark."""
    kind = values.type
    points = np.asarray(cell.cuts, kind.to_pandas_dtype())
    plain = values.fill_null(0) if values.null_count else values
    found = points[np.searchsorted(points, _numpy(plain), side="right") - 1]
    return pa.array(found, kind, mask=_numpy(pc.is_null(values)) if values.null_count else None)


def _numpy(values: pa.ChunkedArray) -> Numbers:
    return values.to_numpy()
