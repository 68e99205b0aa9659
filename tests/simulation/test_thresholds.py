"""Totals above thresholds that come and go: right whatever cells their rows are in, and no more files for it."""

from __future__ import annotations

from random import Random

import pytest

import weft.testing
from tests.simulation.level0 import Row
from tests.simulation.world import SECOND, Tick, World
from weft.plan.placement import Placement

TICKS = 32


def above(threshold: int) -> str:
    return f"SELECT count(*) AS n, min(v) AS least FROM s WHERE v > {threshold}"


def random_tick(random: Random, second: int) -> Tick:
    rows = [{"ts": second * SECOND, "k": "a", "g": 1, "v": random.randint(-20, 60)} for _ in range(10)]
    return Tick(tuple(tuple(row.items()) for row in rows))


def assert_right(world: World, thresholds: dict[str, int]) -> None:
    """Every query against the rows of the ticks that it counts."""
    for name, threshold in thresholds.items():
        first = world.engine.registry.query(name).row.complete_from
        assert first is not None
        rows: list[Row] = [row for number, _, each in world.arrived if number >= first for row in each]
        counted = [row["v"] for row in rows if row["v"] > threshold]
        (found,) = world.engine.query(name).result().to_pylist()
        assert found == {"n": len(counted), "least": min(counted, default=None)}, name


def files(world: World) -> list[int]:
    return [len(synopsis.data) for synopsis in world.engine.state_of("s").synopses.values()]


def test_files_do_not_grow_with_thresholds_that_came_and_went(world: World) -> None:
    random = Random(1)
    stay = {"low": 0, "high": 30}
    for name, threshold in stay.items():
        world.engine.register(above(threshold), name=name, keep="forever")
    for number in range(TICKS):
        passing = {f"t{number}": random.randint(-10, 50)}
        # One in the middle stays too: what it cannot read is told from what it can, for as long as it is there.
        if number == TICKS // 2:
            stay["later"] = 17
        for name, threshold in {**passing, **stay}.items():
            if name not in [one.name for one in world.engine.queries()]:
                world.engine.register(above(threshold), name=name, keep="forever")
        world.run([random_tick(random, number)])
        if number % 4 == 3:
            assert_right(world, {**stay, **passing})
        world.engine.query(f"t{number}").drop()
    assert world.engine.registry.query("later").row.complete_from == TICKS // 2
    assert max(files(world)) < 14
    world.forget()
    assert_right(world, stay)
    world.engine.query("later").drop()
    for number in range(TICKS, TICKS + 12):
        world.run([random_tick(random, number)])
    assert_right(world, {"low": 0, "high": 30})
    assert max(files(world)) < 12


@pytest.mark.parametrize("back", [False, True])
def test_cuts_that_a_query_read_before_it_moved_are_kept(
    world: World, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for the truth of its predicate now, and for cells of before: nobody else has its cut."""
    random = Random(2)
    thresholds = {"stays": 0, "moves": 25}
    for name, threshold in thresholds.items():
        world.engine.register(above(threshold), name=name, keep="forever")
    # Nobody but the test moves queries.
    weft.testing.stay(world.engine, "s")
    for number in range(TICKS):
        if number in (6, 18) if back else number == 6:
            weft.testing.move(world.engine, "s", {"moves": Placement(truths=number == 6)})
        # As long as it is there, files of before and after its first tick are two kinds: they merge after the move.
        if number == 3:
            world.engine.register(above(-15), name="between")
        elif number == 8:
            world.engine.query("between").drop()
        world.engine.register(above(number), name=f"t{number}")
        world.run([random_tick(random, number)])
        if number % 4 == 3:
            assert_right(world, thresholds)
        world.engine.query(f"t{number}").drop()
    assert len(world.engine.registry.query("moves").pasts) == 1 + back
    assert max(files(world)) < 16
