"""Windows that are finished ahead in a tick that brings no row, when their query has just moved."""

from __future__ import annotations

from pathlib import Path

import weft.testing
from weft.plan.placement import Placement

SQL = "SELECT count(*) AS n FROM s WHERE k = 'a' GROUP BY window(ts, '10 seconds')"


def rows(second: int, *kinds: str) -> list[dict[str, object]]:
    return [{"ts": f"2026-01-01T00:00:{second:02}", "k": kind} for kind in kinds]


def test_a_tick_without_a_row_finishes_windows_of_a_query_that_moved(tmp_path: Path) -> None:
    """The tick writes no file of rows with the node's new layout, and the file of windows has it all the same."""
    with weft.testing.engine(tmp_path / "state") as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string", event_time="ts")
        query = engine.register(SQL, name="q", eager=True, keep="forever")
        weft.testing.stay(engine, "s")
        weft.testing.feed(engine, "s", rows(1, "a", "a"))
        weft.testing.move(engine, "s", {"q": Placement("t", matches=True)})
        weft.testing.feed(engine, "s", rows(12, "b"))
        weft.testing.move(engine, "s", {"q": Placement("u", matches=True)})
        weft.testing.feed(engine, "s", rows(25, "b"))
        assert query.results()["n"].to_pylist() == [2]
    with weft.testing.engine(tmp_path / "state") as engine:
        weft.testing.feed(engine, "s", rows(31, "a"))
        weft.testing.feed(engine, "s", rows(42, "b"))
        assert engine.query("q").results()["n"].to_pylist() == [2, 1]
        assert "q" in engine.query("q").explain()
