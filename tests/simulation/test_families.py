"""Eager queries of one shape are finished together, whatever their predicates are made of."""

from __future__ import annotations

import pytest

from tests.simulation.world import SECOND, Tick, World
from weft.plan.finish import MIN_FAMILY

ROWS = Tick(tuple(tuple({"ts": SECOND, "k": f"k{v % 16}", "g": 1, "v": v}.items()) for v in range(60)))
LATER = Tick((tuple({"ts": 60 * SECOND, "k": "late", "g": 1, "v": 1}.items()),))


@pytest.mark.parametrize("condition", [
    "round(CAST(v AS DOUBLE), -1) = CAST(v AS DOUBLE)", "v IN (3, NULL, 17, 20, 33, 48)", "NOT (v BETWEEN 5 AND 40)",
    "coalesce(nullif(v, 7), 11) = v", "least(v, 30) = v", "CASE WHEN v > 20 THEN 30 ELSE v END = v",
])
def test_a_family_of_any_predicate_answers_as_its_members_do_alone(world: World, condition: str) -> None:
    def sql(key: str) -> str:
        columns = "SELECT k, v, count(*) AS n FROM s"
        return f"{columns} WHERE {condition} AND k = '{key}' GROUP BY window(ts, '2 seconds'), k, v ORDER BY v"

    keys = [f"k{number}" for number in range(MIN_FAMILY)]
    world.engine.register_all({key: sql(key) for key in keys}, eager=True)
    world.engine.register_all({f"lazy {key}": sql(key) for key in keys})
    world.run([ROWS, LATER])
    (family,) = world.engine.plan("s").families
    assert family.condition is not None and len(family.requests) == MIN_FAMILY
    found = {key: world.engine.query(key).results().to_pylist() for key in keys}
    assert found == {key: world.engine.query(f"lazy {key}").results().to_pylist() for key in keys}
    assert sum(map(len, found.values())) > 4
