"""Versions of the plan in the catalog: what is computed from what, since which batch, and under which version files came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.simulation.world import SECOND, Tick, World, at
from weft.segments.segment import SegmentRow
from weft.store.records import PlanRow

PAIRS = "SELECT k, g, sum(v) AS total FROM s GROUP BY window(ts, '4 seconds'), k, g"
KEYS = "SELECT k, sum(v) AS total FROM s GROUP BY window(ts, '4 seconds'), k"
GROUPS = "SELECT g, max(v) AS most FROM s GROUP BY window(ts, '2 seconds'), g"


@pytest.fixture
def world(place: Path) -> Iterator[World]:
    made = World(place, Random(1), delay=0)
    yield made
    made.forget()


def tick(second: int) -> Tick:
    row = {"ts": second * SECOND, "k": "a", "g": 1, "v": second}
    return Tick((tuple(row.items()),))


def stored(world: World) -> tuple[list[PlanRow], list[SegmentRow]]:
    with world.engine.catalog.read() as reader:
        return list(reader.plans("s")), list(reader.segments())


def topology(plan: PlanRow) -> dict[tuple[str, ...], tuple[str, ...] | None]:
    """The group expressions of each node, and those of the node that it is computed from."""
    nodes: dict[str, Any] = {node["id"]: node for node in plan.definition["nodes"]}
    return {
        tuple(sorted(node["expressions"])): node["parent"] and tuple(sorted(nodes[node["parent"]]["expressions"]))
        for node in nodes.values()
    }


def test_a_plan_says_what_is_computed_from_what(world: World) -> None:
    world.engine.register_all({"pairs": PAIRS, "keys": KEYS})
    world.run([tick(0), tick(2)])
    (plan,), segments = stored(world)
    assert topology(plan) == {("g", "k"): None, ("k",): ("g", "k")}
    assert (plan.version, plan.from_batch) == (1, 0) and {one.plan for one in segments} == {1}
    node = plan.definition["nodes"][0]
    assert "sum(v)" in node["statistics"] and node["windows"] == ["range 4 seconds"] and node["stored"]


def test_a_version_takes_effect_with_a_batch_and_outlives_the_process(world: World) -> None:
    engine = world.engine
    engine.register_all({"pairs": PAIRS, "keys": KEYS})
    world.run([tick(0)])
    with at("spark-after", lambda: engine.register(GROUPS, name="groups") and None):
        world._do(tick(1))
    assert [one.version for one in stored(world)[0]] == [1], "it came while the tick was computed"
    world.forget()
    world.run([tick(2), tick(3)])
    plans, segments = stored(world)
    assert [(one.version, one.from_batch) for one in plans] == [(1, 0), (2, 2)]
    assert ("g",) in topology(plans[1]) and ("g",) not in topology(plans[0])
    assert {one.plan for one in segments if one.kind == "tick" and one.batch_from >= 2} == {2}


def test_a_query_that_adds_no_node_makes_no_version(world: World) -> None:
    world.engine.register(KEYS, name="keys")
    world.run([tick(0)])
    world.engine.register(KEYS.replace("GROUP", "WHERE k = 'a' GROUP"), name="view")
    world.run([tick(1)])
    assert [one.version for one in stored(world)[0]] == [1]


def test_versions_go_with_the_last_file_that_was_written_under_them(world: World) -> None:
    world.engine.register_all({"pairs": PAIRS}, keep="1 second")
    world.run([tick(0), tick(1)])
    world.engine.query("pairs").drop()
    world.engine.register(GROUPS, name="groups", keep="1 second")
    for second in range(2, 40):
        world.run([tick(second)])
    world.engine.register(KEYS, name="keys")
    world.run([tick(40)])
    plans, segments = stored(world)
    assert {one.plan for one in segments} <= {one.version for one in plans}
    assert plans[0].version > 1 and plans[-1].from_batch == 40
