"""One micro-batch on Spark: its rows in, the partial rows of the base nodes out, in a fixed number of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import ROWS
from weft.feeds.streams import Stream, spark_identifier
from weft.plan.dimensions import Dimension
from weft.plan.network import Node
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.spark.dead import CORRUPT, moment
from weft.spark.level0 import MOMENT, NEWEST, SET, TIMED, Keys, Statement
from weft.spark.room import bounded
from weft.spark.session import BATCH_SETTINGS
from weft.spark.texts import valid_texts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Batch:
    """What a micro-batch held: rows, how many of them dead, the newest time, and the base nodes' partial rows."""

    rows: int
    dead: int
    newest: int | None
    partials: dict[str, pa.Table]


def project(rows: DataFrame, stream: Stream, *, now: Column | None = None, beside: Sequence[str] = ()) -> DataFrame:
    """The part of the plan that stands before the sink: only declared columns, and the time as a number.

    The time of a row that is dead is NULL; `now` is the clock that judges it, by default that of the batch. `beside`
    are further columns to keep, of those that are there.
    """
    from pyspark.sql import functions as f

    parsed = CORRUPT in rows.columns
    columns = [f.col(spark_identifier(name)).cast(str(kind)).alias(name) for name, kind in stream.columns]
    time = moment(stream, f.current_timestamp() if now is None else now, parsed).alias(MOMENT)
    return rows.select(*columns, time, *(f.col(name) for name in beside if name in rows.columns))


def aggregate(rows: DataFrame, statements: Sequence[Statement], batch_id: int) -> Batch:
    """Run the statements over the rows of a batch: one Spark job each, and one for no statements at all."""
    session = rows.sparkSession
    for key, value in BATCH_SETTINGS.items():
        session.conf.set(key, value)
    view = f"weft_batch_{batch_id}"
    rows.createOrReplaceTempView(view)
    try:
        if not statements:
            counted = session.sql(f"SELECT count(*), count({MOMENT}), max({MOMENT}) FROM {view}").collect()[0]
            return Batch(counted[0], counted[0] - counted[1], counted[2], {})
        texts = (bounded(one.sql.replace("{rows}", view), one, session) for one in statements)
        tables = [valid_texts(session.sql(text).toArrow()) for text in texts]
    finally:
        session.catalog.dropTempView(view)
    return _split(statements, tables, batch_id)


def _split(statements: Sequence[Statement], tables: Sequence[pa.Table], batch_id: int) -> Batch:
    """The answers of all statements by node, without rows that have no time; the first node counts the batch."""
    partials: dict[str, list[pa.Table]] = {}
    rows = dead = None
    for statement, table in zip(statements, tables, strict=True):
        for identifier, node in statement.sets.items():
            mine = table.filter(pc.equal(table[SET], identifier)) if len(statement.sets) > 1 else table
            timed = pc.is_valid(mine[statement.keys.slices[node.tree]]) if node.clock.sliced else mine[TIMED]
            if rows is None or dead is None:
                rows = int(pc.sum(mine[ROWS.name]).as_py() or 0)
                dead = rows - int(pc.sum(mine.filter(timed)[ROWS.name]).as_py() or 0)
            schema = row_schema(node.dimensions, node.statistics)
            partials.setdefault(node.id, []).append(
                conform(_partial(mine.filter(timed), node, statement, batch_id), schema)
            )
    newest = pc.max(tables[0][NEWEST]).as_py()
    return Batch(rows or 0, dead or 0, newest, {name: pa.concat_tables(parts) for name, parts in partials.items()})


def _partial(rows: pa.Table, node: Node, statement: Statement, batch_id: int) -> pa.Table:
    """The rows of one grouping set in the shape that the node stores."""
    count = rows.num_rows
    batch = pa.repeat(pa.scalar(batch_id, pa.int64()), count)
    start = rows[statement.keys.slices[node.tree]] if node.clock.sliced else batch
    names = [START, LATE, LEVEL, *(one.name for one in node.dimensions)]
    columns = [
        start,
        pa.repeat(pa.scalar(ON_TIME, pa.int64()), count),
        pa.repeat(pa.scalar(0, pa.int8()), count),
        *(_values(rows, one, statement.keys) for one in node.dimensions),
    ]
    mine = [one.name for one in node.statistics if one in statement.statistics]
    return pa.table([*columns, *(rows[name] for name in mine)], names=[*names, *mine])


def _values(rows: pa.Table, dimension: Dimension, keys: Keys) -> pa.ChunkedArray:
    """A dimension's column, taken out of the number that it travelled in if it did."""
    column, place = rows[keys.column(dimension)], keys.place(dimension)
    if place is None:
        return column
    truth = pc.bit_wise_and(pc.shift_right(column, pa.scalar(2 * place, pa.int64())), pa.scalar(3, pa.int64()))
    return pc.if_else(pc.equal(truth, 2), pa.scalar(None, pa.bool_()), pc.equal(truth, 1))
