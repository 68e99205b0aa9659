"""A fault that passes stops the stream until it is gone, and no query for good."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import weft.testing
from tests.simulation.level0 import PlainBatch
from tests.simulation.world import SECOND, Query, World
from weft.spark.batch import BatchOutput
from weft.spark.kernels import Level0

WIDE = Query("wide", ("g", "k"), ("n",), None, "forever", eager=False)
NARROW = Query("narrow", (), ("n",), None, "forever", eager=False)


@dataclass(frozen=True)
class Hindered(PlainBatch):
    """A batch whose larger shuffles fail, as Spark reports it, while there is a hindrance."""

    hindrance: tuple[Exception, ...] = ()

    def aggregate(self, level0: Level0) -> BatchOutput:
        if self.hindrance and any(len(node.dimensions) > 1 for node in level0.network.base):
            raise self.hindrance[0]
        return super().aggregate(level0)


def batch(number: int, *hindrance: Exception) -> Hindered:
    row = {"ts": number * SECOND, "k": "a", "g": 1, "v": number}
    return Hindered(weft.testing.mark(number), [row], hindrance)


def failure(spark: SparkSession, kind: str, said: str) -> Exception:
    """What PySpark raises for an exception of Java's."""
    assert spark._jvm is not None
    java = spark._jvm
    for name in kind.split("."):
        java = getattr(java, name)
    error = PySparkException(f"Job aborted due to stage failure: {said}")
    error._origin = java(said)  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(("kind", "said"), [
    ("java.io.IOException", "/tmp/blockmgr/0c/temp_shuffle: No space left on device"),
    ("java.io.IOException", "Input/output error"),
    ("org.apache.spark.SparkException", "Job aborted due to stage failure: Task 3 in stage 9.0 failed 4 times, most "
     "recent failure: Lost task 3.3 in stage 9.0 (TID 7) (10.0.0.1 executor 2): ExecutorLostFailure (executor 2 exited)"),
])
def test_a_disk_that_is_full_for_a_while_stops_no_query(world: World, spark: SparkSession, kind: str, said: str) -> None:
    world.run([WIDE, NARROW])
    weft.testing.run(world.engine, "s", batch(0))
    with pytest.raises(PySparkException):
        weft.testing.run(world.engine, "s", batch(1, failure(spark, kind, said)))
    assert {one.status for one in world.engine.queries()} == {"running"}
    for number in (1, 2):
        weft.testing.run(world.engine, "s", batch(number))
    assert world.engine.query("wide").result().to_pylist() == [{"g": 1, "k": "a", "n": 3}]


def test_memory_that_one_query_alone_takes_is_its_fault(world: World, spark: SparkSession) -> None:
    world.run([WIDE, NARROW])
    weft.testing.run(world.engine, "s", batch(0, failure(spark, "java.lang.OutOfMemoryError", "Unable to acquire 64 bytes")))
    assert world.engine.query("wide").status == "failed"
    assert world.engine.query("narrow").result().to_pylist() == [{"n": 1}]
