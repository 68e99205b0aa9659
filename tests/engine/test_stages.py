"""Where the time of a tick goes: every second from the start of Spark's trigger to its end has a name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 40
# Spark counts in milliseconds, stage by stage.
ROUNDING = 0.02


def put(folder: Path, tick: int) -> None:
    """Many files of one row each."""
    folder.mkdir(exist_ok=True)
    for number in range(FILES):
        at = pa.array([tick * 1_000_000 + number], pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({"ts": at, "k": ["a"]}), folder / f"{tick}-{number}.parquet")


@pytest.fixture
def engine(tmp_path: Path, spark: SparkSession) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema="ts timestamp, k string", event_time="ts")
        engine.register("SELECT k, count(*) AS n FROM s GROUP BY window(ts, '1 second'), k", name="q")
        yield engine


def last_tick(engine: weft.Engine) -> dict[str, Any]:
    found: dict[str, Any] = engine.metrics()["streams"]["s"]["last_tick"]
    return found


def progress(engine: weft.Engine) -> dict[str, int]:
    query = engine._runners.by_stream["s"]._query
    assert query is not None and query.lastProgress is not None
    return dict(query.lastProgress.durationMs)


def test_every_second_of_a_trigger_has_a_name(engine: weft.Engine, tmp_path: Path) -> None:
    seen: list[weft.TickCommitted] = []
    end = engine.listen(seen.append, [weft.TickCommitted])
    for tick in range(2):
        put(tmp_path / "in", tick)
        engine.run_available()
    end()
    said, durations = last_tick(engine), progress(engine)
    seconds = said["seconds"]
    assert said["rows"] == FILES
    assert sum(seconds.values()) == pytest.approx(durations["triggerExecution"] / 1000, abs=ROUNDING)
    for name in ("latestOffset", "getBatch", "queryPlanning", "walCommit", "commitOffsets"):
        assert seconds[f"spark.{name}"] == durations[name] / 1000
    # What has no better name than that is next to nothing.
    assert seconds["other"] + seconds["spark.triggerExecution"] < 0.1 * sum(seconds.values()) + ROUNDING
    # Every tick is told once, whole, to those who listen, and to other processes.
    assert [tick.batch_id for tick in seen] == [0, 1]
    assert seen[-1].seconds == seconds
    with weft.Engine(tmp_path / "state") as other:
        assert last_tick(other)["seconds"] == seconds


def test_a_tick_is_told_though_nobody_asks_and_none_follows(engine: weft.Engine, tmp_path: Path) -> None:
    put(tmp_path / "in", 0)
    seen: list[weft.TickCommitted] = []
    end = engine.listen(seen.append, [weft.TickCommitted])
    engine.start()
    query = engine._runners.by_stream["s"]._query
    assert query is not None
    query.processAllAvailable()
    for thread in threads_that_tell():
        thread.join(30)
    end()
    assert [tick.batch_id for tick in seen] == [0]
    engine.stop()
    assert len(seen) == 1 and "spark.commitOffsets" in last_tick(engine)["seconds"]


def threads_that_tell() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "weft-tell"]
