"""A tick without one of its stages: what that stage is for does not happen, and what follows from it neither."""

from __future__ import annotations

from datetime import timedelta
from typing import get_type_hints

import pytest

import weft
import weft.testing
from tests.simulation.level0 import PlainBatch
from tests.simulation.meanwhile import counts, tick
from tests.simulation.world import World
from weft.optimize.learn import facts_of
from weft.store.tend import LEASE
from weft.tick.stages import Arrival

SQL = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k"


def kinds(world: World) -> list[str]:
    """The kinds of all files of the stream."""
    state = world.engine.state_of("s")
    return sorted(file.kind for synopsis in state.synopses.values() for file in synopsis.files)


def run_without(world: World, *stages: str, seconds: tuple[int, ...] = (0, 2, 4)) -> None:
    with weft.testing.without(world.engine, "s", *stages):
        for second in seconds:
            mark = weft.testing.next_mark(world.engine, "s", "simulated")
            weft.testing.run(world.engine, "s", PlainBatch(mark, tick(second, "a").dicts()))


def test_all_stages_together(world: World) -> None:
    query = world.engine.register(SQL, name="q", eager=True)
    run_without(world)
    assert counts(query) == [1, 1] and "result" in kinds(world)


@pytest.mark.parametrize("stage", ["open", "plan", "compute", "commit"])
def test_nothing_is_readable_without_what_leads_to_the_commit(world: World, stage: str) -> None:
    query = world.engine.register(SQL, name="q")
    run_without(world, stage)
    assert counts(query) == [] and world.engine.state_of("s").batch_id == -1
    assert query.status == "registered" and world.engine.metrics()["streams"]["s"]["last_tick"] == {}
    run_without(world)
    assert counts(query) == [1, 1]


def test_no_facts_without_learning(world: World) -> None:
    query = world.engine.register(SQL, name="q")
    run_without(world, "learn")
    assert facts_of(world.engine.state_of("s")).ticks == 0
    assert world.engine.metrics()["streams"]["s"]["last_tick"]["predicted_seconds"] is None
    assert counts(query) == [1, 1]
    run_without(world, seconds=(6,))
    assert facts_of(world.engine.state_of("s")).ticks == 1


def test_windows_are_merged_when_asked_for_without_finishing(world: World) -> None:
    query = world.engine.register(SQL, name="q", eager=True)
    run_without(world, "finish")
    assert "result" not in kinds(world)
    assert counts(query) == [1, 1]


def test_files_grow_without_tending(world: World) -> None:
    query = world.engine.register(SQL, name="q", keep="2 seconds")
    seconds = tuple(range(0, 40, 2))
    run_without(world, "tend", seconds=seconds)
    assert kinds(world) == ["tick"] * len(seconds)
    assert counts(query)
    run_without(world, seconds=(40,))
    assert len(kinds(world)) < len(seconds) / 2


def test_garbage_stays_without_sweeping(world: World) -> None:
    world.engine.register(SQL, name="q", keep="2 seconds")
    run_without(world, seconds=tuple(range(0, 40, 2)))
    world.now += 2 * LEASE + timedelta(seconds=1)
    run_without(world, "sweep", seconds=(40,))
    assert world.files_on_disk() > world.files_in_catalog()
    world.now += 2 * LEASE
    run_without(world, "tend", seconds=(42,))
    assert world.files_on_disk() == world.files_in_catalog()


def test_nobody_hears_of_a_tick_without_telling(world: World) -> None:
    query = world.engine.register(SQL, name="q")
    heard: list[object] = []
    end = world.engine.listen(heard.append)
    run_without(world, "tell")
    end()
    assert heard == [] and world.engine.metrics()["streams"]["s"]["last_tick"] == {}
    assert counts(query) == [1, 1]


def test_every_stage_takes_and_makes_what_it_says(world: World) -> None:
    """What is declared is what its function is written for; and whatever is taken was made by a stage before."""
    made: set[type[object]] = {Arrival}
    for stage in weft.testing.ticker(world.engine, "s").stages:
        hints = get_type_hints(stage.run)
        given, taken = hints.pop("return"), list(hints.values())
        assert taken == [*stage.reads, *(kind | None for kind in stage.beside)], stage.name
        assert given in (stage.makes, stage.makes | None), stage.name
        assert made.issuperset((*stage.reads, *stage.beside)), stage.name
        made.add(stage.makes)
