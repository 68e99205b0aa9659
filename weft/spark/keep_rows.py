"""Keeping the rows of a batch that Spark's statements computed: nobody held them, so they are read again.

Files that a pass could read are read and written by the tasks, with no way through Java. Other rows go from Java to
the tasks once more: the same rows, because a batch that Spark could not read twice is held (weft/spark/arrived.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.feeds.streams import spark_identifier
from weft.passes.keeping import NOTHING, Keeping, Kept, kept_by_task
from weft.segments.kept import MOMENT
from weft.segments.row_files import MOST_BYTES, MOST_ROWS
from weft.spark.keep_elsewhere import keep_elsewhere
from weft.spark.parquet_files import ParquetFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Find = Callable[[], ParquetFiles | None]
"""Finds the files of a batch that a pass may read by itself; None where Spark has to read them."""

# So few rows are written from here: a task that runs Python takes longer.
FEW_ROWS = 10_000
ANSWER = "kept binary"


def keep_rows(rows: DataFrame, keeping: Keeping, count: int, find: Find = lambda: None) -> Kept:
    """Write the rows of a batch, of which there are `count`, dead rows included."""
    files = find() if keeping.by_tasks else None
    if files is not None and files.held is not None:
        return Kept(tuple(keeping.write(files.read({name: name for name in files.names}))))
    if files is not None:
        numbers = rows.sparkSession.range(0, len(files.pieces), 1, len(files.pieces))
        return _received(numbers.mapInArrow(partial(_keep_pieces, keeping, files.in_pieces()), ANSWER), keeping)
    columns = rows.select(MOMENT, *(spark_identifier(name) for name, _ in keeping.columns))
    columns = columns.where(f"{MOMENT} IS NOT NULL")
    if count <= FEW_ROWS:
        return Kept(tuple(keeping.write(columns.toArrow())))
    if keeping.by_tasks:
        return _received(columns.mapInArrow(partial(_keep_batches, keeping), ANSWER), keeping)
    return keep_elsewhere(columns, keeping)


def _received(answer: DataFrame, keeping: Keeping) -> Kept:
    """What all tasks wrote."""
    try:
        payloads = answer.toArrow()["kept"].to_pylist()
    except Exception as error:
        raise keeping.failure_in(error) or error from error
    return sum((Kept.decoded(payload) for payload in payloads), NOTHING)


def _keep_pieces(
    keeping: Keeping, files: ParquetFiles, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the pieces of files whose numbers a task is given."""
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    columns = {name: name for name in files.names}
    yield from _answers(keeping, (files.read(columns, [files.pieces[number]]) for number in numbers))


def _keep_batches(keeping: Keeping, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task."""
    yield from _answers(keeping, _tables(batches))


def _answers(keeping: Keeping, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        kept = kept_by_task(keeping, table, {})
        yield pa.RecordBatch.from_pydict({"kept": pa.array([kept.encoded()], pa.binary())})


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in tables of about a file's length."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + int(batch.nbytes)
        if rows >= MOST_ROWS // 2 or size >= MOST_BYTES // 2:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)
