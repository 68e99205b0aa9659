"""Queries that are registered late get the kept rows of before, in the background, each once, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.read.keeping import feed_and_keep
from weft import failpoint
from weft.terminal.display import filling_bars
from weft.tick.filling import Filler

ALWAYS = datetime(1, 1, 1, tzinfo=UTC)
WINDOWS = "SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY window(ts, '20 seconds', '10 seconds'), k ORDER BY k"
TOTALS = "SELECT k, max(v) AS most, count(*) AS n FROM s GROUP BY k ORDER BY k"


def rows(first: int, last: int) -> list[dict[str, object]]:
    return [{"ts": f"2026-01-01T00:{at // 60:02}:{at % 60:02}", "k": "ab"[at % 2], "v": at} for at in range(first, last)]


def open_engine(folder: Path) -> weft.Engine:
    engine = weft.testing.engine(folder)
    weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
    return engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with open_engine(tmp_path / "state") as engine:
        yield engine


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[weft.Engine]:
    """What the queries answer that were registered before the first row."""
    with open_engine(tmp_path / "whole") as engine:
        engine.register_all({"windows": WINDOWS, "totals": TOTALS})
        for first in range(0, 180, 30):
            weft.testing.feed(engine, "s", rows(first, first + 30))
        yield engine


def feed_to(engine: weft.Engine, first: int, last: int) -> None:
    for begin in range(first, last, 30):
        feed_and_keep(engine, "s", rows(begin, begin + 30))


def check_same(engine: weft.Engine, whole: weft.Engine) -> None:
    assert engine.query("windows").results() == whole.query("windows").results()
    assert engine.query("totals").result() == whole.query("totals").result()
    for since in (-1, 2, 5):
        assert engine.query("totals").changes(since=since) == whole.query("totals").changes(since=since)


def test_a_late_query_has_the_history_that_kept_rows_hold(engine: weft.Engine, whole: weft.Engine) -> None:
    feed_to(engine, 0, 90)
    windows, totals = engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    assert windows.status == totals.status == "registered"
    feed_to(engine, 90, 120)
    weft.testing.wait_for_filling(engine, "s")
    assert windows.status == totals.status == "running"
    assert windows.complete_from == totals.complete_from == ALWAYS
    feed_to(engine, 120, 180)
    check_same(engine, whole)


def test_ticks_go_on_meanwhile_and_no_row_counts_twice(
    engine: weft.Engine, whole: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, seen = threading.Event(), Filler._seen

    def hold(filler: Filler, share: float) -> None:
        seen(filler, share)
        assert go.wait(60)

    monkeypatch.setattr(Filler, "_seen", hold)
    feed_to(engine, 0, 90)
    windows, _ = engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    feed_to(engine, 90, 150)
    assert windows.status.startswith("filling ") and windows.status.endswith(" %")
    assert 0 <= engine.metrics()["streams"]["s"]["filled"] <= 1
    (bar,) = filling_bars(engine.metrics())
    assert bar.startswith("s: filling late queries") and bar.endswith(" %")
    # What ticks brought since is there already.
    assert windows.results()["window_start"].to_pylist()[0] == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)
    go.set()
    weft.testing.wait_for_filling(engine, "s")
    assert windows.status == "running" and not filling_bars(engine.metrics())
    feed_to(engine, 150, 180)
    check_same(engine, whole)


@pytest.mark.parametrize("point", ["fill-planned", "fill-written", "fill-inside", "fill-after"])
def test_what_dies_at_any_point_is_done_again(tmp_path: Path, whole: weft.Engine, point: str) -> None:
    def die(name: str) -> None:
        if name == point:
            raise RuntimeError(f"died at {point}")

    with open_engine(tmp_path / "state") as engine:
        feed_to(engine, 0, 90)
        engine.register_all({"windows": WINDOWS, "totals": TOTALS})
        failpoint.watch(die)
        try:
            feed_to(engine, 90, 120)
            weft.testing.wait_for_filling(engine, "s")
        except RuntimeError:
            assert point == "fill-planned"
        finally:
            failpoint.watch(None)
    with open_engine(tmp_path / "state") as engine:
        feed_to(engine, 90 if point == "fill-planned" else 120, 180)
        weft.testing.wait_for_filling(engine, "s")
        check_same(engine, whole)
        named = {path for path in engine.files.list("s") if "/rows" not in path}
        with engine.catalog.read() as catalog:
            known = {segment.path for segment in catalog.segments(stream="s")} | set(catalog.garbage())
        assert named <= known


def test_what_groups_lack_is_filled_too(engine: weft.Engine, whole: weft.Engine) -> None:
    """A node is there that has the groups, and neither the statistics nor the edges from before."""
    engine.register("SELECT k, min(v) FROM s GROUP BY window(ts, '30 seconds'), k", name="other")
    engine.register("SELECT k, min(v) FROM s GROUP BY k", name="others")
    feed_to(engine, 0, 90)
    engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    feed_to(engine, 90, 180)
    weft.testing.wait_for_filling(engine, "s")
    check_same(engine, whole)
    assert engine.query("other").results()["min(v)"].to_pylist()[:2] == [0, 1]


def test_without_kept_rows_nothing_is_filled(engine: weft.Engine) -> None:
    weft.testing.feed(engine, "s", rows(0, 60))
    windows = engine.register(WINDOWS, name="windows")
    weft.testing.feed(engine, "s", rows(60, 120))
    assert windows.status == "running" and windows.complete_from != ALWAYS


def test_rows_that_reach_back_a_while_fill_that_while(engine: weft.Engine, whole: weft.Engine) -> None:
    weft.testing.feed(engine, "s", rows(0, 30))
    feed_and_keep(engine, "s", rows(30, 60))
    feed_and_keep(engine, "s", rows(60, 90))
    windows, totals = engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    for first in range(90, 180, 30):
        feed_and_keep(engine, "s", rows(first, first + 30))
    weft.testing.wait_for_filling(engine, "s")
    assert windows.complete_from == datetime(2026, 1, 1, 0, 0, 29, 1, tzinfo=UTC)
    expected = whole.query("windows").results(since="2026-01-01T00:00:49.999999")
    assert windows.results() == expected
    # Totals of a part of the rows would be no totals: these count from their first tick on.
    assert totals.complete_from == 3


def test_a_query_that_old_rows_fail_goes_on_without_them(engine: weft.Engine, whole: weft.Engine) -> None:
    feed_to(engine, 0, 90)
    failing = engine.register("SELECT sum(1000 / (v - 50)) AS x FROM s GROUP BY window(ts, '10 seconds')", name="failing")
    engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    feed_to(engine, 90, 180)
    weft.testing.wait_for_filling(engine, "s")
    assert failing.status == "running" and failing.complete_from != ALWAYS
    check_same(engine, whole)


def test_rows_that_are_let_go_meanwhile_take_nothing_away(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filler, "begin", lambda filler: None)
    feed_to(engine, 0, 90)
    windows, totals = engine.register_all({"windows": WINDOWS, "totals": TOTALS})
    feed_to(engine, 90, 120)
    before = windows.complete_from, totals.complete_from
    engine.registry.add_stream(replace(engine.registry.stream("s"), retain="never"))
    weft.testing.feed(engine, "s", rows(120, 150))
    monkeypatch.undo()
    weft.testing.feed(engine, "s", rows(150, 180))
    weft.testing.wait_for_filling(engine, "s")
    assert windows.status == totals.status == "running"
    assert (windows.complete_from, totals.complete_from) == before
    assert windows.results()["window_start"].to_pylist()[0] == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)


def test_a_query_that_is_dropped_meanwhile_comes_to_nothing(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    go, seen = threading.Event(), Filler._seen

    def hold(filler: Filler, share: float) -> None:
        seen(filler, share)
        assert go.wait(60)

    monkeypatch.setattr(Filler, "_seen", hold)
    feed_to(engine, 0, 90)
    query = engine.register(WINDOWS, name="windows")
    feed_to(engine, 90, 120)
    query.drop()
    again = engine.register(WINDOWS, name="windows")
    go.set()
    weft.testing.wait_for_filling(engine, "s")
    feed_to(engine, 120, 180)
    weft.testing.wait_for_filling(engine, "s")
    assert again.status == "running" and again.complete_from == ALWAYS
    assert sum(again.results(until="2026-01-01T00:01")["n"].to_pylist()) == 110


def test_what_only_spark_computes_goes_on_without_and_holds_up_nobody(
    spark: SparkSession, tmp_path: Path, whole: weft.Engine
) -> None:
    with weft.testing.engine(tmp_path / "state", spark=spark) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
        feed_to(engine, 0, 90)
        sql = "SELECT upper(k) AS k, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), upper(k)"
        upper = engine.register(sql, name="upper")
        engine.register_all({"windows": WINDOWS, "totals": TOTALS})
        feed_to(engine, 90, 180)
        weft.testing.wait_for_filling(engine, "s")
        assert upper.status == "running" and upper.complete_from != ALWAYS
        check_same(engine, whole)
        with pytest.raises(weft.EngineError) as error:
            engine.ask("SELECT upper(k) AS k, max(v) FROM s GROUP BY window(ts, '10 seconds'), upper(k)")
        assert error.value.code == "not-held"
