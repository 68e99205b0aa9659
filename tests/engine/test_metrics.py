"""What can be watched: metrics from any process, for streams and queries, and logs that programs can read."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import weft
import weft.testing
from tests.simulation.level0 import PlainBatch, Row
from weft.plan.needs import Needs
from weft.read.reader import predicate_sql
from weft.store.state import StreamState, load_state
from weft.store.tend import tend
from weft.watch.logs import JsonLines, log_to

SECOND = 1_000_000
DDL = "ts timestamp, k string, g int, v int"


def rows(*seconds: float) -> list[Row]:
    return [{"ts": round(second * SECOND), "k": "ab"[place % 2], "g": 1, "v": place} for place, second in
            enumerate(seconds)]


def tick(engine: weft.Engine, *seconds: float) -> None:
    weft.testing.run(engine, "s", PlainBatch(weft.testing.next_mark(engine, "s"), rows(*seconds)))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        yield engine


def test_a_query_says_what_it_holds(engine: weft.Engine) -> None:
    query = engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name="q")
    empty = {"rows": 0, "windows": 0, "last_result": None, "late_rows": 0, "status": "registered", "error": None}
    assert {name: query.metrics()[name] for name in empty} == empty
    tick(engine, 1, 2, 3, 12)
    tick(engine, 25, 4)
    said = query.metrics()
    assert (said["status"], said["rows"], said["late_rows"]) == ("running", 5, 1)
    assert (said["windows"], said["last_result"]) == (2, datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC))
    assert query.results()["window_end"].to_pylist()[-1] == said["last_result"]


def test_a_total_counts_its_rows(engine: weft.Engine) -> None:
    query = engine.register("SELECT count(*) AS n FROM s", name="q")
    tick(engine, 1, 2, 3)
    tick(engine, 4)
    assert query.metrics()["rows"] == 4
    assert (query.metrics()["windows"], query.metrics()["last_result"]) == (0, None)


def test_another_process_sees_how_the_last_tick_went(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name="q", eager=True)
    tick(engine, 1, 2, 3, 25)
    mine = engine.metrics()["streams"]["s"]
    with weft.Engine(tmp_path / "state") as other:
        theirs = other.metrics()["streams"]["s"]
    assert theirs["last_tick"]["seconds"] == mine["last_tick"]["seconds"]
    assert {"plan", "spark", "merge", "commit", "finish", "tend"} <= set(theirs["last_tick"]["seconds"])
    assert theirs["last_tick"]["rows"] == 4
    datetime.fromisoformat(theirs["last_tick"]["committed_at"])
    assert theirs["lag_seconds"] == pytest.approx(datetime.now(UTC).timestamp() - 25, abs=60)


def test_a_tick_is_told_when_it_is_over_and_whole(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the commit of a tick and its end, the tick before it is the last one."""
    engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name="q")
    seen: list[tuple[int, dict[str, Any]]] = []

    def look(*arguments: Any) -> tuple[StreamState, int]:
        said = engine.metrics()["streams"]["s"]
        seen.append((said["batch_id"], said["last_tick"]))
        return tend(*arguments)

    monkeypatch.setattr("weft.tick.ticker.tend", look)
    tick(engine, 1, 2)
    tick(engine, 3)
    after = engine.metrics()["streams"]["s"]["last_tick"]
    assert seen[0] == (0, {})
    batch_id, during = seen[1]
    assert batch_id == 1 and during["batch_id"] == 0 and during["rows"] == 2
    assert during.keys() >= after.keys() and after["batch_id"] == 1


def test_a_tick_that_died_after_its_commit_leaves_the_one_before(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register("SELECT count(*) AS n FROM s", name="q")
    tick(engine, 1)
    with weft.Engine(tmp_path / "state") as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.tick.ticker.tend", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tick(other, 2)
    with weft.Engine(tmp_path / "state") as third:
        said = third.metrics()["streams"]["s"]
    assert (said["batch_id"], said["last_tick"]["batch_id"]) == (1, 0)


def test_the_stages_of_a_tick_are_all_of_its_time(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is done before it, and where somebody else holds the stream."""
    engine.register("SELECT count(*) AS n FROM s", name="q")
    ticker = weft.testing.ticker(engine, "s")
    monkeypatch.setattr("weft.store.committed.load_state", lambda *given: (time.sleep(0.2), load_state(*given))[1])
    begin = time.monotonic()
    tick(engine, 1)
    passed = time.monotonic() - begin
    assert ticker.last is not None
    seconds = ticker.last.seconds
    assert 0.2 <= seconds["open"] and seconds["other"] < 0.05
    assert sum(seconds.values()) == pytest.approx(passed, abs=0.05)


def test_state_is_counted_in_rows_bytes_and_files(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name="q")
    tick(engine, 1, 2, 12)
    said = engine.metrics()["streams"]["s"]
    files = [path for path in (tmp_path / "state" / "segments").rglob("*") if path.is_file()]
    # Two keys in the first slice, one in the second.
    assert (said["state_rows"], said["state_files"], said["nodes"]) == (3, len(files), 1)
    assert said["state_bytes"] == sum(path.stat().st_size for path in files) > 0


def test_one_call_tells_of_all_queries(engine: weft.Engine) -> None:
    names = ["a", "b"]
    for name in names:
        engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name=name)
    tick(engine, 1, 2, 12)
    said = engine.metrics(queries=True)
    assert said["by_query"] == {name: engine.query(name).metrics() for name in names} and said["queries"] == 2
    assert "by_query" not in engine.metrics()
    assert (said["streams"]["s"]["status"], said["streams"]["s"]["error"]) == ("at rest", None)


def deep(levels: int) -> str:
    """A condition over aggregates that nests one level of ratios in another."""
    found = "sum(v) / count(v) > 3"
    for level in range(levels):
        found = f"(sum(v) / sum(g) / (max(v) + {level}) > {level} {'AND' if level % 2 else 'OR'} {found})"
    return found


def rounds(levels: int) -> str:
    """The same over rows, that is in what the query's predicate leaves to be applied when it is read."""
    found = "round(d, 1) < round(d, 2)"
    for level in range(levels):
        found = f"(round(d, {level % 5}) < 1 AND coalesce(round(d, 3) < round(d, {level % 6 + 1}), {found}))"
    return found


@pytest.mark.parametrize("eager", [False, True])
def test_what_can_never_be_read_is_not_registered(tmp_path: Path, eager: bool) -> None:
    queries = {
        "select": f"SELECT k, {deep(12)} AS x FROM s GROUP BY k",
        "having": f"SELECT k, count(*) AS n FROM s GROUP BY k HAVING {deep(12)}",
        "order": f"SELECT k, count(*) AS n FROM s GROUP BY k ORDER BY {deep(12)}",
        "residue": f"SELECT d, count(*) AS n FROM s WHERE {rounds(8)} GROUP BY window(ts, '1 second'), d",
    }
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=f"{DDL}, d double", event_time="ts")
        for name, sql in queries.items():
            with pytest.raises(weft.SqlError) as refused:
                engine.register(sql, name=name, eager=eager)
            assert refused.value.code == "too-deep" and refused.value.hint
        assert engine.queries() == []
        shallow = engine.register(f"SELECT k, {deep(5)} AS x FROM s GROUP BY k", name="shallow", eager=eager)
        assert shallow.result().num_rows == 0


def test_a_query_that_cannot_be_read_keeps_nobody_from_telling(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was registered before there was a check."""
    monkeypatch.setattr("weft.registry.admission.check_readable", lambda query: None)
    engine.register("SELECT count(*) AS n FROM s", name="good")
    engine.register(f"SELECT k, {deep(12)} AS x FROM s GROUP BY k", name="deep")
    engine.register("SELECT count(*) AS n FROM s WHERE k = 'a'", name="residue")
    def fails(needs: Needs) -> str:
        if needs.residue is None:
            return predicate_sql(needs)
        raise weft.SqlError("too-deep", "a predicate is nested too deeply", hint="Nest less.")

    monkeypatch.setattr("weft.read.progress.predicate_sql", fails)
    tick(engine, 1, 2)
    said = engine.metrics(queries=True)["by_query"]
    assert said["good"]["rows"] == said["deep"]["rows"] == 2
    assert said["residue"].keys() == {"error"} and "[too-deep]" in said["residue"]["error"]


def test_logs_are_a_json_object_a_line(engine: weft.Engine, tmp_path: Path) -> None:
    handler = log_to(tmp_path / "weft.log")
    try:
        engine.register("SELECT count(*) AS n FROM s", name="q")
        tick(engine, 1, 2, 3)
    finally:
        logging.getLogger("weft").removeHandler(handler)
        handler.close()
    lines = [json.loads(line) for line in (tmp_path / "weft.log").read_text().splitlines()]
    committed = next(line for line in lines if line["message"] == "tick committed")
    assert (committed["level"], committed["logger"], committed["stream"]) == ("info", "weft.tick", "s")
    assert (committed["rows"], committed["batch_id"]) == (3, 0)
    assert datetime.fromisoformat(committed["time"]).tzinfo is not None


def test_a_log_line_survives_any_value_and_any_error() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.LogRecord("weft.x", logging.ERROR, __file__, 1, "it %s", ("broke",), (ValueError, error, None))
    record.odd = {1, 2}
    line = JsonLines().format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert said["message"] == "it broke"
    assert "two" in said["error"]
