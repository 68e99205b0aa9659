"""`weft demo`: the command; what it shows is in weft/demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.terminal.exits import OurFault

EXAMPLES = """[bold]Examples[/bold]

weft demo

weft demo --queries 100 --rows 200000 --seconds 10

weft demo --state /tmp/weft-demo    (keeps the state; then: weft results top_talkers --state /tmp/weft-demo/state)"""


def demo(
    rows: Annotated[int, typer.Option(min=1000, help="Packets to generate.")] = 1_000_000,
    queries: Annotated[int, typer.Option(min=10, max=20_000, help="Queries to register.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=1, help="How long packets arrive.")] = 30,
    seed: Annotated[int, typer.Option(help="Another seed, other packets and queries.")] = 7,
    windows: Annotated[int, typer.Option(min=0, help="How many windows to compare with plain Spark SQL.")] = 50,
    state: Annotated[Path | None, typer.Option("--state", "-s", metavar="FOLDER", show_default=False,
                                               help="Keep everything in this folder; otherwise nothing stays.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines, also on a terminal.")] = False,
) -> None:
    """Watch a thousand queries share one stream of packets for about a minute, then check the answers.

    Packets are generated, skewed as traffic is, some out of order and some too late. At the end random windows of
    random queries are compared with plain Spark SQL over the same packets; the exit status is 2 if any differ.
    """
    from weft.demo.run import Options, run_demo

    equal = run_demo(Options(rows=rows, queries=queries, seconds=seconds, seed=seed, windows=windows, folder=state,
                             plain=plain))
    if not equal:
        raise OurFault("results differ from plain Spark SQL over the same rows; please report it with the lines above")
