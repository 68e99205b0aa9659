"""What a query would share is said before it is registered, and a network can be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from tests.engine.test_metrics import DDL, tick

BY_BOTH = "SELECT k, g, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k, g"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.register(BY_BOTH, name="both")
        tick(engine, 1, 2, 3, 25)
        yield engine


def test_the_same_again_adds_nothing(engine: weft.Engine) -> None:
    said = engine.explain(BY_BOTH)
    assert "reads node (g, k), which is there for 1 other queries" in said
    assert "adds" not in said and "new" not in said
    assert "would hold everything since the stream began" in said
    assert {one.name for one in engine.queries()} == {"both"}


def test_another_statistic_and_other_slices_are_named(engine: weft.Engine) -> None:
    said = engine.explain("SELECT k, g, max(v) AS m FROM s GROUP BY window(ts, '15 seconds', '5 seconds'), k, g")
    assert "adds max(v)" in said
    assert "slices of 5 seconds instead of slices of 10 seconds" in said


def test_a_coarser_group_is_made_from_the_finer_one(engine: weft.Engine) -> None:
    said = engine.explain("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k")
    assert "reads node (k), new, made from node (g, k)" in said


def test_what_nobody_has_is_made_from_rows(engine: weft.Engine) -> None:
    said = engine.explain("SELECT v, count(*) AS c FROM s GROUP BY window(ts, '10 seconds'), v")
    assert "reads node (v), new, made from rows" in said
    assert "would hold nothing stored yet" in said


def test_nonsense_is_refused(engine: weft.Engine) -> None:
    with pytest.raises(weft.SqlError):
        engine.explain("SELECT nothing FROM s")
    with pytest.raises(weft.EngineError) as refused:
        engine.explain(form="ascii art")
    assert refused.value.code == "bad-form"


def test_a_network_is_drawn(engine: weft.Engine) -> None:
    engine.register("SELECT k, sum(v) AS s FROM s GROUP BY window(ts, '10 seconds'), k", name="one")
    engine.register("SELECT count(*) AS c FROM s", name="all")
    plan = engine.network("s")
    drawn, graph = engine.explain(form="mermaid"), engine.explain(form="graphviz")
    assert drawn.startswith("flowchart LR") and graph.startswith("digraph weft {") and graph.endswith("}")
    for node in plan.nodes:
        source = node.parent or "stream"
        assert f"    {source} --> {node.id}" in drawn.splitlines()
        assert f"  {source} -> {node.id};" in graph.splitlines()
    assert "(g, k)<br/>2 statistics, 1 window, 1 query" in drawn
