"""engine.ask and q.result(begin=, end=): from where they answer, what they refuse, and that they change nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
import weft.testing
from tests.cli.command import refuse, succeed, succeed_json
from tests.read.keeping import feed_and_keep

WIDE = "SELECT k, g, sum(v) AS total FROM s GROUP BY window(ts, '20 seconds', '10 seconds'), k, g"
ROWS = [{"ts": f"2026-01-01T00:{second // 60:02}:{second % 60:02}", "k": "ab"[second % 2], "g": second % 3, "v": second}
        for second in range(180)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.testing.engine(tmp_path / "state") as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, g int, v int", event_time="ts")
        yield engine


def revision(engine: weft.Engine) -> int:
    with engine.catalog.read() as catalog:
        return catalog.revision()


def told(error: pytest.ExceptionInfo[weft.EngineError]) -> str:
    return str(error.value)


def test_finer_groups_answer_and_nothing_is_registered(engine: weft.Engine) -> None:
    engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS)
    before = revision(engine)
    answer = engine.ask("SELECT k, sum(v) AS total FROM s WHERE g <> 1 GROUP BY window(ts, '1 minute'), k ORDER BY k")
    rows = [row for row in ROWS if 60 <= row["v"] < 120 and row["g"] != 1]
    assert answer.select(["k", "total"]).to_pylist() == [
        {"k": key, "total": sum(row["v"] for row in rows if row["k"] == key)} for key in "ab"
    ]
    assert [query.name for query in engine.queries()] == ["wide"]
    assert revision(engine) == before


def test_groups_are_computed_from_finer_groups(engine: weft.Engine) -> None:
    engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS)
    sql = "SELECT g % 2 AS odd, sum(v) AS total FROM s WHERE k LIKE 'a%' GROUP BY window(ts, '1 minute'), g % 2 ORDER BY odd"
    rows = [row for row in ROWS if 60 <= row["v"] < 120 and row["k"] == "a"]
    assert engine.ask(sql).select(["odd", "total"]).to_pylist() == [
        {"odd": odd, "total": sum(row["v"] for row in rows if row["g"] % 2 == odd)} for odd in (0, 1)
    ]


def test_a_past_moment_is_the_newest_window_that_was_closed_then(engine: weft.Engine) -> None:
    query = engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS)
    assert engine.ask(WIDE, at="2026-01-01T00:01:09") == query.result(end="2026-01-01T00:01:00")
    assert engine.ask(WIDE, at="2026-01-01T00:01:10") == query.result(end="2026-01-01T00:01:10")
    with pytest.raises(weft.EngineError) as error:
        engine.ask(WIDE, at="2026-01-01T00:03:10")
    assert error.value.code == "not-closed" and "watermark is at 2026-01-01 00:02:59" in told(error)


def test_what_is_not_stored_is_refused_with_what_would_be_needed(engine: weft.Engine) -> None:
    engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS)
    with pytest.raises(weft.EngineError) as error:
        engine.ask("SELECT k, max(v) FROM s GROUP BY window(ts, '1 minute'), k")
    assert error.value.code == "not-held"
    assert "(k) with count(*), max(v)" in told(error) and "retain" in told(error) and "Register" in told(error)


def test_it_says_from_which_moment_on_it_could_be_answered(engine: weft.Engine) -> None:
    weft.testing.feed(engine, "s", ROWS[:90])
    query = engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS[90:])
    with pytest.raises(weft.EngineError) as error:
        query.result(begin="2026-01-01T00:01:00", end="2026-01-01T00:02:00")
    assert error.value.code == "not-held" and "from 2026-01-01T00:01:29.000001+00:00 on" in told(error)
    span = query.result(begin="2026-01-01T00:01:30", end="2026-01-01T00:02:00")
    assert sum(span["total"].to_pylist()) == sum(range(90, 120))


def test_late_rows_count_for_a_span_that_was_open_and_not_for_one_that_was_closed(engine: weft.Engine) -> None:
    query = engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute')", name="q")
    feed_and_keep(engine, "s", ROWS[:70])
    feed_and_keep(engine, "s", [{"ts": "2026-01-01T00:00:59.5"}, {"ts": "2026-01-01T00:02:30"}])
    assert query.result(begin="2026-01-01", end="2026-01-01T00:01:00")["n"].to_pylist() == [60]
    assert query.result(begin="2026-01-01", end="2026-01-01T00:01:00.5")["n"].to_pylist() == [61]
    assert query.result(begin="2026-01-01", end="2026-01-01T00:01:10")["n"].to_pylist() == [71]


def test_kept_rows_answer_what_no_group_does(engine: weft.Engine) -> None:
    for first in range(0, 180, 60):
        feed_and_keep(engine, "s", ROWS[first : first + 60])
    sql = "SELECT max(v) AS most, count(DISTINCT g) AS kinds FROM s WHERE v % 7 < 3 GROUP BY window(ts, '7 seconds')"
    rows = [row["v"] for row in ROWS if row["v"] % 7 < 3]
    (answer,) = engine.ask(sql).to_pylist()
    start = (answer["window_start"].minute * 60) + answer["window_start"].second
    assert answer["most"] == max(v for v in rows if start <= v < start + 7)
    assert "from kept rows" in engine.ask(sql, explain=True)
    assert engine.ask("SELECT sum(v) AS total FROM s")["total"].to_pylist() == [sum(range(180))]


def test_totals_are_not_made_of_a_part_of_the_rows(engine: weft.Engine) -> None:
    weft.testing.feed(engine, "s", ROWS[:60])
    feed_and_keep(engine, "s", ROWS[60:])
    with pytest.raises(weft.EngineError) as error:
        engine.ask("SELECT sum(v) AS total FROM s")
    assert error.value.code == "not-held" and "not all that ever came" in told(error)


def test_only_the_ragged_ends_are_read_from_kept_rows(engine: weft.Engine) -> None:
    query = engine.register("SELECT count(*) AS n, sum(v) AS total FROM s GROUP BY window(ts, '10 seconds')", name="q")
    for first in range(0, 180, 30):
        feed_and_keep(engine, "s", 200 * ROWS[first : first + 30])
    begin, end = "2026-01-01T00:00:07", "2026-01-01T00:02:33"
    (answer,) = query.result(begin=begin, end=end).to_pylist()
    assert (answer["n"], answer["total"]) == (200 * 146, 200 * sum(range(7, 153)))
    said = engine.asker.explain_over(engine.registered("q"), begin, end)
    assert "between the edges 2026-01-01T00:00:10+00:00 and 2026-01-01T00:02:30+00:00" in said
    assert "from kept rows of 2026-01-01T00:00:07+00:00 to 2026-01-01T00:00:10+00:00" in said
    assert engine.asker.rows_read == 2 * 6_000, "of two files, not of six"


def test_a_row_that_fails_makes_the_answer_fail(engine: weft.Engine) -> None:
    feed_and_keep(engine, "s", [*ROWS, {"ts": "2026-01-01T00:04:00", "v": 0}])
    with pytest.raises(weft.EngineError) as error:
        engine.ask("SELECT sum(1000 / (v - 150)) FROM s GROUP BY window(ts, '1 minute')", at="2026-01-01T00:03")
    assert error.value.code == "result-failed" and "division by zero" in told(error)


@pytest.mark.parametrize(("begin", "end"), [("2026-01-02", "2026-01-01"), ("2026-01-01", "2026-01-01"), ("2026-01-01", None)])
def test_a_span_has_a_begin_before_its_end(engine: weft.Engine, begin: str, end: str | None) -> None:
    query = engine.register(WIDE, name="wide")
    with pytest.raises(weft.EngineError) as error:
        query.result(begin=begin, end=end)
    assert error.value.code == "bad-span"


def test_asking_starts_no_spark(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register(WIDE, name="wide")
    feed_and_keep(engine, "s", ROWS)
    script = f"""
import sys, weft
with weft.Engine({str(tmp_path / 'state')!r}) as engine:
    assert engine.ask("SELECT max(v) AS most FROM s GROUP BY window(ts, '7 seconds')").num_rows == 1
assert not {{"pyspark", "py4j"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


def test_the_command_answers_and_explains(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register(WIDE, name="wide")
    weft.testing.feed(engine, "s", ROWS)
    sql, state = "SELECT sum(v) AS total FROM s GROUP BY window(ts, '1 minute')", str(tmp_path / "state")
    (row,) = succeed_json("ask", sql, "--state", state)
    assert row["total"] == sum(range(60, 120))
    assert "total" in succeed("ask", sql, "--at", "2026-01-01T00:01", "--format", "csv", "--state", state)
    assert "from node (g, k)" in succeed("ask", sql, "--explain", "--state", state)
    refuse("ask", "SELECT max(v) FROM s", "--state", state, code="not-held")
