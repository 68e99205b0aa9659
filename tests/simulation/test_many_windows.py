"""Very many windows in one call: read in few passes, or refused at once with a way to read them in parts."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import weft
import weft.cli.results
import weft.read.answers
import weft.testing
from tests.simulation.meanwhile import tick
from tests.simulation.world import World
from weft.backend.duck import Duck
from weft.cli.results import following

# Refusing takes milliseconds; the rest is for a machine that does other things.
PATIENCE = 2
MILLION = "SELECT count(*) AS n FROM s GROUP BY window(ts, '1000000 seconds', '1 second')"
SHORT = "SELECT k, count(*) AS n, max(v) AS most FROM s GROUP BY window(ts, '6 seconds', '2 seconds'), k"


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that DuckDB is asked from now on."""
    asked: list[str] = []
    run = Duck.run

    def counted(self: Duck, sql: str, *others: Any) -> pa.Table:
        asked.append(sql)
        return run(self, sql, *others)

    monkeypatch.setattr(Duck, "run", counted)
    return asked


def test_windows_from_before_a_move_are_read_in_one_pass(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that the optimizer moved is not slower to read for it."""
    query = world.engine.register(SHORT, name="q", keep="forever")
    weft.testing.stay(world.engine, "s")
    for number in range(1, 60):
        if number in (20, 40):
            weft.testing.move(world.engine, "s", {"q": "ab"[number == 40]})
        # Every fifth tick brings a row that is late for some of its windows and not for others.
        world.run([tick(number * 3, *"ab"), *([tick(number * 3 - 4, "b")] if number % 5 == 0 else [])])
    asked = count_runs(monkeypatch)
    found = query.results()
    assert len(asked) <= 2
    one_by_one = [query.result(end=end) for end in sorted(set(found["window_end"].to_pylist()))]
    assert len(one_by_one) > 80 and found.equals(pa.concat_tables(one_by_one))


def test_a_million_windows_are_refused_at_once(world: World) -> None:
    query = world.engine.register(MILLION, name="q", keep="forever")
    world.run([tick(1, "a"), tick(262_294, "a")])
    start = time.monotonic()
    with pytest.raises(weft.EngineError, match="262,293 windows.*at most 2,000") as refused:
        query.results()
    assert time.monotonic() - start < PATIENCE
    assert refused.value.code == "too-many-windows"
    assert refused.value.hint is not None and "1970-01-01T00:33:21" in refused.value.hint


def test_what_is_refused_can_be_read_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query = world.engine.register(MILLION, name="q", keep="forever")
    world.run([tick(1, "a"), tick(40, "a", "b")])
    whole = query.results()
    monkeypatch.setattr(weft.read.answers, "MAX_MERGED", 10)
    with pytest.raises(weft.EngineError, match="39 windows") as refused:
        query.results()
    upto = str(refused.value.hint).split("'")[1]
    assert len(query.results(until=upto)) == 10
    with pytest.raises(weft.EngineError, match="29 windows"):
        query.results(since=upto)
    parts = list(query.results_in_parts())
    assert [len(part) for part in parts] == [10, 10, 10, 9] and pa.concat_tables(parts).equals(whole)
    assert sum(map(len, query.results_in_parts(since=upto))) == 29
    assert list(query.results_in_parts(since="2030-01-01")) == []


def test_who_follows_is_shown_all_windows_that_one_tick_closes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query = world.engine.register(MILLION, name="q", keep="forever")
    world.run([tick(1, "a"), tick(40, "a")])
    whole = query.results()
    monkeypatch.setattr(weft.read.answers, "MAX_MERGED", 10)
    first, last = (whole["window_end"][place].as_py() for place in (0, -1))
    shown = list(following(world.engine, "q", first, last, every=0.05))
    assert len(shown) == 4 and pa.concat_tables(shown).equals(whole.slice(1))


def test_who_follows_until_a_moment_is_shown_no_window_after_it(world: World) -> None:
    query = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 second')", name="q")
    world.run([tick(second, "a") for second in range(9)])
    ends = query.results()["window_end"].to_pylist()
    for until in (ends[2], ends[2] + timedelta(milliseconds=300)):
        (shown,) = following(world.engine, "q", None, until, every=0.05)
        assert shown["window_end"].to_pylist() == [ends[2]]


def test_who_follows_before_anything_arrived_is_shown_every_window(world: World) -> None:
    query = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 second')", name="q")
    shown = following(world.engine, "q", None, datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), every=0.05)
    looks = iter([lambda: None, lambda: world.run([tick(1, "a"), tick(2, "a"), tick(5, "a")])])
    with patch.object(weft.cli.results, "reader_leaves", lambda _: next(looks)() is not None):
        assert pa.concat_tables(shown).equals(query.results())
    assert query.results()["n"].to_pylist() == [1, 1]


def test_a_week_of_seconds_is_read_in_one_call(world: World) -> None:
    query = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 second')", name="q")
    world.run([tick(1, "a"), tick(604_800, "a")])
    assert query.results()["n"].to_pylist() == [1]
