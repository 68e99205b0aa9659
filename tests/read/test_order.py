"""ORDER BY and LIMIT over anything that can be selected: what may fail, constants, and NULLs on either side."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.simulation.world import SECOND, Tick, World
from weft.errors import EngineError

# By k: sum(v) and count(*) are a: 9 and 3, b: 8 and 2, c: 7 and 1, and d: 0 and 2.
VALUES = {"a": (1, 3, 5), "b": (3, 5), "c": (7,), "d": (-1, 1)}
TOP = {
    ("sum(v) / count(*)", "m DESC"): "cbad",
    ("sum(v) / count(*)", "m"): "dabc",
    ("sum(v) / nullif(count(*), 2)", "m DESC"): "cabd",
    ("sum(v) / nullif(count(*), 2)", "m DESC NULLS FIRST"): "bdca",
    ("sum(v) / nullif(count(*), 2)", "m NULLS LAST"): "acbd",
    ("sum(v) % count(*)", "m, k DESC"): "dcba",
    ("sum(v) div count(*)", "m DESC"): "cbad",
    ("CAST(sum(v) AS DECIMAL(20, 2)) / count(*)", "m DESC"): "cbad",
    ("sum(v)", "NULL"): "abcd",
    ("sum(v)", "TRUE DESC, m"): "dcba",
    ("sum(v)", "m / count(*), 'x'"): "dabc",
    ("'x'", "m"): "abcd",
    ("7", "m, k DESC"): "dcba",
    ("sum(v)", "2 DESC"): "abcd",
    ("sum(v)", "DATE '2026-01-01', m"): "dcba",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Every query once over windows and once over all, and one tick that closes the window."""
    world = World(tmp_path_factory.mktemp("order"), Random(1), delay=0)
    for number, (column, order) in enumerate(TOP):
        for window in ("", ", window(ts, '10 seconds')"):
            world.engine.register(f"SELECT k, {column} AS m FROM s GROUP BY k{window} HAVING count(*) > 0 "
                                  f"ORDER BY {order} LIMIT 3", name=f"q{number}{'w' if window else ''}")
    rows: list[dict[str, Any]] = [{"ts": SECOND, "k": k, "g": 1, "v": v} for k, values in VALUES.items() for v in values]
    world.run([Tick(tuple(tuple(row.items()) for row in rows))])
    for query in [one.name for one in world.engine.queries() if not one.name.endswith("w")]:
        assert world.engine.query(query).result().num_rows == 3
    world.run([Tick(((("ts", 60 * SECOND), ("k", "e"), ("g", 1), ("v", 1)),))])
    return world


@pytest.mark.parametrize("number", range(len(TOP)), ids=map(" by ".join, TOP))
def test_the_first_by_anything_are_read(world: World, number: int) -> None:
    table = world.engine.query(f"q{number}w").results()
    assert "".join(table.slice(0, 3)["k"].to_pylist()) == [*TOP.values()][number][:3]


def test_a_sort_key_that_fails_fails_only_where_having_leaves_it(tmp_path: Path) -> None:
    world = World(tmp_path, Random(1), delay=0)
    sql = "SELECT k, sum(g) AS n FROM s GROUP BY k {} ORDER BY sum(v) / sum(g) LIMIT 3"
    world.engine.register(sql.format("HAVING sum(g) > 0"), name="guarded")
    world.engine.register(sql.format(""), name="open")
    rows = [{"ts": SECOND, "k": k, "g": g, "v": 1} for k, g in (("a", 0), ("b", 1), ("c", 2))]
    world.run([Tick(tuple(tuple(row.items()) for row in rows))])
    assert world.engine.query("guarded").result()["k"].to_pylist() == ["c", "b"]
    with pytest.raises(EngineError, match="division by zero"):
        world.engine.query("open").result()
    world.forget()
