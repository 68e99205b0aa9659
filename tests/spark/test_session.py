"""The session that Weft starts is closed, and of another's session the log says once what is open."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import weft
from weft.spark import session as sessions
from weft.spark.session import CLOSED_DOORS, LOCAL_SETTINGS, open_doors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_session_that_weft_starts_is_closed(spark: SparkSession) -> None:
    assert open_doors(spark) == {}
    assert spark.sparkContext.uiWebUrl is None
    assert LOCAL_SETTINGS.items() >= CLOSED_DOORS.items()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT java_method('java.lang.System', 'getenv', 'WEFT_CANARY')",
        "SELECT reflect('java.lang.System', 'getProperty', 'user.dir')",
        "SELECT try_reflect('java.lang.System', 'getProperty', 'user.dir')",
        "SELECT TRANSFORM (x) USING 'cat' AS (y) FROM VALUES (1) AS t(x)",
        "SELECT * FROM text.`{canary}`",
        "SELECT * FROM csv.`{canary}`",
    ],
)
def test_a_closed_session_opens_no_door_to_sql_of_any_origin(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("canary-of-the-disk")
    with pytest.raises(Exception) as refused:  # noqa: PT011  # each door has an error of its own
        spark.sql(sql.format(canary=canary)).collect()
    assert "canary-of" not in str(refused.value)


def test_of_an_open_session_the_log_says_so_once(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_warned", set())
    own = spark.newSession()
    with caplog.at_level(logging.WARNING, "weft.spark"):
        weft.Engine(tmp_path / "closed", spark=own).close()
        assert caplog.records == []
        own.conf.set("spark.sql.runSQLOnFiles", "true")
        for folder in ("first", "second"):
            weft.Engine(tmp_path / folder, spark=own).close()
    (record,) = caplog.records
    assert record.getMessage() == "spark session with open doors"
    assert record.settings_wanted == {"spark.sql.runSQLOnFiles": "false"}


def test_files_are_looked_at_in_as_many_tasks_as_there_are_cores(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own choice is a task for each file: 2,000 files of a row each took 4 s before any was read."""
    paths = [tmp_path / f"{number}.csv" for number in range(100)]
    for path in paths:
        path.write_text("1\n")
    context = spark.sparkContext
    context.setJobGroup("listing", "listing")
    try:
        spark.read.schema("v int").csv([str(path) for path in paths])
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup("listing")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    tasks = [stage.numTasks for stage in stages if stage is not None]
    assert tasks and max(tasks) <= (os.cpu_count() or 1)
