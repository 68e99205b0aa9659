"""A query that is registered again with another `keep` or `eager` changes in that alone, and says nothing untrue."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import weft
import weft.testing
from tests.few import few_combinations
from tests.simulation.meanwhile import tick
from tests.simulation.world import World, at
from weft.plan.placement import Placement

SQL = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '4 seconds', '2 seconds'), k"


def run(world: World, seconds: range) -> None:
    """A tick every two seconds, with as many rows of one key as its number says."""
    for second in seconds:
        world._do(tick(2 * second, *("a" * (second % 3 + 1)), "b"))


def rows(query: weft.ContinuousQuery) -> list[dict[str, Any]]:
    return query.results().to_pylist()


def definition(world: World) -> dict[str, Any]:
    return world.engine.registry.query("q").row.definition.to_json()


@pytest.fixture
def kept(world: World) -> World:
    """40 ticks of a query that keeps ten seconds, alone on its node: everything older is deleted."""
    world.engine.register(SQL, name="q", keep="10 seconds")
    world.engine.register(SQL.replace("count(*) AS n", "count(*) AS n, sum(v) AS t"), name="other", keep="10 seconds")
    world.engine.register("SELECT k, g, count(*) AS n FROM s GROUP BY window(ts, '4 seconds', '2 seconds'), k, g",
                          name="finer", keep="forever")
    run(world, range(40))
    return world


def test_keeping_longer_keeps_what_is_there_and_promises_no_more(kept: World) -> None:
    query = kept.engine.query("q")
    before = rows(query)
    assert len(before) == 10, "five windows of two keys"
    kept.engine.register(SQL, name="q", keep=timedelta(hours=1))
    assert rows(query) == before and query.status == "running"
    assert definition(kept)["keep"] == "1 hour"
    run(kept, range(40, 60))
    assert rows(query)[:10] == before and len(rows(query)) == 2 * (5 + 20), "nothing goes any more, nothing is made up"
    kept.forget()
    assert rows(kept.engine.query("q"))[:10] == before
    kept.engine.register(SQL, name="q")
    assert definition(kept)["keep"] == "1 hour", "what is not said stays as it is"
    kept.engine.register(SQL, name="q", keep="6 seconds")
    assert len(rows(kept.engine.query("q"))) == 6
    kept.engine.register(SQL, name="q", keep="forever")
    assert len(rows(kept.engine.query("q"))) == 6


@pytest.mark.parametrize("point", ["spark-after", "commit-before", "commit-after"])
def test_keeping_longer_while_a_tick_is_under_way_promises_nothing_that_it_deletes(kept: World, point: str) -> None:
    """The tick was planned to keep ten seconds, and moves the watermark on by forty ticks: what it deletes is gone."""
    query = kept.engine.query("q")
    with closing(kept.open_elsewhere()) as other, at(point, lambda: other.register(SQL, name="q", keep="forever")):
        kept._do(tick(160, "a", "b"))
    run(kept, range(81, 90))
    assert definition(kept)["keep"] == "forever"
    complete = query.complete_from
    assert isinstance(complete, datetime)
    whole = kept.engine.register(SQL.replace("k, count", "k, g, count") + ", g", name="again", keep="forever")
    assert rows(whole), "its history comes from the finer node that keeps everything"
    expected = [{key: row[key] for key in ("window_start", "window_end", "k", "n")} for row in rows(whole)
                if row["window_start"] >= complete]
    assert rows(query) == expected and len(expected) >= 18


def test_a_query_that_moves_and_is_kept_otherwise_in_one_tick_does_both(kept: World) -> None:
    def both() -> None:
        with closing(kept.open_elsewhere()) as other:
            other.planner("s").place({"q": Placement("own")})
            other.register(SQL, name="q", keep="1 minute", eager=True)

    with at("spark-after", both):
        run(kept, range(40, 41))
    kept.engine.registry.refresh()
    assert (definition(kept)["keep"], definition(kept)["eager"], definition(kept)["tree"]) == ("1 minute", True, "own")
    run(kept, range(41, 60))
    assert len(rows(kept.engine.query("q"))) == 2 * (5 + 19), "those that the tick left, and all since"


def test_windows_are_finished_ahead_as_long_as_somebody_says_so(
    kept: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = kept.engine.query("q")
    kept.engine.register(SQL, name="q", eager=True)
    assert definition(kept)["keep"] == "10 seconds"
    run(kept, range(40, 50))
    lazily = [row["n"] for row in rows(kept.engine.query("other"))]
    with monkeypatch.context() as patch:
        patch.setattr(kept.engine.reader, "windows", lambda *_: pytest.fail("these were finished"))
        assert [row["n"] for row in rows(query)] == lazily
    kept.engine.register(SQL, name="q", eager=False)
    run(kept, range(50, 60))
    assert kept.engine.plan("s").families == ()
    assert [row["n"] for row in rows(query)] == [row["n"] for row in rows(kept.engine.query("other"))]


def test_all_of_them_or_none_are_changed_and_another_meaning_is_refused_with_what_it_is(kept: World) -> None:
    with pytest.raises(weft.EngineError) as refusal:
        kept.engine.register_all({"q": SQL, "other": SQL}, keep="2 days")
    assert refusal.value.code == "query-differs" and "sum(v) AS t" in refusal.value.message
    assert "history" in refusal.value.hint and definition(kept)["keep"] == "10 seconds"


def test_dates_are_moments_and_durations_may_be_pythons_own(world: World) -> None:
    world.engine.add_stream("days", source="rate", schema="ts timestamp", event_time="ts",
                            watermark=timedelta(minutes=90), max_ahead=timedelta(hours=3))
    stream = world.engine.registry.stream("days")
    assert (stream.watermark, stream.max_ahead) == (timedelta(minutes=90), timedelta(hours=3))
    world.engine.add_stream("days", source="rate", schema="ts timestamp", event_time="ts",
                            watermark="90 minutes", max_ahead="3 hours")
    query = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '12 hours')", name="q",
                                  keep=timedelta(days=400))
    day = 86_400
    for second in (1, day // 2, day + 1, 2 * day + 1, 3 * day + 1):
        world._do(tick(second, "a"))
    noon, next_day = datetime(1970, 1, 1, 12, tzinfo=UTC), datetime(1970, 1, 2, tzinfo=UTC)
    assert [row["window_end"] for row in query.results(until=date(1970, 1, 2)).to_pylist()] == [noon, next_day]
    assert query.result(end=date(1970, 1, 2))["n"].to_pylist() == [1]
    for bad in (timedelta(days=-1), timedelta(days=40_000)):
        with pytest.raises(weft.WeftError) as refusal:
            world.engine.register(SQL, name="p", keep=bad)
        assert refusal.value.code in ("bad-keep", "bad-duration") and refusal.value.hint
    with pytest.raises(weft.SqlError, match="bad-duration"):
        world.engine.start(trigger=timedelta(seconds=-1))
    with pytest.raises(weft.StreamError, match="bad-watermark"):
        world.engine.add_stream("bad", source="rate", schema="ts timestamp", event_time="ts",
                                watermark=timedelta(seconds=-1))


@pytest.mark.parametrize(("eager", "window"), few_combinations((False, True), ("'2 seconds'", "'200 seconds', '2 seconds'"), every=2))
def test_the_newest_window_that_has_rows_is_found_however_long_it_was_quiet(
    world: World, window: str, eager: bool
) -> None:
    sql = f"SELECT k, count(*) AS n FROM s WHERE k = 'a' GROUP BY window(ts, {window}), k"
    query = world.engine.register(sql, name="q", keep="forever", eager=eager)
    often = world.engine.register(f"{sql} HAVING count(*) > 1", name="often", keep="forever", eager=eager)
    assert query.latest().num_rows == 0, "nothing arrived"
    run_at = [(1, "aa"), (3, "a"), (5, "b"), *((second, "b") for second in range(7, 60, 2)), (5_000, "b"), (9_000, "b")]
    for second, keys in run_at:
        world._do(tick(second, *keys))
    assert query.result().num_rows == 0
    for one in (query, often):
        every = one.results(until=datetime(1970, 1, 1, 0, 5, tzinfo=UTC)).to_pylist()
        assert every
        newest = [row for row in every if row["window_end"] == every[-1]["window_end"]]
        assert one.latest().to_pylist() == newest
    total = world.engine.register("SELECT count(*) AS n FROM s", name="total")
    assert total.latest() == total.result()
    never = world.engine.register(sql.replace("'a'", "'z'"), name="never", keep="forever")
    assert never.latest().num_rows == 0 and never.latest().schema == never.result().schema


def test_a_column_of_the_users_stays_the_users_where_changes_bring_one_of_the_same_name(world: World) -> None:
    plain = world.engine.register("SELECT k, count(*) AS n FROM s GROUP BY k", name="plain")
    own = world.engine.register("SELECT k AS Tick, count(*) AS n FROM s GROUP BY k", name="own")
    both = world.engine.register("SELECT k AS tick, count(*) AS weft_tick FROM s GROUP BY k", name="both")
    for second in (1, 2):
        world._do(tick(second, "a"))
    assert plain.changes().to_pylist() == [{"tick": 1, "k": "a", "n": 2}]
    assert own.changes().to_pylist() == [{"weft_tick": 1, "Tick": "a", "n": 2}]
    assert both.changes().to_pylist() == [{"weft_weft_tick": 1, "tick": "a", "weft_tick": 2}]
    assert own.changes(since=1).num_rows == 0


def test_an_engine_says_what_it_is_of(world: World) -> None:
    world.engine.register(SQL, name="q")
    text = repr(world.engine)
    assert text.startswith("<weft.Engine '/") and text.endswith(", 1 stream, 1 query, at rest>")
    with closing(world.open_elsewhere()) as other:
        other.register(SQL, name="p")
        assert "2 queries" in repr(other)
    assert repr(other).endswith("closed>")
