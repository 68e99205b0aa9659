"""Weft computes in UTC, whatever zone the session has: moments without a zone in files, hours, dates, literals."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import session_with
from tests.few import few_combinations
from weft.spark import session as sessions

NEW_YORK = "America/New_York"
pytestmark = pytest.mark.spark
DDL = "ts timestamp, v int"
LINES = {
    "csv": "{ts},{v}\n",
    "json": '{{"ts": "{ts}", "v": {v}}}\n',
}
# Options of a source, and the hour of UTC that its files call noon.
ZONES: dict[str, tuple[dict[str, str], int]] = {"UTC": ({}, 12), "by option": ({"timeZone": NEW_YORK}, 17)}
HOURS = "SELECT hour(ts) AS h, count(*) AS n FROM s GROUP BY hour(ts) ORDER BY h"
# Noon of UTC is seven in the morning of New York.
SINCE_NOON = "SELECT count(*) AS n, max(to_date(ts)) AS day FROM s WHERE ts >= TIMESTAMP '2030-01-01 12:00:00'"


@pytest.fixture(scope="module")
def new_york(spark: SparkSession) -> SparkSession:
    return session_with(spark, {"spark.sql.session.timeZone": NEW_YORK})


def arrive(folder: Path, source: str, name: str, *values: int) -> None:
    """A file with a row at noon for every value, and one at eleven in the evening."""
    folder.mkdir(exist_ok=True)
    rows = [("2030-01-01 12:00:00", value) for value in values] + [("2030-01-01 23:00:00", 1)]
    (folder / f".{name}").write_text("".join(LINES[source].format(ts=ts, v=v) for ts, v in rows))
    (folder / f".{name}").rename(folder / name)


@pytest.mark.parametrize(("zone", "source"), few_combinations(ZONES, LINES, every=2))
def test_a_batch_that_is_mended_has_the_moments_that_any_other_has(
    tmp_path: Path, new_york: SparkSession, zone: str, source: str
) -> None:
    options, noon = ZONES[zone]
    with weft.Engine(tmp_path / "state", spark=new_york) as engine:
        engine.add_stream("s", source=source, path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any",
                          options=options)
        hours, since_noon = engine.register(HOURS, name="hours"), engine.register(SINCE_NOON, name="since_noon")
        fragile = engine.register("SELECT sum(10 div v) AS x FROM s", name="fragile")
        arrive(tmp_path / "in", source, "first", 1, 2)
        engine.run_available()
        assert fragile.status == "running"
        late = (noon + 11) % 24
        assert sorted((row["h"], row["n"]) for row in hours.result().to_pylist()) == sorted([(noon, 2), (late, 1)])
        # A query fails on the second file: the batch is read again, file by file.
        arrive(tmp_path / "in", source, "second", 1, 0)
        engine.run_available()
        assert fragile.status == "failed"
        assert sorted((row["h"], row["n"]) for row in hours.result().to_pylist()) == sorted([(noon, 4), (late, 2)])
        day = date(2030, 1, 1) if noon == 12 else date(2030, 1, 2)
        assert since_noon.result().to_pylist() == [{"n": 6, "day": day}]
        assert new_york.conf.get("spark.sql.session.timeZone") == NEW_YORK


def test_a_dataframe_of_another_zone_is_computed_with_in_utc(tmp_path: Path, new_york: SparkSession) -> None:
    """Its moments are those that its own session made of the texts; from there on the zone is UTC."""
    arrive(tmp_path / "in", "csv", "first", 1)
    with weft.Engine(tmp_path / "state", spark=new_york) as engine:
        rows = new_york.readStream.schema(DDL).csv(str(tmp_path / "in"))
        engine.add_stream("s", dataframe=rows, event_time="ts", max_ahead="any")
        hours = engine.register(HOURS, name="hours")
        windows = engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 hour')", name="windows")
        engine.run_available()
        assert hours.result().to_pylist() == [{"h": 4, "n": 1}, {"h": 17, "n": 1}]
        assert windows.results()["window_start"].to_pylist() == [datetime(2030, 1, 1, 17, tzinfo=UTC)]


def test_a_session_in_another_zone_is_told_of_once(
    tmp_path: Path, new_york: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_warned", set())
    with caplog.at_level(logging.WARNING, "weft.spark"):
        for folder in ("first", "second"):
            weft.Engine(tmp_path / folder, spark=new_york).close()
    (record,) = caplog.records
    assert record.getMessage() == "spark session in another time zone"
    assert (record.session_zone, record.computed_in) == (NEW_YORK, "UTC")
