"""Several engines in one process, over one Spark: none takes it from another, and the user's session stays as it was."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import weft
from tests.java import BRIEF
from weft.spark.session import local_session
from weft.spark.starting import LEFTOVERS_ALLOWED, RENAMED_FILES

pytestmark = pytest.mark.spark
DDL = "ts timestamp, v int"


def arrive(folder: Path, name: str, *values: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text("".join(f"2030-01-01 12:00:00,{value}\n" for value in values))
    (folder / f".{name}").rename(folder / name)


def settings_of(session: SparkSession) -> dict[str, str]:
    return dict(session.conf.getAll)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("as_dataframe", [False, True], ids=["files", "dataframe"])
def test_two_engines_run_streams_of_one_name_in_one_session(
    tmp_path: Path, spark: SparkSession, as_dataframe: bool
) -> None:
    own = spark.newSession()
    before = settings_of(own)
    engines = [weft.Engine(tmp_path / name, spark=own) for name in ("one", "two")]
    try:
        for place, engine in enumerate(engines, start=1):
            folder = tmp_path / f"in{place}"
            arrive(folder, "first", *[place] * place)
            rows = own.readStream.schema(DDL).csv(str(folder))
            source = {"dataframe": rows} if as_dataframe else {"source": "csv", "path": folder, "schema": DDL}
            engine.add_stream("s", event_time="ts", max_ahead="any", **source)
            engine.register("SELECT sum(v) AS total FROM s", name="q")
            engine.start()
        totals = [1, 4]
        for engine, total in zip(engines, totals, strict=True):
            until(lambda engine=engine, total=total: engine.query("q").result().to_pylist() == [{"total": total}])
        assert all(engine.metrics()["streams"]["s"]["status"] == "running" for engine in engines)
        assert settings_of(own) == before and LEFTOVERS_ALLOWED[0] not in before
        # The same state once more, by mistake: nobody is stopped for it.
        with weft.Engine(tmp_path / "one", spark=own) as third:
            if as_dataframe:
                third.add_stream("s", dataframe=own.readStream.schema(DDL).csv(str(tmp_path / "in1")),
                                 event_time="ts", max_ahead="any")
            with pytest.raises(weft.EngineError) as refused:
                third.start()
            assert refused.value.code == "runs-elsewhere"
        assert engines[0].metrics()["streams"]["s"]["status"] == "running"
        arrive(tmp_path / "in1", "second", 10)
        until(lambda: engines[0].query("q").result().to_pylist() == [{"total": 11}])
    finally:
        for engine in engines:
            engine.close()
    assert settings_of(own) == before


def test_nothing_of_an_engine_that_is_closed_stays_in_memory(tmp_path: Path, spark: SparkSession) -> None:
    """Spark's Java keeps what it was given to call for as long as it lives: an engine would stay with all its tables."""
    arrive(tmp_path / "in", "first", 1, 2)
    for place in range(2):
        engine = weft.Engine(tmp_path / f"state{place}", spark=spark.newSession())
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any")
        engine.register("SELECT sum(v) AS total FROM s", name="q")
        if place:
            engine.start()
            until(lambda engine=engine: engine.query("q").result().to_pylist() == [{"total": 3}])
        else:
            engine.run_available()
        held = [weakref.ref(part) for part in (engine, engine.cache, engine.catalog, engine.planner("s"))]
        engine.close()
        del engine

        def gone(held: list[Any] = held) -> bool:
            gc.collect()
            return all(part() is None for part in held)

        until(gone)


def test_rows_that_are_asked_for_again_and_again_leave_no_thread_and_no_descriptor(
    tmp_path: Path, spark: SparkSession
) -> None:
    def there() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    with weft.Engine(tmp_path / "state", spark=spark.newSession()) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any")
        engine.register("SELECT sum(v) AS total FROM s", name="q")
        for number in range(8):
            arrive(tmp_path / "in", f"f{number}", number)
            engine.run_available()
            if number == 2:
                before = there()
        assert engine.query("q").result().to_pylist() == [{"total": 28}]
        until(lambda: all(now <= then + 1 for now, then in zip(there(), before, strict=True)))


def test_where_a_stream_cannot_start_the_others_are_stopped(tmp_path: Path, spark: SparkSession) -> None:
    arrive(tmp_path / "in", "first", 1)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("a", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts")
        rows = spark.readStream.schema(DDL).csv(str(tmp_path / "in"))
        engine.add_stream("b", dataframe=rows, event_time="ts")
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        with pytest.raises(weft.StreamError) as refused:
            engine.start()
        assert refused.value.code == "dataframe-missing"
        assert engine.metrics()["streams"]["a"]["status"] == "at rest"
        assert not engine._runners.by_stream["a"].is_active()


def test_a_setting_that_the_user_made_is_made_again(tmp_path: Path, spark: SparkSession) -> None:
    own = spark.newSession()
    own.conf.set(LEFTOVERS_ALLOWED[0], "true")
    arrive(tmp_path / "in", "first", 1)
    with weft.Engine(tmp_path / "state", spark=own) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.run_available()
    assert own.conf.get(LEFTOVERS_ALLOWED[0]) == "true"


def manager_of(engine: weft.Engine) -> str:
    """The class by which the running stream writes the log of its file source."""
    execution = engine._runners.by_stream["s"]._query._jsq.streamingQuery()
    log = execution.sources().head().metadataLog()
    return log.fileManager().getClass().getSimpleName()


@pytest.mark.parametrize("chosen", [None, "FileContextBasedCheckpointFileManager"])
def test_checkpoints_on_a_local_disk_are_renamed_into_place_unless_the_user_chose(
    tmp_path: Path, spark: SparkSession, chosen: str | None
) -> None:
    own = spark.newSession()
    package = RENAMED_FILES[1].rpartition(".")[0]
    if chosen is not None:
        own.conf.set(RENAMED_FILES[0], f"{package}.{chosen}")
    arrive(tmp_path / "in", "first", 1)
    with weft.Engine(tmp_path / "state", spark=own) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any")
        engine.register("SELECT sum(v) AS total FROM s", name="q")
        engine.start()
        assert manager_of(engine) == (chosen or "FileSystemBasedCheckpointFileManager")
        until(lambda: engine.query("q").result().to_pylist() == [{"total": 1}])
    assert own.conf.get(RENAMED_FILES[0], None) == (chosen and f"{package}.{chosen}")
    # Damage is noticed by checksums, which are still written.
    assert list((tmp_path / "state" / "checkpoints" / "s" / "offsets").glob(".*.crc"))


def test_a_session_beside_another_leaves_that_as_it_is(
    tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    running = SparkSession.builder.getOrCreate()
    before = settings_of(running)
    asked = {"spark.sql.shuffle.partitions": "7", "spark.driver.memory": "3g", "spark.master": "local[2]"}
    beside = local_session(tmp_path, asked)
    assert beside.sparkContext is running.sparkContext
    assert beside.conf.get("spark.sql.shuffle.partitions") == "7"
    assert settings_of(running) == before
    (record,) = [record for record in caplog.records if record.getMessage() == "spark runs already with other settings"]
    assert record.settings_unheard == {"spark.driver.memory": "3g"}


LIFE = """
import sys
from pathlib import Path
import weft
from weft.spark.session import is_running
from weft.store.catalog import sqlite_url

place, settings = Path(sys.argv[1]), {"spark.master": "local[1]", "spark.driver.extraJavaOptions": sys.argv[2]}
catalog = sqlite_url(place / "catalog.sqlite")
first = weft.Engine(f"file:{place}/first", catalog=catalog, spark_settings=settings)
second = weft.Engine(place / "second")
assert second.spark.sparkContext is first.spark.sparkContext
third = weft.Engine(place / "third", spark=first.spark)
assert len(list((place / "tmp").glob("weft-*"))) == 1
first.close()
assert second.spark.range(3).count() == 3
second.close()
assert third.spark.range(3).count() == 3
third.close()
assert not is_running()
print([path.name for path in (place / "tmp").glob("weft-*")], (Path.cwd() / "file:").exists())
"""


def test_spark_ends_with_the_last_engine_that_uses_it_and_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", LIFE, str(tmp_path), BRIEF],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )
    assert (done.stdout, done.returncode) == ("[] False\n", 0), done.stderr
