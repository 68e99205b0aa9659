"""Options and settings of Spark's file source that would lose rows: Weft sets them so that none are lost, or refuses them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.bad_input import DDL, GOOD, ORC, PARQUET, Case, J, good_file, lines, write_case
from tests.engine.harness import session_with
from weft.spark.dead import BAD_FILE

DAY = 86_400


def arrive(file: Path, n: int, *, days_ago: int = 0) -> None:
    """A file with one row that was written so long ago, as `cp -p` or rsync bring it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name("." + file.name)
    hidden.write_bytes(lines(J.replace("5", str(n))))
    written = hidden.stat().st_mtime - days_ago * DAY
    os.utime(hidden, (written, written))
    hidden.rename(file)


@pytest.mark.parametrize(
    ("options", "total"),
    [({}, 1111), ({"maxFileAge": "60d"}, 1011), ({"MAXFILEAGE": "1h", "maxFilesPerTrigger": 1}, 1)],
)
def test_a_file_counts_however_long_ago_it_was_written(
    tmp_path: Path, spark: SparkSession, options: dict[str, object], total: int
) -> None:
    """Unless the stream says how old a file may be: by itself, Spark passes over those of a week ago without a word."""
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=tmp_path / "in", schema=DDL, event_time="ts", options=options)
        query = engine.register("SELECT sum(n) AS total FROM s", name="q")
        arrive(tmp_path / "in" / "new", 1)
        engine.run_available()
        for place, days in enumerate((30, 365, 45)):
            arrive(tmp_path / "in" / f"old {place}", 10 ** (place + 1), days_ago=days)
            engine.run_available()
        assert query.result().to_pylist() == [{"total": total}]
        engine.run_available()
        assert query.result().to_pylist() == [{"total": total}]


@pytest.fixture(scope="module")
def careless(spark: SparkSession) -> SparkSession:
    """A user's session that passes over whatever cannot be read."""
    settings = {"spark.sql.files.ignoreCorruptFiles": True, "spark.sql.files.ignoreMissingFiles": True}
    return session_with(spark, settings)


@pytest.mark.parametrize("case", [PARQUET[2], ORC[1]], ids=lambda case: case.source)
def test_no_unreadable_file_is_passed_over_whatever_the_session_says(
    tmp_path: Path, careless: SparkSession, case: Case
) -> None:
    write_case(tmp_path / "in", case)
    with weft.Engine(tmp_path / "state", spark=careless) as engine:
        engine.add_stream("s", source=case.source, path=tmp_path / "in", schema=DDL, event_time="ts")
        query = engine.register("SELECT count(*) AS c FROM s", name="q")
        engine.run_available()
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {BAD_FILE: 1}
        assert query.result().to_pylist() == [{"c": 2 * GOOD}]


def test_no_missing_file_is_passed_over_whatever_the_session_says(tmp_path: Path, careless: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    good_file("parquet", tmp_path / "in" / "1")
    with weft.Engine(tmp_path / "state", spark=careless) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        query = engine.register("SELECT count(*) AS c FROM s", name="q")

        def hidden(tick: Callable[[], None]) -> None:
            (tmp_path / "in" / "1").rename(tmp_path / "away")
            tick()

        with weft.testing.around_ticks(engine, "s", hidden), pytest.raises(weft.EngineError) as stopped:
            engine.run_available()
        assert stopped.value.code == "stream-failed"
        (tmp_path / "away").rename(tmp_path / "in" / "1")
        engine.run_available()
        assert query.result().to_pylist() == [{"c": GOOD}]


def test_who_declares_a_column_for_bad_rows_has_them_in_it(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1").write_bytes(lines(J, J.replace("5", '"five"')))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=tmp_path / "in", schema=f"{DDL}, rest string", event_time="ts",
                          options={"columnNameOfCorruptRecord": "rest"})
        query = engine.register("SELECT count(*) AS c, count(rest) AS bad, sum(n) AS total FROM s", name="q")
        engine.run_available()
        assert query.result().to_pylist() == [{"c": 2, "bad": 1, "total": 5}]
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {}
