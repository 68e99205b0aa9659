"""What tests of things that happen meanwhile have in common: short ticks, short answers, and a death."""

from __future__ import annotations

import weft
from tests.simulation.world import SECOND, Crash, Tick


def tick(second: int, *keys: str) -> Tick:
    """One row a key at that second, and none before it."""
    rows = ({"ts": second * SECOND + place, "k": key, "g": 1, "v": 1} for place, key in enumerate(keys))
    return Tick(tuple(tuple(row.items()) for row in rows))


def die() -> None:
    raise Crash


def counts(query: weft.ContinuousQuery) -> list[int]:
    return query.results()["n"].to_pylist()
