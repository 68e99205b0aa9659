"""A micro-batch on Spark: its rows in, the partial rows of the base nodes out, in a fixed number of jobs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import ROW_COUNT
from weft.errors import StateError
from weft.feeds.streams import Stream, spark_identifier
from weft.passes.keeping import NOTHING, Kept
from weft.passes.texts import valid_texts
from weft.plan.dimensions import Dimension
from weft.plan.network import Node
from weft.plan.prices import DUCKDB, SPARK
from weft.segments.kept import MOMENT
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.spark.dead import CORRUPT, moment
from weft.spark.failure import reason_of
from weft.spark.keep_rows import Find, keep_rows
from weft.spark.kernels import Level0, partials_of, pass_in_driver, pass_in_tasks, pass_over_files
from weft.spark.level0 import NEWEST, SET, TIMED, Keys, Statement
from weft.spark.room import bounded
from weft.spark.session import BATCH_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


log = logging.getLogger("weft.spark")


@dataclass(frozen=True)
class BatchOutput:
    """What aggregating a micro-batch yields: counts of rows, the newest time, and the base nodes' partial rows.

    in_pieces: nodes whose rows are still to be merged into a single row a group. kernel: what computed them. files: how
    many files of the batch it read by itself. kept: the files that the rows were written to, where they are kept.
    """

    rows: int
    dead: int
    newest: int | None
    partials: dict[str, pa.Table]
    in_pieces: frozenset[str] = frozenset()
    kernel: str = SPARK
    files: int = 0
    kept: Kept | None = None

    @property
    def direct(self) -> bool:
        """Whether a pass read the files of the batch by itself."""
        return self.files > 0


def project(rows: DataFrame, stream: Stream, *, now: Column | None = None, beside: Sequence[str] = ()) -> DataFrame:
    """Project the rows that the sink gets: only declared columns, and the time as a number.

    The time of a row that is dead is NULL; `now` is the clock that judges it, by default that of the batch. `beside`
    are further columns to keep where `rows` has them.
    """
    from pyspark.sql import functions as f

    parsed = CORRUPT in rows.columns
    columns = [f.col(spark_identifier(name)).cast(str(kind)).alias(name) for name, kind in stream.columns]
    time = moment(stream, f.current_timestamp() if now is None else now, parsed).alias(MOMENT)
    return rows.select(*columns, time, *(f.col(name) for name in beside if name in rows.columns))


def aggregate(rows: DataFrame, level0: Level0, batch_id: int, find: Find = lambda: None) -> BatchOutput:
    """The partial rows of a batch, by the kernel that was chosen, and by Spark where that fails."""
    for key, value in BATCH_SETTINGS.items():
        rows.sparkSession.conf.set(key, value)
    before = NOTHING
    while level0.kernel == DUCKDB and level0.nodes:
        try:
            output = _passed(rows, level0, batch_id, find)
            return output if output.kept is None else replace(output, kept=before + output.kept)
        except StateError:
            raise
        except Exception as error:
            if level0.keeping is not None and (unwritten := level0.keeping.failure_in(error)) is not None:
                raise unwritten from error
            # Whose fault it is, and what to tell about it, Spark says: it computes the same.
            log.info("batch computed anew", extra={"batch_id": batch_id, "reason": reason_of(error)})
            level0.failed(error)
            before = Kept(again=True)
    output = _by_statements(rows, level0.statements, batch_id)
    if level0.keeping is None:
        return output
    return replace(output, kept=before + keep_rows(rows, level0.keeping, output.rows, find))


def _passed(rows: DataFrame, level0: Level0, batch_id: int, find: Find) -> BatchOutput:
    """Aggregate by a pass of DuckDB."""
    files = None if level0.work.needs_spark else find()
    if files is not None:
        passes = pass_over_files(rows, files, level0)
    else:
        passes = (pass_in_driver if level0.in_driver else pass_in_tasks)(rows, level0)
    partials, in_pieces = partials_of(level0, passes, batch_id)
    newest = max((passed.newest for passed in passes if passed.newest is not None), default=None)
    counts = (sum(passed.rows for passed in passes), sum(passed.dead for passed in passes))
    kept = None if level0.keeping is None else sum((passed.kept for passed in passes), NOTHING)
    if level0.keeping is not None and kept == NOTHING and counts[0] > counts[1]:
        kept = keep_rows(rows, level0.keeping, counts[0], find)
    return BatchOutput(*counts, newest, partials, in_pieces, DUCKDB, 0 if files is None else files.count, kept)


def _by_statements(rows: DataFrame, statements: Sequence[Statement], batch_id: int) -> BatchOutput:
    """Aggregate by Spark's statements: a Spark job for each, and a single job for no statements at all."""
    session = rows.sparkSession
    view = f"weft_batch_{batch_id}"
    rows.createOrReplaceTempView(view)
    try:
        if not statements:
            counted = session.sql(f"SELECT count(*), count({MOMENT}), max({MOMENT}) FROM {view}").collect()[0]
            return BatchOutput(counted[0], counted[0] - counted[1], counted[2], {})
        texts = (bounded(statement.sql.replace("{rows}", view), statement, session) for statement in statements)
        tables = [valid_texts(session.sql(text).toArrow()) for text in texts]
    finally:
        session.catalog.dropTempView(view)
    return _split(statements, tables, batch_id)


def _split(statements: Sequence[Statement], tables: Sequence[pa.Table], batch_id: int) -> BatchOutput:
    """Split the answers of all statements by node, without rows that have no time; the first node counts the batch."""
    partials: dict[str, list[pa.Table]] = {}
    rows = dead = None
    for statement, table in zip(statements, tables, strict=True):
        for identifier, node in statement.sets.items():
            grouped = table.filter(pc.equal(table[SET], identifier)) if len(statement.sets) > 1 else table
            timed = pc.is_valid(grouped[statement.keys.slices[node.tree]]) if node.clock.sliced else grouped[TIMED]
            if rows is None or dead is None:
                rows = int(pc.sum(grouped[ROW_COUNT.name]).as_py() or 0)
                dead = rows - int(pc.sum(grouped.filter(timed)[ROW_COUNT.name]).as_py() or 0)
            schema = row_schema(node.dimensions, node.statistics)
            partials.setdefault(node.id, []).append(
                conform(_partial(grouped.filter(timed), node, statement, batch_id), schema)
            )
    newest = pc.max(tables[0][NEWEST]).as_py()
    whole = {node: pa.concat_tables(parts) for node, parts in partials.items()}
    in_pieces = frozenset(node for node, parts in partials.items() if len(parts) > 1)
    return BatchOutput(rows or 0, dead or 0, newest, whole, in_pieces)


def _partial(rows: pa.Table, node: Node, statement: Statement, batch_id: int) -> pa.Table:
    """The rows of a grouping set in the shape that the node stores."""
    count = rows.num_rows
    batch = pa.repeat(pa.scalar(batch_id, pa.int64()), count)
    start = rows[statement.keys.slices[node.tree]] if node.clock.sliced else batch
    names = [START, LATE, LEVEL, *(dimension.name for dimension in node.dimensions)]
    columns = [
        start,
        pa.repeat(pa.scalar(ON_TIME, pa.int64()), count),
        pa.repeat(pa.scalar(0, pa.int8()), count),
        *(batch if key.ticks else _values(rows, key, statement.keys) for key in node.dimensions),
    ]
    computed = [statistic.name for statistic in node.statistics if statistic in statement.statistics]
    return pa.table([*columns, *(rows[name] for name in computed)], names=[*names, *computed])


def _values(rows: pa.Table, dimension: Dimension, keys: Keys) -> pa.ChunkedArray:
    """A dimension's column; a truth that travelled in a pack is taken out of the pack's bits."""
    column, position = rows[keys.column(dimension)], keys.position(dimension)
    if position is None:
        return column
    truth = pc.bit_wise_and(pc.shift_right(column, pa.scalar(2 * position, pa.int64())), pa.scalar(3, pa.int64()))
    return pc.if_else(pc.equal(truth, 2), pa.scalar(None, pa.bool_()), pc.equal(truth, 1))
