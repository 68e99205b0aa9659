"""Selections of rows, fed by hand: which rows are in a window, which are new, how long they are kept, and who shares."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import weft
import weft.testing
from weft.errors import EngineError

SCHEMA = "ts timestamp, k int, v double, t string"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with opened(tmp_path) as engine:
        yield engine


def opened(tmp_path: Path) -> weft.Engine:
    engine = weft.Engine(tmp_path / "state")
    engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema=SCHEMA, watermark="2 seconds")
    return engine


def at(second: float) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + second, UTC)


def feed(engine: weft.Engine, *rows: tuple[float, int, float | None]) -> None:
    weft.testing.feed(engine, "s", [{"ts": at(second), "k": k, "v": v, "t": f"t{k}"} for second, k, v in rows])


def shown(table: pa.Table, *columns: str) -> list[Any]:
    """The values of these columns, as text, row by row."""
    return [tuple(map(str, row.values())) if len(columns) > 1 else row[columns[0]]
            for row in table.select(list(columns)).to_pylist()]


def test_rows_come_as_they_are_as_often_as_they_came_in_the_order_of_their_time(engine: weft.Engine) -> None:
    query = engine.register("SELECT k, v FROM s WHERE k < 5", name="q")
    feed(engine, (3, 1, -0.0), (1, 2, None), (2, 9, 1.0), (3, 1, -0.0), (3, 1, 0.0))
    assert query.result().schema.names == ["ts", "k", "v"]
    assert shown(query.result(), "k", "v") == [("2", "None"), ("1", "0.0"), ("1", "-0.0"), ("1", "-0.0")]


def test_a_row_is_new_once_and_the_same_row_again_is_a_new_row(engine: weft.Engine) -> None:
    query = engine.register("SELECT k FROM s", name="q")
    for _ in range(20):
        feed(engine, (1, 7, 1.0))
    assert len(query.result()) == 20
    assert shown(query.changes(since=16), "tick") == [17, 18, 19]
    assert shown(query.changes(), "tick") == list(range(20)), "however rows are stored by now"


def test_a_late_row_is_in_windows_that_are_open_and_among_all_rows(engine: weft.Engine) -> None:
    windows = engine.register("SELECT k FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]", name="windows")
    everything = engine.register("SELECT k FROM s", name="all")
    feed(engine, (0, 0, 1.0), (4, 1, 1.0))
    feed(engine, (8, 2, 1.0))  # the watermark passes 5
    feed(engine, (3, 3, 1.0))  # late for [-5, 5), not for [0, 10)
    feed(engine, (12, 4, 1.0), (17, 5, 1.0))
    assert shown(windows.result(end=at(5)), "k") == [0, 1]
    assert shown(windows.result(end=at(10)), "k") == [0, 3, 1, 2]
    assert shown(everything.result(), "k") == [0, 3, 1, 2, 4, 5]
    assert windows.metrics()["late_rows"] == 0, "a window took it"


def test_a_window_that_is_asked_for_follows_the_newest_row(engine: weft.Engine) -> None:
    query = engine.register("SELECT k FROM s BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW - INTERVAL 2 SECONDS)", name="q")
    feed(engine, *((second, second, 1.0) for second in range(0, 30, 2)))
    assert shown(query.result(), "k") == [18, 20, 22, 24, 26], "28 less 10 to 28 less 2, both included"
    assert shown(query.result(end=at(15)), "k") == [6, 8, 10, 12], "as if the newest row had come at 15"
    feed(engine, (40, 40, 1.0))
    assert shown(query.result(), "k") == []


def test_a_landmark_stays_and_a_snapshot_ends(engine: weft.Engine) -> None:
    landmark = f"SELECT k FROM s BEGIN ('{at(4).isoformat()}') END (NOW)"
    snapshot = f"SELECT k FROM s BEGIN ('{at(4).isoformat()}') END ('{at(8).isoformat()}')"
    engine.register_all({"landmark": landmark, "snapshot": snapshot}, keep="1 second")
    for second in range(0, 3_000_000, 500_000):
        feed(engine, (second, second, 1.0), (second + 4, second + 4, 1.0), (second + 8, second + 8, 1.0))
    assert shown(engine.query("landmark").result(), "k")[:3] == [4, 8, 500_000]
    assert len(engine.query("landmark").result()) == 17
    assert shown(engine.query("snapshot").result(), "k") == [4, 8]
    assert "for ever" in str(engine.query("landmark").bound)


def test_what_is_behind_keep_is_neither_shown_nor_stored(engine: weft.Engine) -> None:
    query = engine.register("SELECT k FROM s", name="q", keep="1 hour")
    sizes = []
    for hour in range(60):
        feed(engine, *((hour * 3600 + minute * 60, hour, 1.0) for minute in range(60)))
        sizes.append(query.metrics()["rows"])
    assert max(sizes[30:]) <= 60 * 25, "rows go with their files, a while after they are let go of"
    hours = shown(query.result(), "k")
    assert hours == [58, *[59] * 60], "those of the hour behind the watermark, whatever is there still of before"
    assert query.bound.slices is not None


def test_a_selection_that_comes_late_has_the_rows_from_then_on(engine: weft.Engine) -> None:
    engine.register("SELECT count(*) AS n FROM s", name="other")
    feed(engine, (0, 0, 1.0), (1, 1, 1.0))
    query = engine.register("SELECT k FROM s", name="q")
    feed(engine, (2, 2, 1.0), (1, 3, 1.0))
    assert shown(query.result(), "k") == [2] and query.complete_from > at(1)
    twin = engine.register("SELECT k FROM s WHERE k < 100", name="twin")
    feed(engine, (3, 4, 1.0))
    assert shown(query.result(), "k") == [2, 4] and shown(twin.result(), "k") == [4]


def test_selections_of_the_same_columns_share_a_node_whatever_their_conditions(engine: weft.Engine) -> None:
    for least in range(30):
        engine.register(f"SELECT k, t FROM s WHERE v > {least}", name=f"q{least}")
    feed(engine, *((second, second, float(second)) for second in range(30)))
    assert len(engine.network("s").base) == 1
    for least in (0, 7, 29):
        assert shown(engine.query(f"q{least}").result(), "k") == list(range(least + 1, 30))
    engine.query("q7").drop()
    feed(engine, (40, 99, 50.0))
    assert shown(engine.query("q29").result(), "k") == [99]


def test_finishing_ahead_changes_no_window(engine: weft.Engine) -> None:
    sql = "SELECT k, v FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE v > 1 ORDER BY v DESC LIMIT 3"
    ahead, lazy = engine.register(sql, name="ahead", eager=True), engine.register(sql, name="lazy")
    for second in range(0, 40, 4):
        feed(engine, *((second + part, part, float(part * second % 7)) for part in range(4)))
    with weft.testing.kinds_read(engine) as kinds:
        finished = ahead.results()
    assert finished.equals(lazy.results()) and len(finished) > 20 and set(kinds) == {"result"}


def test_a_row_on_which_a_column_fails_stops_the_selection_alone(engine: weft.Engine) -> None:
    bad = engine.register("SELECT 100 / k AS share FROM s WHERE k < 9", name="bad")
    good = engine.register("SELECT k FROM s WHERE k < 9", name="good")
    feed(engine, (1, 2, 1.0))
    assert shown(bad.result(), "share") == [50.0]
    feed(engine, (2, 0, 1.0))
    assert bad.status == "failed" and "DIVIDE_BY_ZERO" in bad.metrics()["error"]
    assert shown(good.result(), "k") == [2, 0]
    with pytest.raises(EngineError) as refused:
        bad.result()
    assert refused.value.code == "query-failed"


def test_rows_are_there_after_a_restart_without_a_tick(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register("SELECT k FROM s WHERE v > 1", name="q")
    feed(engine, (1, 1, 2.0), (2, 2, 0.0), (3, 3, 3.0))
    engine.close()
    with opened(tmp_path) as again:
        query = again.query("q")
        assert shown(query.result(), "k") == [1, 3] and shown(query.results(since=at(1)), "k") == [3]
        assert [len(part) for part in query.results_in_parts()] == [2]
        assert "put on when asked" in query.explain() and query.metrics()["rows"] == 2


def test_a_span_of_a_selection_is_a_window_of_its_own(engine: weft.Engine) -> None:
    rows = engine.register("SELECT k FROM s", name="rows")
    windows = engine.register("SELECT k FROM s [RANGE 10 SECONDS]", name="windows")
    feed(engine, *((second, second, 1.0) for second in range(20)))
    feed(engine, (4.5, 100, 1.0))
    assert shown(rows.result(begin=at(3), end=at(6)), "k") == [3, 4, 100, 5], "all rows that have arrived"
    assert shown(windows.result(begin=at(12), end=at(16)), "k") == [12, 13, 14, 15]
    with pytest.raises(EngineError) as refused:
        windows.result(begin=at(3), end=at(19))
    assert refused.value.code == "not-held", "the row that no window of the query could use is one of this span"


def test_distinct_rows_are_groups(engine: weft.Engine) -> None:
    query = engine.register("SELECT DISTINCT t FROM s", name="q")
    twin = engine.register("SELECT t FROM s GROUP BY t", name="twin")
    feed(engine, (1, 1, 1.0), (2, 1, 1.0), (3, 2, 1.0))
    assert sorted(shown(query.result(), "t")) == ["t1", "t2"] and query.result().equals(twin.result())


def test_a_selection_of_all_columns_has_those_that_can_be_computed_with(engine: weft.Engine) -> None:
    query = engine.register("SELECT *, upper(t) AS upper_t FROM s WHERE k = 1", name="q")
    feed(engine, (1, 1, 1.5), (2, 2, 2.5))
    assert query.result().select(["k", "v", "t", "upper_t"]).to_pylist() == [{"k": 1, "v": 1.5, "t": "t1", "upper_t": "T1"}]


def test_windows_that_close_are_refused_where_none_closes(engine: weft.Engine) -> None:
    query = engine.register("SELECT k FROM s", name="q")
    feed(engine, (1, 1, 1.0))
    assert query.latest().equals(query.result())
    with pytest.raises(EngineError) as refused:
        _ = engine.answers("q").window
    assert refused.value.code == "no-window" and "results(since=" in refused.value.hint


def test_rows_that_were_kept_before_a_selection_came_are_selected_when_somebody_asks(tmp_path: Path) -> None:
    with weft.Engine(tmp_path / "kept") as engine:
        engine.add_stream(
            "s", source="parquet", path=tmp_path / "in", schema=SCHEMA, event_time="ts", watermark="2 seconds", retain="1 hour"
        )
        first = engine.register("SELECT k, v FROM s WHERE v > 2", name="first")
        feed(engine, *((second, second, float(second % 5)) for second in range(20)))
        texts = {
            "all": "SELECT k, v FROM s WHERE v > 2",
            "now": "SELECT k, v FROM s WHERE v > 2 BEGIN (NOW - INTERVAL 12 SECONDS) END (NOW)",
            "part": "SELECT k FROM s WHERE v < 1 ORDER BY k DESC LIMIT 2 BEGIN (NOW - INTERVAL 12 SECONDS) END (NOW)",
        }
        asked = {name: shown(engine.ask(sql), "k") for name, sql in texts.items()}
        engine.register_all(texts)
        feed(engine, (19.5, 100, -0.0), (3.5, 101, 4.0))
        assert asked == {"all": [3, 4, 8, 9, 13, 14, 18, 19], "now": [8, 9, 13, 14, 18, 19], "part": [15, 10]}
        found = {name: engine.query(name).result() for name in texts}
        assert shown(found["all"], "k") == [3, 101, 4, 8, 9, 13, 14, 18, 19] == shown(first.result(), "k")
        assert shown(found["now"], "k") == [8, 9, 13, 14, 18, 19] and shown(found["part"], "k") == [100, 15]
        assert all(query.status == "running" for query in engine.queries()), "nothing waits to be filled"
        assert shown(engine.query("all").changes(since=0), "k") == [101]
        feed(engine, *((second, second, 3.0) for second in range(30, 60)))
        assert shown(engine.query("now").result(), "k") == list(range(47, 60))
