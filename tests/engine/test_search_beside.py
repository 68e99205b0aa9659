"""Searches beside the ticks of a running engine: taken between ticks, gone on with, and what bad plans leave goes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

import weft
import weft.testing
from tests.engine.test_optimizer import DEAR, PAIRS, RARE
from tests.plan.test_search import Ticking
from tests.simulation.level0 import PlainBatch, Row
from weft.optimize import optimizer as optimizing
from weft.optimize import search_process
from weft.optimize import searched as searching
from weft.plan.placement import Placement
from weft.plan.search import Budget

SCHEMA = "ts timestamp, a int, b int, c int, d int, v int"
SECOND = 1_000_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        with engine.catalog.write() as catalog:
            catalog.put_costs(DEAR)
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema=SCHEMA)
        yield engine


def tick(engine: weft.Engine, number: int, rows: int = 200) -> None:
    """A tick of twenty seconds; nobody waits for a search."""
    random = Random(number)
    made: list[Row] = [{"ts": number * 20 * SECOND + place * 20 * SECOND // rows, "v": random.randint(0, 9),
                        **{name: random.randrange(kinds) for name, kinds in (("a", 2), ("b", 3), ("c", 2), ("d", 3))}}
                       for place in range(rows)]
    weft.testing.run(engine, "s", PlainBatch(weft.testing.mark(number), made))


def refused() -> None:
    raise OSError("no process can be started")


def test_a_search_ends_while_ticks_run_and_the_next_tick_takes_it(engine: weft.Engine) -> None:
    engine.register_all(PAIRS)
    ticks = 0
    while engine.planner("s").optimizer.last is None:
        assert ticks < 500, "many ticks in a row, and no search came to its end"
        tick(engine, ticks)
        ticks += 1
    assert len(engine.network("s").base) < len(PAIRS), "the network of this very tick is the better one"


def test_a_search_whose_process_was_ended_is_begun_again_a_few_times(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ends the process of searches, a machine short of memory say, does not end planning for good."""
    asked = []

    def ended(*_: object) -> None:
        asked.append(len(asked))
        raise ConnectionResetError("the process of searches ended")

    engine.register_all(PAIRS)
    with monkeypatch.context() as patched:
        patched.setattr(search_process.SearchProcess, "_ask", ended)
        for number in range(2):
            tick(engine, number)
            weft.testing.settle(engine, "s")
        assert len(asked) == 1, "nothing is searched before the first tick is over"
    for number in range(2, 5):
        tick(engine, number)
        weft.testing.settle(engine, "s")
    assert engine.planner("s").optimizer.last is not None and len(engine.network("s").base) < len(PAIRS)


def test_a_search_that_ends_its_process_each_time_is_given_up(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ended(*_: object) -> None:
        asked.append(len(asked))
        raise ConnectionResetError("the process of searches ended")

    monkeypatch.setattr(search_process.SearchProcess, "_ask", ended)
    engine.register_all(PAIRS)
    for number in range(8):
        tick(engine, number)
        weft.testing.settle(engine, "s")
    assert len(asked) == optimizing.MOST_LOST


def test_a_search_that_finds_nothing_more_ends_soon(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_process, "_started", refused)
    monkeypatch.setattr(searching, "process", search_process.SearchProcess())
    monkeypatch.setattr(search_process, "Budget", lambda clock, seconds: Budget(Ticking(), 0))
    random = Random("idle")
    engine.register_all({f"q{place}": RARE.replace("c = 1", f"c = {place} AND a < {random.randint(1, 9)}") for place in range(5)})
    optimizer, turns = engine.planner("s").optimizer, 0
    for number in range(12):
        tick(engine, number)
        weft.testing.settle(engine, "s")
        turns = 0 if optimizer.last is None else optimizer.last.turns
    assert optimizer.last is not None and not optimizer.last.result.finished, "no turn had any time"
    assert turns == 1 + searching.MOST_IDLE < searching.MOST_TURNS


def test_a_search_that_had_too_little_time_is_gone_on_with_a_few_times(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_process, "_started", refused)
    monkeypatch.setattr(searching, "process", search_process.SearchProcess())
    monkeypatch.setattr(search_process, "Budget", lambda clock, seconds: Budget(Ticking(), 3))
    monkeypatch.setattr(searching, "MOST_TURNS", 4)
    monkeypatch.setattr(searching, "MOST_IDLE", 99)
    random = Random("turns")
    engine.register_all({f"q{place}": RARE.replace("c = 1", f"c = {place} AND a < {random.randint(1, 9)}") for place in range(5)})
    optimizer, seen = engine.planner("s").optimizer, []
    for number in range(12):
        tick(engine, number)
        weft.testing.settle(engine, "s")
        if optimizer.last is not None:
            seen.append((optimizer.last.turns, optimizer.last.result.tried, optimizer.generation))
    # Groups that were only guessed are a reason to begin anew.
    begun = max(place for place, (turns, _, _) in enumerate(seen) if turns == 1)
    turns, tried, generations = zip(*seen[begun:], strict=True)
    assert len(turns) > 5 and turns == (1, 2, 3, *(4,) * (len(turns) - 3))
    assert tried == tuple(sorted(tried)) and tried[0] < tried[3], "each went on where the last was"
    assert len(set(generations)) <= 2, "and what stays as it is is not planned again"


@pytest.mark.parametrize("most", [3_000, 0])
def test_before_the_first_tick_a_quick_look_places_queries(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Nothing is stored for a plan that no look has seen, of too many queries a glance: what the predicate alone reads
    is never a dimension."""
    monkeypatch.setattr(optimizing, "MOST_LOOKED_AT", most)
    monkeypatch.setattr(optimizing.Optimizer, "_search_beside", lambda *_: None)
    engine.register(RARE, name="rare")
    tick(engine, 0)
    placed = engine.registry.query("rare")
    assert placed.placement.matches and not placed.pasts, "nothing was stored, so nothing was left"
    (node,) = engine.network("s").stored.values()
    assert node.matches and len(node.dimensions) == 2
    tick(engine, 1)
    assert sum(engine.query("rare").results()["n"].to_pylist()) > 0


def test_what_a_bad_plan_stored_goes_when_no_window_reads_it(
    engine: weft.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.store.tend.LEASE", timedelta(0))
    weft.testing.stay(engine, "s")
    engine.register(RARE, name="rare", keep="60 seconds")
    for number in range(3):
        tick(engine, number)
    (bad,) = engine.state_of("s").synopses
    files = {file.path for file in engine.state_of("s").synopses[bad].files}
    assert files
    weft.testing.move(engine, "s", {"rare": Placement(truths=True)})
    held = []
    for number in range(3, 12):
        tick(engine, number)
        state = engine.state_of("s")
        held.append(bad in state.synopses and bool(state.synopses[bad].files))
        results = engine.query("rare").results()
        assert len(set(results["window_end"].to_pylist())) >= min(6, 2 * number - 1), "no window is missed"
    # The last window of the old node ends with the third tick, and is kept for sixty seconds more.
    assert held == [True] * 3 + [False] * 6
    state, moved = engine.state_of("s"), engine.registry.query("rare")
    assert bad not in state.synopses and bad not in engine.network("s").with_files and not moved.pasts
    left = {path.name for path in (tmp_path / "state").rglob("*") if path.is_file()}
    assert left and not any(Path(file).name in left for file in files), "and no file is left on the disk"
