"""`weft ask`: a query, once, over what the state holds; without Spark, and nothing is registered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.results import Format, parse_moment, write
from weft.cli.state import JsonOption, StateOption, open_state
from weft.terminal.output import print_json, say

EXAMPLES = """[bold]Examples[/bold]

weft ask "SELECT saddr, sum(length) FROM packets GROUP BY window(ts, '1 minute'), saddr"

weft ask "SELECT count(*) FROM packets" --explain

weft ask "$(cat talkers.sql)" --at 2026-01-01T12:00 --format csv"""


def ask(
    sql: Annotated[str, typer.Argument(help="The query.")],
    at: Annotated[str | None, typer.Option(help="The newest window that ends at this moment or before.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="From where it is answered, and what that costs.")] = False,
    form: Annotated[Format, typer.Option("--format", help="How to write the answer.")] = Format.TABLE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a query once: its newest closed window, or without a window its totals. Nothing is registered.

    The answer is that of the same query registered before the first row; what stored groups and kept rows cannot say
    is refused, with what would be needed.
    """
    moment = parse_moment("--at", at)
    with open_state(state) as engine:
        if explain:
            text = engine.ask(sql, at=moment, explain=True)
            if as_json:
                print_json({"explain": text.splitlines()})
            else:
                print(text)
            return
        table = engine.ask(sql, at=moment)
        write(table, Format.JSON if as_json else form, output)
        if not table.num_rows:
            say("no group has rows here, or HAVING leaves none")
