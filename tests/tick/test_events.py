"""What ticks say: in order, once, after the commit; and who listens badly harms nobody."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest

import weft
import weft.testing
from tests.simulation.level0 import POISON, PlainBatch, Row
from tests.simulation.meanwhile import counts, tick
from tests.simulation.world import SECOND, World
from weft.tick import bus
from weft.tick.bus import Bus
from weft.tick.events import Event

SQL = "SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k"


def failed(number: int) -> weft.TickFailed:
    return weft.TickFailed("s", number, "")


def batch(world: World, *rows: Row) -> PlainBatch:
    return PlainBatch(weft.testing.next_mark(world.engine, "s", "simulated"), rows)


def test_a_tick_says_what_it_closed_and_how_it_went(world: World) -> None:
    world.engine.register(SQL, name="q")
    heard: list[Event] = []
    end = world.engine.listen(heard.append)
    world.run([tick(0, "a"), tick(3, "a", "b"), tick(1, "a")])
    end()
    world.run([tick(4, "a")])
    names = [type(event).__name__ for event in heard]
    assert names == ["WindowsClosed", "TickCommitted", "WindowsClosed", "TickCommitted", "TickCommitted"]
    first, _, second, committed, _ = heard
    assert first == weft.WindowsClosed("s", 0, None, 0)
    assert second == weft.WindowsClosed("s", 1, 0, 3 * SECOND + 1)
    assert isinstance(committed, weft.TickCommitted)
    assert (committed.batch_id, committed.rows, committed.queries, committed.partial_rows) == (1, 2, 1, 2)
    assert (committed.watermark_before, committed.watermark) == (0, 3 * SECOND + 1)
    assert {"open", "plan", "compute", "spark", "merge", "learn", "commit", "finish", "tend", "sweep"} <= {
        *committed.seconds
    }


def test_what_was_closed_can_be_read_when_it_is_said(world: World) -> None:
    query = world.engine.register(SQL, name="q")
    read: list[list[int]] = []
    end = world.engine.listen(lambda event: read.append(counts(query)), [weft.WindowsClosed])
    world.run([tick(0, "a"), tick(2, "a", "b")])
    end()
    assert len(read) == 2 and read[-1] == [1]


def test_a_tick_that_is_run_again_is_told_once(world: World) -> None:
    world.engine.register(SQL, name="q")
    heard: list[weft.TickCommitted] = []
    end = world.engine.listen(heard.append, [weft.TickCommitted])
    arrived = batch(world, *tick(0, "a").dicts())
    for _ in range(2):
        weft.testing.run(world.engine, "s", arrived)
    end()
    assert [event.batch_id for event in heard] == [0]


def test_queries_that_are_stopped_are_named_after_the_commit(world: World) -> None:
    world.engine.register("SELECT max(v) AS m FROM s", name="greatest")
    world.engine.register(SQL, name="q")
    heard: list[Event] = []
    end = world.engine.listen(heard.append, [weft.QueriesStopped, weft.TickCommitted])
    weft.testing.run(world.engine, "s", batch(world, {"ts": 0, "k": "a", "g": 1, "v": POISON}))
    end()
    stopped, committed = heard
    assert isinstance(stopped, weft.QueriesStopped) and isinstance(committed, weft.TickCommitted)
    assert set(stopped.reasons) == {"greatest"} and "POISONED" in stopped.reasons["greatest"]


def test_a_tick_that_fails_says_why_and_commits_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.engine.register(SQL, name="q")
    heard: list[Event] = []
    end = world.engine.listen(heard.append)

    def fail(*_: object) -> None:
        raise weft.StateError("storage-full", "no space", hint="Free some.")

    with monkeypatch.context() as patch, pytest.raises(weft.StateError):
        patch.setattr("weft.tick.ticker.write", fail)
        world.run([tick(0, "a")])
    end()
    assert heard == [weft.TickFailed("s", 0, "[storage-full] no space")]


@pytest.mark.parametrize("error", [ValueError("bad listener"), SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_a_listener_that_raises_is_called_again_and_harms_nobody(
    caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    lines, bad, good = Bus(), list[Event](), list[Event]()

    def raises(event: Event) -> None:
        bad.append(event)
        raise error

    ends = [lines.listen(raises), lines.listen(good.append)]
    lines.emit(failed(0), failed(1))
    for end in ends:
        end()
    assert bad == good == [failed(0), failed(1)]
    assert [record.message for record in caplog.records] == ["listener failed"] * 2


def test_a_slow_listener_holds_up_nobody_and_loses_the_oldest(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "MOST_WAITING", 3)
    lines, gate, begun, slow, good = Bus(), threading.Event(), threading.Event(), list[int](), list[int]()

    def waits(event: weft.TickFailed) -> None:
        slow.append(event.batch_id)
        begun.set()
        gate.wait(30)

    end_slow, end_good = lines.listen(waits), lines.listen(lambda event: good.append(event.batch_id))
    lines.emit(failed(0))
    assert begun.wait(30)
    for number in range(1, 10):
        lines.emit(failed(number))
        wait_for(lambda number=number: good[-1:] == [number])
    assert slow == [0]
    gate.set()
    end_slow()
    end_good()
    assert slow == [0, 7, 8, 9] and good == list(range(10))
    [said] = [record for record in caplog.records if record.message == "events dropped"]
    assert said.__dict__["events"] == 6


def test_a_listener_that_never_returns_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bus, "LAST_SECONDS", 0.1)
    gate = threading.Event()
    with weft.Engine(tmp_path / "state") as engine:
        engine.listen(lambda event: gate.wait(60))
        engine._bus.emit(failed(0), failed(1))
        begin = time.monotonic()
    assert time.monotonic() - begin < 10
    gate.set()


def test_a_listener_may_end_itself() -> None:
    lines, heard, done = Bus(), list[Event](), threading.Event()

    def once(event: Event) -> None:
        heard.append(event)
        end()
        done.set()

    end = lines.listen(once)
    lines.emit(failed(0))
    assert done.wait(30)
    lines.emit(failed(1))
    end()
    assert heard == [failed(0)]


@pytest.mark.parametrize("callback, kinds", [(None, None), (print, []), (print, [int]), (print, weft.Engine)])
def test_what_is_no_listener_is_refused(callback: object, kinds: object) -> None:
    with pytest.raises(weft.EngineError) as refused:
        Bus().listen(callback, kinds)  # type: ignore[arg-type]
    assert refused.value.code == "bad-listener" and refused.value.hint


def test_the_log_has_the_line_of_every_tick(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "weft.tick")
    world.engine.register(SQL, name="q")
    world.run([tick(0, "a")])
    [line] = [record for record in caplog.records if record.message == "tick committed"]
    assert (line.__dict__["stream"], line.__dict__["rows"], line.name) == ("s", 1, "weft.tick")


def wait_for(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)
