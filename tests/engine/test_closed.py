"""A closed engine says so, whatever it is asked, and changes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import weft
import weft.testing

CALLS: dict[str, Callable[[weft.Engine], object]] = {
    "result": lambda engine: engine.query("q").result(),
    "register": lambda engine: engine.register("SELECT max(n) AS m FROM s", name="new"),
    "drop": lambda engine: engine.query("q").drop(),
    "listen": lambda engine: engine.listen(print),
    "spark": lambda engine: engine.spark,
    "dataframe": lambda engine: engine.query("q").dataframe(),
    "optimize": lambda engine: engine.optimize(),
    "network": lambda engine: engine.network("s"),
    "explain": lambda engine: engine.explain(),
    "metrics": lambda engine: engine.metrics(),
    "start": lambda engine: engine.start(),
    "run_available": lambda engine: engine.run_available(),
    "adopt": lambda engine: engine.adopt("s"),
    "feed": lambda engine: weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:00:09", "n": 1}]),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_engine_refuses(tmp_path: Path, call: str) -> None:
    with weft.testing.engine(tmp_path) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, n int", event_time="ts")
        query = engine.register("SELECT sum(n) AS total FROM s", name="q")
        weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "n": 1}])
        assert query.result()["total"].to_pylist() == [1]
    threads = threading.active_count()
    with pytest.raises(weft.EngineError) as refusal:
        CALLS[call](engine)
    assert not engine._session.is_open and threading.active_count() == threads
    assert refusal.value.code == "engine-closed"
    with weft.testing.engine(tmp_path) as again:
        assert [query.name for query in again.queries()] == ["q"] and again.query("q").status == "running"
        assert again.query("q").result()["total"].to_pylist() == [1]


def test_an_engine_is_closed_while_others_read(tmp_path: Path) -> None:
    """Whoever reads at that moment gets an answer, or is told; nothing stays half open."""
    engine = weft.testing.engine(tmp_path)
    weft.testing.add_stream(engine, "s", schema="ts timestamp, n int", event_time="ts")
    query = engine.register("SELECT n % 7 AS k, sum(n) AS total FROM s GROUP BY n % 7", name="q")
    weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "n": n} for n in range(1000)])
    begun, ends = threading.Barrier(5), list[str]()

    def read() -> None:
        begun.wait()
        try:
            while query.result().num_rows == 7:
                pass
        except weft.WeftError as error:
            ends.append(error.code)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    begun.wait()
    time.sleep(0.1)
    engine.close()
    for reader in readers:
        reader.join(30)
    assert ends == ["engine-closed"] * 4
    with weft.testing.engine(tmp_path) as again:
        assert again.query("q").result().num_rows == 7
