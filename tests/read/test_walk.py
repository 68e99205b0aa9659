"""How far a stranger must walk to follow a result: the modules that reading a window passes through."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import weft
import weft.testing

PACKAGE = str(Path(weft.__file__).parent)


def modules_of(call: Callable[[], object]) -> set[str]:
    """The modules of Weft whose code runs in a call."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            seen.add(Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


def feed_minute(engine: weft.Engine, minute: int) -> None:
    rows = [{"ts": f"2026-01-01T00:{minute:02}:{second:02}", "k": "a", "v": second} for second in range(0, 60, 5)]
    weft.testing.feed(engine, "s", rows)


def test_a_result_passes_fifteen_modules_where_the_stream_runs_and_four_more_where_it_rests(tmp_path: Path) -> None:
    with weft.testing.engine(tmp_path) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
        query = engine.register("SELECT k, sum(v) AS v FROM s GROUP BY window(ts, '10 seconds'), k", name="q")
        other = engine.register("SELECT k, sum(v) AS v FROM s GROUP BY window(ts, '20 seconds'), k", name="other")
        feed_minute(engine, 0)
        query.result()
        feed_minute(engine, 1)
        other.result()
        at_rest = modules_of(query.result)
        assert query.result().to_pylist()[0]["v"] == 45 + 40
        feed_minute(engine, 2)
        with patch.object(engine.state_reader.committed("s"), "is_run_here", lambda: True):
            # What is read first after a tick, and what is read of a query for the first time, is worked out once.
            query.result(end="2026-01-01T00:02:10")
            while_it_runs = modules_of(query.result)
    # A stream that runs is asked whether it does, in weft/spark/runner.py.
    assert len(while_it_runs) <= 14, " ".join(sorted(while_it_runs))
    assert at_rest - while_it_runs <= {"store/catalog.py", "store/committed.py", "store/snapshot.py", "store/tables.py"}
    assert not any(module.startswith(("spark/", "tick/", "optimize/", "sql/")) for module in at_rest)
