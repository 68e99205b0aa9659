"""`weft run`: an engine from a configuration, until Ctrl-C or until all that has arrived is processed."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.errors import StreamError
from weft.feeds.address import is_address
from weft.terminal.display import Display, make_display
from weft.terminal.output import many, say
from weft.terminal.running import StopSignals, Worker
from weft.terminal.spark_output import jvm_output_to

if TYPE_CHECKING:
    from weft.config import Config
    from weft.engine import Engine

EXAMPLES = """[bold]Examples[/bold]

weft run

weft run examples/payments/weft.toml --available-now

weft run weft.toml --plain > weft.log &"""
LOOK_SECONDS = 0.25


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
                                          roots=settings.roots, sharing=settings.sharing,
                                          kernel=settings.kernel) as engine:
        settings.apply(engine)
        check_paths(settings)
        say(f"{many(len(engine.queries()), 'query', 'queries')}; starting Spark")
        start_spark(engine, settings.state)
        signals.take()
        with make_display(engine, plain=plain, as_json=as_json) as display:
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
        while not asked.is_set() and (not worker.done if worker is not None else engine.running):
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
