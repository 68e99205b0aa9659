"""Eager queries of one shape are finished together, whatever their predicates are made of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import weft.testing
from tests.simulation.world import SECOND, Tick, World
from weft.plan.finish import MIN_FAMILY

ROWS = Tick(tuple(tuple({"ts": SECOND, "k": f"k{v % 16}", "g": 1, "v": v}.items()) for v in range(60)))
# The end of the only window that holds a row of ROWS.
END = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
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
    finished, read = window_of(world, {key: key for key in keys})
    assert read == {"result"}, "every window was looked up where it was finished"
    lazy, read = window_of(world, {key: f"lazy {key}" for key in keys})
    assert read and "result" not in read, "these were merged from partial rows"
    assert finished == lazy and sum(map(len, lazy.values())) > 4
    for key in keys:
        assert world.engine.query(key).results().equals(world.engine.query(f"lazy {key}").results())


def window_of(world: World, names: dict[str, str]) -> tuple[dict[str, list[Any]], set[str]]:
    """The rows of the window of ROWS by key, and of which kinds the files were that they were read from."""
    with weft.testing.kinds_read(world.engine) as kinds:
        rows = {key: world.engine.query(name).result(end=END).to_pylist() for key, name in names.items()}
    return rows, set(kinds)
