"""How many partial rows of a batch find room in the driver: a query with a group for every row must not end Spark.

Spark's own bound, `spark.driver.maxResultSize`, is looked at when a task is done: a task that alone makes more than the
memory holds ends the process before, and with it all queries. So a task counts its rows, and fails when they are too
many; then trials tell whose they are, as with any other failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.spark.failure import CROWDED
from weft.spark.level0 import Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# On their way rows are in memory several times over: as batches, serialized, fetched and put together. Measured with
# 2 GB: 230 MB of results arrive, 460 MB end the process.
TIMES = 8
# What a value takes, and a string, which may be longer.
VALUE_BYTES, STRING_BYTES = 8, 32
# The number of the grouping set, a slice, the newest time.
OWN_BYTES = 3 * VALUE_BYTES
# Of the number that Spark gives a row the lower bits are its position in the partition.
POSITION_BITS = (1 << 33) - 1


def bounded(sql: str, statement: Statement, session: SparkSession) -> str:
    """The statement that gives the same rows, or fails where a task makes more than its share of the driver's memory.

    As text: a condition that is put on a DataFrame has Spark analyse the whole statement once more.
    """
    most = room_of(session) // width_of(statement)
    crowded = f"{CROWDED}: a task made more than {most} partial rows; see spark.driver.memory"
    fits = f"monotonically_increasing_id() & {POSITION_BITS}L < {most}"
    return f"SELECT * FROM ({sql}) WHERE if({fits}, true, cast(raise_error('{crowded}') AS boolean))"


def width_of(statement: Statement) -> int:
    """How many bytes a row of a statement's answer has, about: every row has all columns."""
    keys = {key.name: key.type.name for node in statement.sets.values() for key in node.keys}
    kinds = [*keys.values(), *(statistic.type.name for statistic in statement.statistics)]
    return OWN_BYTES + sum(STRING_BYTES if kind == "string" else VALUE_BYTES for kind in kinds)


def room_of(session: SparkSession) -> int:
    """How many bytes of results a task may make, beside the tasks that run at the same time."""
    context = session.sparkContext
    assert context._jvm is not None
    memory = int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())
    shuffled = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    return memory // TIMES // max(1, min(shuffled, context.defaultParallelism))
