"""A second engine on a stream that runs: it is refused, or told what happened; nobody is sent to a backup for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
import weft.testing
from tests.engine.test_metrics import DDL
from tests.engine.test_status import FakeRunner
from weft.errors import StateError
from weft.watch.status import MARKS, StreamStatus, _began, process_marks

SINCE = "2030-01-01T00:00:00.000+00:00"
DIFFER = StateError("offsets-differ", "batch 3 covers other rows", hint="Restore the checkpoint from a backup.")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        yield engine


def runner_of(engine: weft.Engine) -> FakeRunner:
    return FakeRunner(None, weft.testing.ticker(engine, "s"), None, "", StreamStatus(engine.catalog, "s"))  # type: ignore[arg-type]


def say(engine: weft.Engine, marks: Any, status: str = "running", since: str = SINCE) -> None:
    """What another process said of the stream."""
    with engine.catalog.write() as writer:
        writer.put_status("s", {"status": status, "since": since, "process": "123 on another", MARKS: marks})


@pytest.fixture
def living() -> Iterator[int]:
    """The number of another process, which lives."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate(b"\n")


def test_a_second_engine_of_this_process_is_refused_while_the_first_runs(engine: weft.Engine, tmp_path: Path) -> None:
    first = runner_of(engine)
    first.start()
    with weft.Engine(tmp_path / "state") as other:
        second = runner_of(other)
        with pytest.raises(weft.EngineError) as refused:
            second.start()
        said = engine.metrics()["streams"]["s"]
        assert refused.value.code == "runs-elsewhere"
        assert said["process"] in refused.value.message and said["since"] in refused.value.message
        assert "backup" not in str(refused.value) and "restore" not in str(refused.value).lower()
        # Nothing was said in place of who runs it.
        assert said["status"] == "running" and MARKS not in said
        first.stop()
        second.start()
        assert second.is_active()


def test_an_engine_that_runs_in_another_process_is_found(engine: weft.Engine, living: int) -> None:
    machine = process_marks()[0]
    say(engine, [machine, living, _began(living), "key"])
    with pytest.raises(weft.EngineError, match="process 123 on another, since 2030-01-01") as refused:
        runner_of(engine).start()
    assert refused.value.code == "runs-elsewhere"


def test_a_process_that_is_dead_keeps_nobody_from_starting(engine: weft.Engine, living: int) -> None:
    machine, mine, began = process_marks()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    # Dead, and nobody has looked yet.
    while _began(dead.pid) is not None:
        pass
    marks = [
        [machine, dead.pid, "1", "key"],
        # Numbers are used again, by others and by this process itself.
        [machine, living, "1", "key"],
        [machine, mine, "1", "key"],
        [machine, mine, began, "key"],
    ]
    for one in marks:
        say(engine, one)
        runner = runner_of(engine)
        runner.start()
        assert runner._reason(DIFFER) is DIFFER
        runner.stop()
    dead.wait()


@pytest.mark.parametrize("marks", [["another machine", 1, "1", "key"], None, "?", [1]])
def test_of_a_process_that_nobody_can_see_it_is_told_when_something_is_wrong(engine: weft.Engine, marks: Any) -> None:
    """On another machine, or of a Weft that left no marks."""
    say(engine, marks)
    runner = runner_of(engine)
    runner.start()
    told = runner._reason(DIFFER)
    assert isinstance(told, weft.EngineError) and told.code == "runs-elsewhere"
    assert "123 on another" in told.message and SINCE in told.message and "offsets-differ" in told.message
    assert told.hint is not None and "backup" not in told.hint
    assert runner._reason(DIFFER) is told


@pytest.mark.parametrize("status", ["running", "failed", "at rest"])
def test_whoever_came_later_is_named_by_the_first(engine: weft.Engine, status: str) -> None:
    runner = runner_of(engine)
    runner.start()
    say(engine, ["another machine", 1, "1", "key"], status, since="2999-01-01T00:00:00.000+00:00")
    concurrent = RuntimeError("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs")
    told = runner._reason(concurrent)
    assert isinstance(told, weft.EngineError) and told.code == "runs-elsewhere"
    assert "123 on another" in told.message


def test_what_no_second_engine_explains_is_said_as_it_is(engine: weft.Engine) -> None:
    say(engine, ["another machine", 1, "1", "key"])
    runner = runner_of(engine)
    runner.start()
    full = StateError("storage-full", "no space left")
    assert runner._reason(full) is full


def test_who_ran_the_stream_before_is_not_blamed_for_a_damaged_checkpoint(engine: weft.Engine) -> None:
    say(engine, ["another machine", 1, "1", "key"], "at rest", since="2020-01-01T00:00:00.000+00:00")
    runner = runner_of(engine)
    runner.start()
    assert runner._reason(DIFFER) is DIFFER
