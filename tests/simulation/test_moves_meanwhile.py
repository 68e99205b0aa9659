"""Queries that are moved when nobody expects it: twice between two ticks, or by another process while one is computed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

import weft
import weft.testing
from tests.few import few_combinations
from tests.simulation.meanwhile import counts, tick
from tests.simulation.world import World, at
from weft.plan.placement import Moved, Placement

EIGHT = "SELECT count(*) AS n FROM s GROUP BY window(ts, '8 seconds', '2 seconds')"


def move(engine: weft.Engine, *trees: str) -> None:
    for tree in trees:
        weft.testing.move(engine, "s", {"q": tree})


def pasts(engine: weft.Engine) -> tuple[Moved, ...]:
    return engine.registered("q").row.definition.pasts


@pytest.fixture
def moving(world: World) -> World:
    """A world with a query that has seen five ticks, two seconds apart."""
    world.engine.register(EIGHT, name="q", keep="forever")
    go_on(world, 1, 6)
    return world


def go_on(world: World, first: int, last: int) -> None:
    for number in range(first, last):
        world.run([tick(2 * number, "a")])


def assert_nothing_lost(world: World, ticks: int) -> None:
    """Also after everything was forgotten: a window of eight seconds holds four ticks, the first ones fewer."""
    want = [min(number, 4) for number in range(1, ticks)]
    assert counts(world.engine.query("q")) == want
    world.forget()
    assert counts(world.engine.query("q")) == want


@pytest.mark.parametrize("trees", ["b", "bc", "bcd", "bcb"])
def test_a_query_that_moves_on_before_any_tick_loses_nothing(moving: World, trees: str) -> None:
    move(moving.engine, *trees)
    go_on(moving, 6, 12)
    assert [past.until for past in pasts(moving.engine)] == [5]
    assert_nothing_lost(moving, 11)


def test_a_query_that_moves_back_before_any_tick_never_moved(moving: World) -> None:
    move(moving.engine, "b", "c", "")
    assert not pasts(moving.engine)
    go_on(moving, 6, 12)
    assert_nothing_lost(moving, 11)


def test_steps_that_end_with_one_batch_are_told_apart(moving: World) -> None:
    """As a catalog may hold them that was written before the second was left out."""
    move(moving.engine, "b", "c")
    definition = moving.engine.registry.query("q").row.definition
    twice = (*definition.pasts, replace(definition.pasts[0], placement=Placement("b")))
    with moving.engine.catalog.write() as catalog:
        catalog.update_queries({"q": {"definition": replace(definition, pasts=twice)}})
    go_on(moving, 6, 12)
    assert_nothing_lost(moving, 11)


TREES = (["b"], ["b", "c"], ["b", ""], ["b", "a"], ["b", "a", "b"])


@pytest.mark.parametrize(("trees", "before"), few_combinations(TREES, ("", "a"), every=3))
def test_a_query_that_another_process_moves_again_and_again_while_a_tick_is_computed(
    moving: World, before: str, trees: list[str]
) -> None:
    """Whether it had just moved itself or not."""
    if before:
        move(moving.engine, before)
    with closing(weft.Engine(moving.folder / "state")) as other:
        with at("spark-after", lambda: move(other, *trees)):
            moving._do(tick(12, "a"))
        go_on(moving, 7, 12)
        assert counts(other.query("q")) == [min(number, 4) for number in range(1, 11)]
    assert_nothing_lost(moving, 11)


@pytest.mark.parametrize("new", [False, True])
def test_a_move_is_made_good_here_too_when_a_query_takes_effect_with_that_tick(moving: World, new: bool) -> None:
    engine = moving.engine
    move(engine, "a")
    go_on(moving, 6, 8)
    if new:
        engine.register("SELECT count(*) AS n FROM s", name="new")
    with closing(weft.Engine(moving.folder / "state")) as other:

        def meanwhile() -> None:
            move(other, "")
            # What any thread of this process may do: it then knows of the move, and of nothing after it.
            engine.queries()

        with at("spark-after", meanwhile):
            moving._do(tick(16, "a"))
        go_on(moving, 9, 16)
        assert counts(other.query("q")) == [min(number, 4) for number in range(1, 15)]
        assert pasts(other) == pasts(engine)
    assert_nothing_lost(moving, 15)
