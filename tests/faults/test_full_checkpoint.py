"""T11 with Spark: its checkpoint, the files of segments and the catalog are on one real disk, which fills up while it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.harness import write_tick
from tests.faults.test_disk import fill, small_disk
from tests.few import few
from weft.errors import WeftError

__all__ = ["small_disk"]

# Ticks before the disk is full and ticks that wait, and the rows of each, all of groups of their own.
BEFORE, AFTER, GROUPS = 2, 12, 400
PAGE = 4096
CODES = ("stream-failed", "storage-full", "catalog-full")


def rows(number: int) -> pa.Table:
    moments = pa.array([(10 * number + place % 10) * 1_000_000 for place in range(GROUPS)], pa.timestamp("us", tz="UTC"))
    values = pa.array(range(GROUPS * number, GROUPS * (number + 1)), pa.int32())
    return pa.table({"ts": moments, "k": [f"group {place}" for place in range(GROUPS)], "v": values})


def right(ticks: int) -> list[dict[str, Any]]:
    return [{"n": GROUPS * ticks, "total": sum(range(GROUPS * ticks))}]


def opened(disk: Path, source: Path, spark: SparkSession) -> weft.Engine:
    engine = weft.Engine(disk / "state", spark=spark)
    engine.add_stream("s", source="parquet", path=source, schema="ts timestamp, k string, v int", event_time="ts",
                      options={"maxFilesPerTrigger": 1})
    return engine


def answer(engine: weft.Engine) -> tuple[list[dict[str, Any]], int]:
    """The totals, and the same from what is kept by group."""
    by_group = engine.query("groups").result().to_pylist()
    return engine.query("all").result().to_pylist(), sum(row["n"] for row in by_group)


def begun(disk: Path, source: Path, spark: SparkSession) -> weft.Engine:
    """An engine with some ticks behind it, and files of more to come."""
    for number in range(BEFORE):
        write_tick(source, number, rows(number))
    engine = opened(disk, source, spark)
    engine.register("SELECT count(*) AS n, sum(v) AS total FROM s", name="all")
    engine.register("SELECT k, count(*) AS n FROM s GROUP BY k", name="groups")
    engine.run_available()
    assert answer(engine) == (right(BEFORE), GROUPS * BEFORE)
    for number in range(BEFORE, BEFORE + AFTER):
        write_tick(source, number, rows(number))
    return engine


def stops(engine: weft.Engine) -> None:
    """The stream stops with a named error, and as long as there is no space it does so again; answers stay right."""
    for _ in range(2):
        with pytest.raises(WeftError) as stopped:
            engine.run_available()
        assert stopped.value.code in CODES and stopped.value.hint
        found, by_group = answer(engine)
        done = by_group // GROUPS
        assert BEFORE <= done < BEFORE + AFTER and found == right(done) and by_group == GROUPS * done


def goes_on(disk: Path, source: Path, spark: SparkSession) -> None:
    """With space again, an engine that opens now counts all rows once."""
    with opened(disk, source, spark) as engine:
        engine.run_available()
        assert answer(engine) == (right(BEFORE + AFTER), GROUPS * (BEFORE + AFTER))
        assert engine.metrics()["streams"]["s"]["rows"] == GROUPS * (BEFORE + AFTER)


# Pages of the file system that are left: so Spark's own files fail, or ours, or the catalog, each in its turn. With none it
# is Spark's, with eight it is ours first and then the catalog: these two in `make test`, all in `make stress`.
@pytest.mark.parametrize("pages", few((0, 1, 3, 5, 8, *range(10, 60, 3)), (0, 8)))
def test_a_disk_that_fills_up_under_spark_loses_nothing(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, pages: int
) -> None:
    source = tmp_path_factory.mktemp("in")
    with begun(small_disk, source, spark) as engine:
        filler = fill(small_disk, pages * PAGE)
        stops(engine)
    filler.unlink()
    goes_on(small_disk, source, spark)


@pytest.mark.parametrize("pages", few((0, 1), 1))
def test_a_disk_that_is_full_when_spark_notes_that_a_batch_is_done(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, pages: int
) -> None:
    """The batch is counted and Spark does not know: it runs again, and is passed over."""
    source, fillers = tmp_path_factory.mktemp("in"), []
    with begun(small_disk, source, spark) as engine:

        def filled(tick: Callable[[], None]) -> None:
            tick()
            if not fillers:
                fillers.append(fill(small_disk, pages * PAGE))

        with weft.testing.around_ticks(engine, "s", filled):
            stops(engine)
        assert engine.state_of("s").batch_id == BEFORE
        assert not (small_disk / "state" / "checkpoints" / "s" / "commits" / str(BEFORE)).exists()
    fillers[0].unlink()
    goes_on(small_disk, source, spark)
