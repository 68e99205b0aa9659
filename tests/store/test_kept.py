"""Kept rows in a committed state: apart from partial rows, carried from tick to tick, and seen by other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft import Engine
from weft.segments.segment import LATEST, SegmentRow
from weft.store.kept import kept_node
from weft.store.state import load_state
from weft.testing import feed

SQL = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), k"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "state") as engine:
        engine.add_stream(
            "s", source="parquet", path="x", schema="ts timestamp, k string", event_time="ts", retain="forever"
        )
        engine.register(SQL, name="q")
        yield engine


def keep(engine: Engine, row: SegmentRow) -> None:
    """Store a file of kept rows, as a tick of another process would."""
    with engine.catalog.write() as catalog:
        catalog.put_node(kept_node("s", 0, 7))
        catalog.add_segments([row])


@pytest.fixture
def rows_file(segment: Callable[..., SegmentRow]) -> SegmentRow:
    return segment("s/rows_s/rows0-0-x.parquet", node="rows_s", layout="", kind="rows", time_from=7, time_to=9)


def test_nothing_is_kept_at_first(engine: Engine) -> None:
    kept = engine.state_of("s").kept
    assert (kept.node, kept.files, kept.since) == (None, (), LATEST)


def test_kept_rows_are_no_synopsis(engine: Engine, rows_file: SegmentRow) -> None:
    feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "k": "a"}])
    before = engine.state_of("s").kept
    keep(engine, rows_file)
    state = engine.state_of("s")
    assert "rows_s" not in state.synopses
    assert [file.path for file in state.kept.files] == [before.files[0].path, rows_file.path]
    assert (state.kept.since, state.kept.rows, state.kept.bytes) == (7, 4, before.bytes + 100)


def test_a_file_of_rows_changes_the_mark(engine: Engine, rows_file: SegmentRow) -> None:
    """Who compares marks would otherwise never hear of rows that another process merged or deleted."""
    feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "k": "a"}])
    before = engine.state_of("s").files_mark
    keep(engine, rows_file)
    with engine.catalog.read() as catalog:
        state = load_state("s", catalog)
        assert before != state.files_mark == catalog.files_mark("s")


def test_a_tick_carries_kept_rows_on(engine: Engine, rows_file: SegmentRow) -> None:
    keep(engine, rows_file)
    feed(engine, "s", [{"ts": "2026-01-01T00:00:01", "k": "a"}])
    feed(engine, "s", [{"ts": "2026-01-01T00:00:21", "k": "a"}])
    kept = engine.state_of("s").kept
    with engine.catalog.read() as catalog:
        assert kept == load_state("s", catalog).kept
    assert kept.files[0].path == rows_file.path and len(kept.files) == 3
