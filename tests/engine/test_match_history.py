"""What a query may claim of the time before it, where its rows are kept by a match that ticks look for."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

import weft
import weft.testing

SQL = "SELECT k, count(*) AS n FROM s WHERE v = {} AND k < 'z' GROUP BY window(ts, '10 seconds'), k"


def feed(engine: weft.Engine, tick: int, *late: str) -> None:
    rows = [{"ts": f"2026-01-01T00:00:{tick * 2 + place:02}", "k": "a", "v": 1} for place in range(2)]
    weft.testing.feed(engine, "s", [*rows, *({"ts": moment, "k": "a", "v": 1} for moment in late)])


@pytest.mark.parametrize("before", [99, 1])
@pytest.mark.parametrize("sharing", ["nothing", "auto"])
def test_ticks_without_a_match_do_not_speak_for_another(tmp_path: Path, sharing: str, before: int) -> None:
    """A node of matches writes no file where none keeps a row: that says nothing of a match that nobody looked for."""
    with weft.testing.engine(tmp_path / "state", sharing=sharing) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts", watermark="1 minute")
        engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '10 seconds')", name="other")
        engine.register(SQL.format(before), name="q")
        for tick in range(3):
            feed(engine, tick)
        engine.query("q").drop()
        query = engine.register(SQL.format(1), name="q")
        assert query.result().num_rows == 0
        feed(engine, 3, "2026-01-01T00:05:00")
        told = query.results().to_pylist()
        whole = query.complete_from
        assert isinstance(whole, datetime)
        # Eight rows are in the first window: either it is held in full, or it is not given.
        if whole <= datetime.fromisoformat("2026-01-01T00:00:00+00:00"):
            assert [row["n"] for row in told] == [8]
        else:
            assert told == []


def test_a_twin_of_a_query_that_runs_has_the_history_of_its_match(tmp_path: Path) -> None:
    with weft.testing.engine(tmp_path / "state", sharing="nothing") as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts", watermark="0 seconds")
        engine.register("SELECT k FROM s WHERE v = 1", name="first")
        for tick in range(3):
            feed(engine, tick)
        twin = engine.register("SELECT k FROM s WHERE v = 1", name="twin")
        other = engine.register("SELECT k FROM s WHERE v = 2 OR v = 1", name="other")
        feed(engine, 3)
        assert twin.result().num_rows == 8 and other.result().num_rows == 2
