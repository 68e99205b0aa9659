"""A closed engine says so, whatever it is asked, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import weft
import weft.testing

CALLS: dict[str, Callable[[weft.Engine], object]] = {
    "result": lambda engine: engine.query("q").result(),
    "register": lambda engine: engine.register("SELECT max(n) AS m FROM s", name="new"),
    "drop": lambda engine: engine.query("q").drop(),
    "feed": lambda engine: weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:00:09", "n": 1}]),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_engine_refuses(tmp_path: Path, call: str) -> None:
    with weft.testing.engine(tmp_path) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, n int", event_time="ts")
        query = engine.register("SELECT sum(n) AS total FROM s", name="q")
        weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "n": 1}])
        assert query.result()["total"].to_pylist() == [1]
    with pytest.raises(weft.EngineError) as refusal:
        CALLS[call](engine)
    assert refusal.value.code == "engine-closed"
    with weft.testing.engine(tmp_path) as again:
        assert [query.name for query in again.queries()] == ["q"] and again.query("q").status == "running"
        assert again.query("q").result()["total"].to_pylist() == [1]
