"""A state whose names have 48 bits, as before format 4, is read on and run on under names of 96 bits."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import text

import weft.testing
from tests.simulation.level0 import PlainBatch
from tests.simulation.world import SECOND, Query, Window, World
from weft.algebra import expressions
from weft.spark.checkpoint import BatchMark
from weft.store import change

WINDOW = Window(10, 5)
QUERIES = [
    Query("sliding", ("k",), ("n", "total"), WINDOW, "forever", eager=False),
    Query("eager", ("g",), ("n", "least"), WINDOW, "forever", eager=True),
    Query("totals", ("g", "k"), ("n", "most"), None, "forever", eager=False),
]
SHORT, LONG = (re.compile(rf"[a-z]+_[0-9a-f]{{{digits}}}") for digits in (12, 24))


def tick(world: World, number: int) -> None:
    rows = [
        {"ts": (3 * number + place) * SECOND, "k": "ab"[place % 2], "g": place % 3, "v": number * place}
        for place in range(6)
    ]
    weft.testing.ticker(world.engine, "s").run(PlainBatch(BatchMark("simulated", number, f"offsets {number}"), rows))


def answers(world: World) -> dict[str, list[object]]:
    queries = world.engine.queries()
    windows = {query.name: query.results().to_pylist() for query in queries if query.name != "totals"}
    return {**windows, "totals": sorted(world.engine.query("totals").result().to_pylist(), key=str)}


def test_a_state_with_short_names_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    twin: dict[int, dict[str, list[object]]] = {}
    with monkeypatch.context() as before:
        before.setattr(expressions, "IDENTITY_DIGITS", 12)
        # Nor did files have parts before format 5.
        before.setattr(change, "SMALL_BYTES", -1)
        world.run(QUERIES)
        for number in range(12):
            tick(world, number)
        nodes = weft.testing.ticker(world.engine, "s").state.synopses
        assert nodes and all(SHORT.fullmatch(name) for name in nodes)
        twin[12] = answers(world)
        with world.engine.catalog._exclusive() as connection:
            connection.execute(text("UPDATE meta SET value = '3' WHERE key = 'format'"))
            connection.execute(text("DROP TABLE forms"))
        world.forget()
    since = {query.name: query.complete_from for query in world.engine.queries()}
    assert answers(world) == twin[12] and all(twin[12].values())
    for number in range(12, 24):
        tick(world, number)
    state = weft.testing.ticker(world.engine, "s").state
    assert len(state.synopses) == len(nodes) and all(LONG.fullmatch(name) for name in state.synopses)
    assert {query.name: query.complete_from for query in world.engine.queries()} == since
    after = answers(world)
    for name in ("sliding", "eager"):
        assert after[name][: len(twin[12][name])] == twin[12][name]
    assert sum(row["n"] for row in after["totals"]) == 24 * 6  # type: ignore[index]
    assert sum(row["n"] for row in twin[12]["totals"]) == 12 * 6  # type: ignore[index]
