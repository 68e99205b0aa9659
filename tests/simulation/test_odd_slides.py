"""Windows whose slides have no short common period: planned, explained and answered like any others, without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from tests.few import few
from tests.plan.test_slices import ENDLESS
from tests.simulation.world import SECOND, Tick, World
from weft.algebra.windows import micros

# A search beside the tick takes about two seconds here; the rest is for slow machines.
PATIENCE = 60
START = 1_700_000_000 * SECOND


def ticks(random: Random) -> list[Tick]:
    """Three ticks of twenty seconds each, in order, and a row long after them that closes all windows."""
    made = []
    for number in range(3):
        begin = START + 20 * SECOND * number
        rows = [{"ts": begin + random.randrange(20 * SECOND), "k": random.choice("ab"), "g": 1, "v": 1}
                for _ in range(40)]
        made.append(rows)
    made.append([{"ts": START + 100_000 * SECOND, "k": "a", "g": 1, "v": 1}])
    return [Tick(tuple(tuple(row.items()) for row in rows)) for rows in made]


def counts(steps: Iterable[Tick], length: int) -> dict[tuple[datetime, str], int]:
    """Rows of every tumbling window and key, but the last row's."""
    found: dict[tuple[datetime, str], int] = {}
    for row in (row for step in steps for row in step.dicts() if row["ts"] < START + 90_000 * SECOND):
        end = row["ts"] // length * length + length
        whole, rest = divmod(end, SECOND)
        key = (datetime.fromtimestamp(whole, UTC).replace(microsecond=rest), row["k"])
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("name", few(ENDLESS, 2))
def test_a_stream_goes_on_whatever_slides_its_queries_have(tmp_path: Path, name: str) -> None:
    windows, _, _ = ENDLESS[name]
    world = World(tmp_path, Random(1), delay=0)
    lengths = {f"q{place}": micros(window.range) for place, window in enumerate(windows)}
    for query, length in lengths.items():
        window = f"window(ts, '{length} microseconds')"
        world.engine.register(f"SELECT window.end AS upto, k, count(*) AS n FROM s GROUP BY {window}, k", name=query)
    steps, began = ticks(Random(2)), time.monotonic()
    world.run([*steps])
    assert "slices" in str(world.engine.explain())
    assert time.monotonic() - began < PATIENCE
    for query in ("q0", "q7", f"q{len(windows) - 1}"):
        rows = world.engine.query(query).results().to_pylist()
        assert {(row["upto"], row["k"]): row["n"] for row in rows} == counts(steps, lengths[query])
    world.forget()
