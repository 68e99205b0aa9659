"""How a stream fares, as another process sees it; Spark's query is a fake that starts, fails and ends when told to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, update

import weft
import weft.testing
from tests.cli.command import succeed, succeed_json
from tests.engine.test_metrics import DDL, tick
from weft.errors import StateError
from weft.spark.runner import Runner
from weft.store import tables
from weft.watch import status
from weft.watch.status import StreamStatus

ELSEWHERE = "123 on another"
NOBODY = "postgresql+psycopg://weft@127.0.0.1:9/weft?connect_timeout=2"


@dataclass
class FakeQuery:
    """As much of Spark's streaming query as a runner asks."""

    isActive: bool = True
    error: BaseException | None = None

    def stop(self) -> None:
        self.isActive = False

    def exception(self) -> BaseException | None:
        return self.error

    def awaitTermination(self) -> None:
        self.isActive = False
        if self.error is not None:
            raise self.error


class FakeRunner(Runner):
    """A runner whose query is a fake; with `refused` it does not even start."""

    refused: Exception | None = None

    def _begin(self, **trigger: Any) -> None:
        if self.refused is not None:
            raise self.refused
        self._failure, self._query = None, FakeQuery()  # type: ignore[assignment]

    @property
    def query(self) -> FakeQuery:
        assert isinstance(self._query, FakeQuery)
        return self._query


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.register("SELECT count(*) AS n FROM s", name="q")
        yield engine


@pytest.fixture
def runner(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    """A runner of another process, as far as anybody can tell."""
    monkeypatch.setattr(status, "process", lambda: ELSEWHERE)
    return FakeRunner(None, weft.testing.ticker(engine, "s"), None, "", StreamStatus(engine.catalog, "s"))  # type: ignore[arg-type]


def seen(tmp_path: Path) -> dict[str, Any]:
    """What an engine that opens now says of the stream."""
    with weft.Engine(tmp_path / "state") as other:
        found: dict[str, Any] = other.metrics()["streams"]["s"]
        return found


def test_a_stream_that_never_ran_is_at_rest(engine: weft.Engine, tmp_path: Path) -> None:
    said = seen(tmp_path)
    assert (said["status"], said["error"], said["since"], said["process"]) == ("at rest", None, None, None)


def test_another_process_sees_that_a_stream_runs_and_since_when(
    engine: weft.Engine, runner: FakeRunner, tmp_path: Path
) -> None:
    runner.start()
    tick(engine, 1, 2)
    said = seen(tmp_path)
    assert (said["status"], said["error"], said["process"]) == ("running", None, ELSEWHERE)
    assert datetime.now(UTC) - datetime.fromisoformat(said["since"]) < timedelta(minutes=1)
    assert said["last_tick_at"] == engine.metrics()["streams"]["s"]["last_tick"]["committed_at"]
    runner.stop()
    assert seen(tmp_path)["status"] == "at rest"


def test_the_command_line_sees_it_too(engine: weft.Engine, runner: FakeRunner, tmp_path: Path) -> None:
    runner.start()
    assert succeed_json("metrics", "--state", tmp_path / "state")["streams"]["s"]["process"] == ELSEWHERE
    shown = succeed("metrics", "--state", tmp_path / "state")
    assert "running" in shown and ELSEWHERE in shown and "last_tick_at" in shown


def test_another_process_sees_why_a_tick_failed_before_anybody_looks(
    runner: FakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.start()
    full = StateError("storage-full", "no space\nleft", hint="Free some.")

    def fail() -> None:
        raise full

    monkeypatch.setattr(runner, "_gate", type("Gate", (), {"__enter__": lambda _: fail(), "__exit__": None})())
    with pytest.raises(StateError):
        runner._tick(None, 0)  # type: ignore[arg-type]
    said = seen(tmp_path)
    assert (said["status"], said["error"]) == ("failed", "[storage-full] no space left")
    # Who looks later finds the same, and does not say that the stream came to rest.
    runner.query.isActive, runner.query.error = False, full
    with pytest.raises(StateError):
        runner.stop()
    assert seen(tmp_path)["status"] == "failed"


@pytest.mark.parametrize("look", [Runner.wait, Runner.stop, Runner.check])
def test_a_source_that_fails_between_ticks_is_said_by_who_looks(
    runner: FakeRunner, tmp_path: Path, look: Any
) -> None:
    runner.start()
    runner.query.isActive, runner.query.error = False, RuntimeError("the folder is closed")
    with pytest.raises(weft.WeftError):
        look(runner)
    said = seen(tmp_path)
    assert said["status"] == "failed" and said["error"].startswith("[stream-failed] stream 's' stopped: ")


def test_rows_that_come_to_an_end_leave_a_stream_at_rest(runner: FakeRunner, tmp_path: Path) -> None:
    runner.start()
    runner.wait()
    assert seen(tmp_path)["status"] == "at rest"


def test_a_stream_that_cannot_start_failed(runner: FakeRunner, tmp_path: Path) -> None:
    runner.refused = weft.EngineError("stream-failed", "no checkpoint")
    with pytest.raises(weft.EngineError):
        runner.start()
    assert (seen(tmp_path)["status"], seen(tmp_path)["error"]) == ("failed", "[stream-failed] no checkpoint")
    runner.refused = None
    runner.start()
    assert (seen(tmp_path)["status"], seen(tmp_path)["error"]) == ("running", None)


def test_what_cannot_be_kept_hides_no_error(
    engine: weft.Engine, runner: FakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise StateError("catalog-full", "no space", hint="Free some.")

    runner.start()
    monkeypatch.setattr(engine.catalog, "write", refuse)
    runner.query.isActive, runner.query.error = False, RuntimeError("the folder is closed")
    with pytest.raises(weft.EngineError, match="the folder is closed"):
        runner.stop()
    assert seen(tmp_path)["status"] == "running"


@pytest.mark.parametrize("value", ["", "{", "[1]", "7"])
def test_damage_to_what_is_said_refuses_nobody(
    engine: weft.Engine, runner: FakeRunner, tmp_path: Path, value: str
) -> None:
    runner.start()
    with engine.catalog.write() as writer:
        mine = tables.meta.c.key == "status of s"
        assert writer._connection.execute(update(tables.meta).where(mine).values(value=value)).rowcount == 1
    assert seen(tmp_path)["status"] == "at rest"


def test_nothing_is_said_of_a_stream_that_is_not_there(engine: weft.Engine, runner: FakeRunner) -> None:
    runner.start()
    with engine.catalog.write() as writer:
        assert json.loads(json.dumps(writer.status("s")))["status"] == "running"
        writer.put_status("gone", {"status": "running"})
        assert writer.status("gone") == {}


def test_one_stream_that_failed_keeps_no_other_from_being_stopped(engine: weft.Engine, runner: FakeRunner) -> None:
    other = FakeRunner(None, weft.testing.ticker(engine, "s"), None, "", StreamStatus(engine.catalog, "t"))  # type: ignore[arg-type]
    engine._runners.by_stream |= {"a": runner, "b": other}
    runner.start()
    other.start()
    runner.query.isActive, runner.query.error = False, RuntimeError("the folder is closed")
    with pytest.raises(weft.EngineError, match="the folder is closed"):
        engine.stop()
    assert not other.is_active()
    engine.stop()


def test_where_one_stream_cannot_start_none_runs(
    engine: weft.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.add_stream("t", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
    runners = {
        name: FakeRunner(None, weft.testing.ticker(engine, name), None, "", StreamStatus(engine.catalog, name))  # type: ignore[arg-type]
        for name in ("s", "t")
    }
    runners["t"].refused = weft.EngineError("stream-failed", "no checkpoint")
    monkeypatch.setattr(engine._runners, "runner", runners.get)
    for start in (engine.start, engine.run_available):
        with pytest.raises(weft.EngineError, match="no checkpoint"):
            start()
        assert not runners["s"].is_active()
    assert seen(tmp_path)["status"] == "at rest"


def test_a_catalog_that_is_down_hides_no_stream_that_runs(engine: weft.Engine, tmp_path: Path) -> None:
    """One that nobody answers for: the same address, at a port where no PostgreSQL is."""
    engine.add_stream("t", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
    runner = FakeRunner(None, weft.testing.ticker(engine, "s"), None, "", StreamStatus(engine.catalog, "s"))  # type: ignore[arg-type]
    engine._runners.by_stream["s"] = runner
    engine.state_reader.committed("s").is_run_here = runner.is_active
    runner.start()
    tick(engine, 1, 2)
    before = engine.metrics(queries=True)
    reachable, engine.catalog._engine = engine.catalog._engine, create_engine(NOBODY)
    try:
        said = engine.metrics(queries=True)
        assert said["streams"]["s"] == {**before["streams"]["s"], "lag_seconds": said["streams"]["s"]["lag_seconds"]}
        assert (said["streams"]["s"]["status"], said["streams"]["s"]["rows"]) == ("running", 2)
        assert said["streams"]["t"]["status"] == "unknown"
        assert said["streams"]["t"]["error"].startswith("[catalog-unreachable]")
        assert said["by_query"]["q"]["rows"] == 2
        # A tick that cannot be committed ends the stream, and why is known here if nowhere else.
        runner.query.isActive, runner.query.error = False, RuntimeError("no commit")
        failed = engine.metrics()["streams"]["s"]
        assert failed["status"] == "failed" and "no commit" in failed["error"]
    finally:
        engine.catalog._engine = reachable
    with pytest.raises(weft.EngineError, match="no commit"):
        engine.stop()
