"""`weft calibrate`: what things cost on this machine, for the optimizer's plans."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.state import JsonOption, StateOption, open_state
from weft.terminal.output import console, print_json, say, text_table

EXAMPLES = """[bold]Examples[/bold]

weft calibrate

weft calibrate --state state/ --scale 0.2 --json"""


def calibrate(
    scale: Annotated[float, typer.Option(min=0.01, max=10, help="More or fewer rows than the usual million.")] = 1.0,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what things cost on this machine, in about six minutes, and keep it in the state for the optimizer.

    An engine that runs takes the new prices with its next tick.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    from weft.cli.calibration import calibrate as measure
    from weft.cli.probes import probes
    from weft.plan.prices import MEANING
    from weft.spark.session import local_session

    with open_state(state) as engine, tempfile.TemporaryDirectory(prefix="weft-calibrate-") as folder:
        spark = local_session(Path(folder) / "spark")
        try:
            bar = Progress(TextColumn("{task.description:28}"), BarColumn(), transient=True, console=console())
            with bar:
                task = bar.add_task("warming up", total=len(probes()) + 1)
                calibration = measure(
                    spark, scale=scale, progress=lambda name: bar.update(task, advance=1, description=name)
                )
        finally:
            spark.stop()
        with engine.catalog.write() as catalog:
            catalog.put_costs(calibration.costs.definition())
    if as_json:
        print_json({"costs": calibration.costs.definition(), "error": calibration.error, "worst": calibration.worst})
        return
    lines = [[meaning, f"{getattr(calibration.costs, name):.2e}"] for name, meaning in MEANING.items()]
    console().print(text_table(["what", "seconds"], lines, right=[False, True]))
    say(
        f"{len(calibration.observations)} ticks measured; the prices explain them within a factor of "
        f"{calibration.error:.2f} in the median, {calibration.worst:.2f} at worst"
    )
