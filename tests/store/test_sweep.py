"""What nobody needs is deleted; a file that cannot be stops no stream, and is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import weft
from tests.engine.test_metrics import DDL, tick
from weft.store import tend


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[weft.Engine]:
    """An engine that deletes at once."""
    monkeypatch.setattr(tend, "LEASE", timedelta(0))
    monkeypatch.setattr(tend, "_undeletable", set())
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.register("SELECT count(*) AS n FROM s", name="q")
        yield engine


def test_a_file_that_cannot_be_deleted_stops_no_stream(
    engine: weft.Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tick(engine, 1)
    # Nobody, not even root, unlinks a folder.
    stuck, loose = (tmp_path / "state" / "segments" / "s" / name for name in ("a.parquet", "b.parquet"))
    (stuck / "inside").mkdir(parents=True)
    loose.write_bytes(b"")
    with engine.catalog.write() as writer:
        writer.add_garbage(["s/a.parquet", "s/b.parquet"])
    for second in (2, 3, 4):
        tick(engine, second)
    assert engine.query("q").result().to_pylist() == [{"n": 4}]
    assert not loose.exists()
    told = [record.path for record in caplog.records if record.getMessage() == "file not deleted"]
    assert told == ["s/a.parquet"]
    with engine.catalog.read() as reader:
        assert reader.garbage() == ("s/a.parquet",)
    (stuck / "inside").rmdir()
    stuck.rmdir()
    stuck.write_bytes(b"")
    tick(engine, 5)
    assert not stuck.exists()
    with engine.catalog.read() as reader:
        assert reader.garbage() == ()
