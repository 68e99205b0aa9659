"""`weft run`: an engine from a configuration, until Ctrl-C or until all that has arrived is processed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from weft.cli.display import Display, make_display
from weft.cli.exits import INTERRUPTED
from weft.cli.output import many, say
from weft.cli.spark_output import jvm_output_to
from weft.errors import StreamError
from weft.feeds.address import is_address

if TYPE_CHECKING:
    from weft.config import Config
    from weft.engine import Engine

EXAMPLES = """[bold]Examples[/bold]

weft run

weft run examples/payments/weft.toml --available-now

weft run weft.toml --plain > weft.log &"""
LOOK_SECONDS = 0.25
SAME_SIGNAL_SECONDS = 1.0


def run(
    config: Annotated[str, typer.Argument(help="The configuration.")] = "weft.toml",
    available_now: Annotated[bool, typer.Option("--available-now", help="Process what is there, then leave.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines, also on a terminal.")] = False,
    trigger: Annotated[str | None, typer.Option(help="Time between ticks, instead of the configuration's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line for every tick.")] = False,
    log: Annotated[str | None, typer.Option(help="Write logs there, a JSON object a line; - for stderr.")] = None,
) -> None:
    """Run the streams and queries of a configuration. Ctrl-C stops after the tick that is under way.

    Queries that were registered before, here or with `weft register`, go on running; a second Ctrl-C leaves at once.
    """
    from weft.config import load_config
    from weft.engine import Engine
    from weft.sql.ddl import parse_wait
    from weft.watch.logs import log_to

    if log is not None:
        log_to(log)
    settings = load_config(config)
    if trigger is not None:
        parse_wait(trigger)
    # Until the engine is closed, which takes a moment and must not be cut short by an exception from anywhere.
    with StopSignals() as signals, Engine(settings.state, catalog=settings.catalog, spark_settings=settings.spark,
                                          roots=settings.roots, sharing=settings.sharing) as engine:
        settings.apply(engine)
        check_paths(settings)
        say(f"{many(len(engine.queries()), 'query', 'queries')}; starting Spark")
        start_spark(engine, settings.state)
        signals.take()
        with make_display(plain=plain, as_json=as_json) as display:
            drive(engine, trigger or settings.trigger, display, signals.asked, available_now=available_now)


def check_paths(config: Config) -> None:
    """Refuse a source folder that is not there, in terms of the configuration and before Spark starts."""
    for name, stream in config.streams.items():
        path = stream.stream.path
        local = path is not None and not is_address(path) and not set(path) & set("*?[{")
        if path is not None and local and not Path(path).exists():
            raise StreamError("no-such-path", f"stream {name!r} reads {path}, which is not there",
                              hint="Make the folder, or mend path in the configuration.")


def start_spark(engine: Engine, state: str) -> None:
    """Start the session; where the state is a local folder, what Spark says goes into spark/spark.log there."""
    with jvm_output_to(Path(state) / "spark") if not is_address(state) else nullcontext():
        _ = engine.spark


def drive(engine: Engine, trigger: str, display: Display, asked: threading.Event, *, available_now: bool) -> None:
    """Run the streams and show how they fare, until they end, fail or are asked to stop."""
    if asked.is_set():
        return
    worker = Worker(engine.run_available) if available_now else None
    if worker is None:
        engine.start(trigger=trigger)
    try:
        while not asked.is_set() and (not worker.done if worker is not None else running(engine)):
            display.show(engine.metrics())
            asked.wait(LOOK_SECONDS)
        if asked.is_set():
            display.note("stopping after the tick that is under way")
        # Raises what made a stream stop by itself.
        engine.stop()
        if worker is not None:
            worker.join()
    finally:
        display.show(engine.metrics(), last=True)


def running(engine: Engine) -> bool:
    """Whether every stream of the engine still runs."""
    active = {query.name for query in engine.spark.streams.active}
    return {f"weft {name}" for name in engine.registry.streams()} <= active


class Worker:
    """A call in a thread of its own; join raises what it raised."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="weft-run", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error


class StopSignals:
    """Ctrl-C and SIGTERM ask to stop, as long as this lasts; a second signal leaves at once."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._first = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """Handle the signals from now on; again after Spark's start, which brings a handler that cancels its jobs."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.signal(number, self._handle)
                self._before.setdefault(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.asked.is_set():
            self._first = time.monotonic()
            self.asked.set()
        # A wrapper such as `timeout` passes a signal on that the whole group got already: that is no second signal.
        elif time.monotonic() - self._first > SAME_SIGNAL_SECONDS:
            # As safe as a crash, which loses nothing; an exception here would meet Spark's bridge in mid-call, and
            # libraries would tell of what is not closed.
            sys.stdout.write("\x1b[?25h\n" if sys.stdout.isatty() else "")
            sys.stdout.flush()
            os._exit(INTERRUPTED)
