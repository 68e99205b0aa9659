"""Keeping rows in a state that is not a local folder: Spark's own writer puts them there, because its executors can.

Then the tasks read the files once more, as bytes, for what the catalog has to know of each: length, checksum, rows and
moments. Nothing of the rows passes the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from weft.feeds.streams import spark_identifier
from weft.passes.keeping import NOTHING, Keeping, Kept
from weft.segments.encoding import checksum
from weft.segments.kept import LATE, MOMENT, TICK
from weft.segments.row_files import GROUP_BYTES, MOST_ROWS, RowFile, rank_of
from weft.segments.rows import ON_TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ANSWER = "kept binary"
# Beside what the writer does by itself: no file that says that all is written, which nobody here looks at.
WRITER = {
    "compression": "zstd",
    "parquet.block.size": str(GROUP_BYTES),
    "maxRecordsPerFile": str(MOST_ROWS),
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


def keep_elsewhere(rows: DataFrame, keeping: Keeping) -> Kept:
    """Write rows that all have a moment."""
    session, folder = rows.sparkSession, f"{keeping.folder}/{keeping.batch}-{uuid4().hex[:12]}"
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    writer = rows.selectExpr(*_stored(keeping)).write.options(**WRITER).mode("append")
    writer.parquet(keeping.files.uri(folder))
    written = [path for path in keeping.files.list(folder) if path.endswith(".parquet")]
    if not written:
        return NOTHING
    # By name: a scheme may be spelled in another way in Spark's paths.
    paths = {path.rpartition("/")[2]: path for path in written}
    contents = session.read.format("binaryFile").load([keeping.files.uri(path) for path in written])
    answer = contents.select("path", "content").mapInArrow(partial(_described, paths), ANSWER).toArrow()
    kept = sum((Kept.decoded(payload) for payload in answer["kept"].to_pylist()), NOTHING)
    # Spark writes a file for a partition without rows, too.
    keeping.files.delete(file.path for file in kept.files if not file.rows)
    return Kept(tuple(file for file in kept.files if file.rows), kept.again)


def _stored(keeping: Keeping) -> Iterator[str]:
    """The columns as they are stored, in Spark's SQL."""
    for name, kind in keeping.columns:
        column = spark_identifier(name)
        yield f"make_valid_utf8({column}) AS {column}" if kind.name == "string" else column
    yield MOMENT
    late = f"{keeping.watermark}L" if keeping.watermark is not None else "NULL"
    # The least number cannot be written as the negative of a number.
    yield f"if({MOMENT} < {late}, {late}, CAST('{ON_TIME}' AS BIGINT)) AS {LATE}"
    yield f"{keeping.batch}L AS {TICK}"


def _described(paths: dict[str, str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the catalog has to know of files that are given as bytes."""
    for batch in batches:
        for address, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            file = _row_file(paths[address.rpartition("/")[2]], pa.py_buffer(content.as_buffer()))
            yield pa.RecordBatch.from_pydict({"kept": pa.array([Kept((file,)).encoded()], pa.binary())})


def _row_file(path: str, data: pa.Buffer) -> RowFile:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        rows, moments = file.metadata.num_rows, file.read([MOMENT])[MOMENT].to_numpy()
        # Nobody has held the rows: what they take in memory follows from their columns, uncompressed.
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
    return RowFile(
        path=path,
        bytes=data.size,
        rows=rows,
        checksum=checksum(data),
        rank=rank_of(rows, size),
        least=int(moments.min()) if rows else 0,
        greatest=int(moments.max()) if rows else 0,
    )
