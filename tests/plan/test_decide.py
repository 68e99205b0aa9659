"""Which node a coarser one is made from: the smallest, as far as anybody counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
import weft.testing
from tests.simulation.level0 import PlainBatch, Row
from weft.plan.network import Network

QUERIES = {
    "wide": "SELECT k, g, v, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), k, g, v",
    "few": "SELECT k, g, w, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), k, g, w",
}
COARSE = "SELECT k, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), k"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        schema = "ts timestamp, k string, g int, v int, w int"
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=schema, event_time="ts")
        yield engine


def parent_of(network: Network, dimensions: set[str]) -> set[str]:
    node = next(one for one in network.nodes if {str(name) for name in one.dimensions} == dimensions)
    assert node.parent is not None
    return {str(name) for name in network.by_id[node.parent].dimensions}


def tick(engine: weft.Engine, rows: list[Row]) -> None:
    weft.testing.run(engine, "s", PlainBatch(weft.testing.next_mark(engine, "s"), rows))


@pytest.mark.parametrize(("many", "other"), [("v", "w"), ("w", "v")])
def test_the_smaller_of_two_measured_nodes_is_chosen_and_the_answer_is_the_same(
    engine: weft.Engine, many: str, other: str
) -> None:
    engine.register_all(QUERIES)
    tick(engine, [{"ts": place, "k": "a", "g": 1, many: place, other: 0} for place in range(50)])
    query = engine.register(COARSE, name="coarse")
    assert parent_of(engine.network("s"), {"k"}) == {"k", "g", other}
    tick(engine, [{"ts": 30_000_000 + place, "k": "a", "g": 1, many: place, other: 0} for place in range(50)])
    assert query.results()["c"].to_pylist() == [50]


def test_where_nobody_counted_the_fewest_dimensions_win(engine: weft.Engine) -> None:
    engine.register_all({**QUERIES, "coarse": COARSE,
                         "two": "SELECT k, g, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), k, g"})
    assert parent_of(engine.network("s"), {"k"}) == {"k", "g"}
