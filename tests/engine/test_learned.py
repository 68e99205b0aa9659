"""What the first tick of a stream teaches of its pace, whatever windows there are."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft
import weft.testing
from weft.optimize.learn import facts_of

SECOND = 1_000_000
DAYS = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '30 days'), k"
SECONDS = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '5 seconds'), k"
SELDOM = "SELECT count(*) AS n FROM s WHERE v > 98 GROUP BY window(ts, '1 second')"


@pytest.mark.parametrize("queries", [[SECONDS], [DAYS, SECONDS], [SECONDS, DAYS, SELDOM]])
def test_a_long_window_makes_a_stream_no_slower(queries: list[str], tmp_path: Path) -> None:
    rows = [{"ts": f"2026-03-07T12:{place // 60:02}:{place % 60:02}", "k": place % 3, "v": place} for place in range(100)]
    with weft.Engine(tmp_path / "state", sharing="nothing") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema="ts timestamp, k int, v int")
        engine.register_all({f"q{place}": sql for place, sql in enumerate(queries)})
        weft.testing.feed(engine, "s", rows)
        assert facts_of(engine.state_of("s")).span == pytest.approx(99 * SECOND, abs=5 * SECOND)
