"""Reads that meet something else: a tick that commits meanwhile, files that were made when others were registered, and
arguments that are none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import weft
from tests.simulation.meanwhile import tick
from tests.simulation.world import Query, Window, World
from weft.read.reader import Reader
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.store import tend

READS: dict[str, Callable[[weft.ContinuousQuery], object]] = {
    "one window": lambda query: query.result(end="1970-01-01T00:00:04")["n"].to_pylist(),
    "newest": lambda query: query.result()["n"].to_pylist(),
    "all windows": lambda query: query.results()["n"].to_pylist(),
    "complete from": lambda query: query.complete_from,
}


@pytest.mark.parametrize(
    ("groups", "read"),
    [(" GROUP BY window(ts, '4 seconds')", read) for read in READS]
    + [(groups, read) for groups in (" GROUP BY k", "") for read in ("newest", "complete from")],
)
def test_a_query_is_read_while_its_first_tick_commits(world: World, groups: str, read: str) -> None:
    """The state is from before, what is registered from after it: the answer is that of before."""
    engine = world.engine
    engine.register("SELECT k, g, count(*) AS c FROM s GROUP BY window(ts, '2 seconds'), k, g", name="fine")
    engine.register("SELECT k, g, count(*) AS c FROM s GROUP BY k, g", name="finer")
    for second in (1, 3, 5, 7):
        world.run([tick(second, "a")])
    query = engine.register(f"SELECT count(*) AS n FROM s{groups}", name="new")
    before = READS[read](query)
    known = Registry.query

    def slowly(registry: Registry, name: str) -> Registered:
        with patch.object(Registry, "query", known):
            world._do(tick(9, "a"))
        return known(registry, name)

    # As a process reads that runs the stream itself: the state is the one that it knows, what is registered is newer.
    committed = engine.state_reader.committed("s")
    with patch.object(committed, "is_run_here", lambda: True), patch.object(Registry, "query", slowly):
        assert READS[read](query) == before
    assert query.status == "running"


def of_key(key: str) -> str:
    return f"SELECT count(*) AS n FROM s WHERE k = '{key}' GROUP BY window(ts, '2 seconds')"


@pytest.mark.parametrize("early", [False, True])
def test_a_window_that_was_finished_for_others_only_is_merged_when_asked_for(world: World, early: bool) -> None:
    """Sixteen queries of one shape are finished together, fifteen as views on the whole node, as is one more."""
    engine = world.engine
    engine.register_all({f"q{number}": of_key(f"k{number}") for number in range(16)}, eager=True)
    whole = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '4 seconds', '1 second'), k"
    engine.register(whole, name="whole", eager=True)
    with patch.object(tend, "RESULT_FAN_OUT", 2 if early else 16):
        for second in range(1, 8):
            world.run([tick(second, "k3")])
        engine.query("q7").drop()
        for second in range(8, 15):
            world.run([tick(second, "k3")])
    for _ in range(2):
        query = world.engine.query("q3")
        found = [query.result(end=f"1970-01-01T00:00:{end:02}")["n"].to_pylist() for end in range(2, 14, 2)]
        assert found == [[1], *([2] for _ in range(5))]
        world.forget()


def test_a_window_in_which_nothing_happened_is_looked_up_too(world: World) -> None:
    engine = world.engine
    engine.register_all({f"q{number}": of_key(f"k{number}") for number in range(16)}, eager=True)
    world.run([tick(1, "k3"), tick(3, "k3"), tick(5, "k3")])
    with patch.object(Reader, "windows", side_effect=AssertionError("it is merged anew")):
        assert engine.query("q3").result(end="1970-01-01T00:00:04")["n"].to_pylist() == [1]
        assert engine.query("q4").result(end="1970-01-01T00:00:04")["n"].to_pylist() == []


@pytest.mark.parametrize("odd", ["yesterday", "2026-13-01", "", 5, 1.5, True, time(12), b"2026-01-05", []])
def test_what_is_no_moment_is_refused(world: World, odd: Any) -> None:
    world.run([Query("q", (), ("n",), Window(2, 2), "forever", eager=False), tick(1, "a"), tick(5, "a")])
    query = world.engine.query("q")
    for read in (lambda: query.result(end=odd), lambda: query.results(since=odd), lambda: query.results(until=odd)):
        with pytest.raises(weft.EngineError) as refusal:
            read()
        assert refusal.value.code == "bad-moment" and refusal.value.hint


def test_changes_are_since_a_tick(world: World) -> None:
    world.run([Query("q", ("k",), ("n",), None, "forever", eager=False), tick(1, "a"), tick(2, "b")])
    query = world.engine.query("q")
    frame = query.changes().to_pandas()
    for since, keys in [(0, ["b"]), (frame["tick"].min(), ["b"]), (frame["tick"].max(), []), (np.uint8(0), ["b"])]:
        assert query.changes(since=since)["k"].to_pylist() == keys
    # Before the first tick, and after the last there can be.
    assert query.changes(since=-(2**70)).num_rows == 2 and query.changes(since=2**70).num_rows == 0


@pytest.mark.parametrize("odd", ["yesterday", 0.0, True, np.bool_(False), None, datetime(2026, 1, 5, tzinfo=UTC)])
def test_what_is_no_tick_is_refused(world: World, odd: Any) -> None:
    world.run([Query("q", ("k",), ("n",), None, "forever", eager=False), tick(1, "a")])
    with pytest.raises(weft.EngineError) as refusal:
        world.engine.query("q").changes(since=odd)
    assert refusal.value.code == "bad-tick" and refusal.value.hint
