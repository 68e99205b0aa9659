"""`weft register`, `weft drop`, `weft adopt`: changes through the catalog, whether an engine runs on the state or not.

A running engine takes them over at its next tick, by the catalog's revision.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.state import JsonOption, StateOption, complete_query, find_query, open_state
from weft.errors import EngineError
from weft.terminal.output import print_json

REGISTER_EXAMPLES = """[bold]Examples[/bold]

weft register tcp_bytes "SELECT sum(length) AS bytes FROM packets WHERE proto = 6 GROUP BY window(ts, '1 minute')"

weft register top_talkers --file top.sql --keep forever --state state/

cat top.sql | weft register top_talkers -"""
DROP_EXAMPLES = """[bold]Examples[/bold]

weft drop tcp_bytes

weft drop a b c --state examples/payments/weft.toml"""

ADOPT_EXAMPLES = """[bold]Examples[/bold]

weft adopt packets --state state/"""


def register(
    name: Annotated[str, typer.Argument(help="The query's name: its handle for good.")],
    sql: Annotated[str | None, typer.Argument(help="The query; - reads it from standard input.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the query from a file.")] = None,
    keep: Annotated[str | None, typer.Option(help="How long closed windows stay readable, or 'forever'.")] = None,
    eager: Annotated[bool | None, typer.Option(help="Finish windows in the tick that closes them.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a query; it takes effect at the next tick. Again with the same definition does nothing.

    Again with another --keep or --eager changes just that. A new query is kept for 7 days, and not eager, unless said.
    Says how much state the query can need.
    """
    text = _text(sql, file)
    with open_state(state) as engine:
        before = engine.registry.queries().get(name)
        query = engine.register(text, name=name, keep=keep, eager=eager)
        now = engine.registry.query(name)
        if before is None:
            status, done, effect = query.status, "registered", "it takes effect at the stream's next tick"
        elif (before.keep, before.eager) == (now.keep, now.eager):
            status, done, effect = "unchanged", "unchanged", "it was there already"
        else:
            keep_text = now.row.definition.keep_text
            ahead = "finished ahead" if now.eager else "made when somebody asks"
            status, done, effect = "changed", "changed", f"its windows are kept for {keep_text}, and {ahead}"
        if as_json:
            print_json({"name": name, "status": status, "sql": query.sql, "bound": str(query.bound)})
        else:
            print(f"query {name!r} {done}: {effect}")
            print(f"  state: {query.bound}")


def drop(
    names: Annotated[list[str], typer.Argument(help="The queries to forget.", autocompletion=complete_query)],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop and forget queries; no other query notices. None is dropped unless all of them exist."""
    with open_state(state) as engine:
        handles = [find_query(engine, name) for name in dict.fromkeys(names)]
        for handle in handles:
            handle.drop()
        if as_json:
            print_json({"dropped": [handle.name for handle in handles]})
        else:
            for handle in handles:
                print(f"query {handle.name!r} dropped: what only it needed goes at the stream's next tick")


def adopt(
    stream: Annotated[str, typer.Argument(help="The stream whose checkpoint was lost or replaced.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with the checkpoint that a stream has now, though it is not the one that was counted with.

    Every row that it hands over is counted, also one that was counted before: take such rows away first.
    """
    with open_state(state) as engine:
        engine.adopt(stream)
        if as_json:
            print_json({"adopted": stream})
        else:
            print(f"stream {stream!r} goes on with the checkpoint that its next batch is of")


def _text(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise EngineError("no-sql", "the query must be given once", hint='Give "SELECT ...", - or --file q.sql.')
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EngineError("unreadable-file", f"{file} cannot be read: {error}", hint="Check its name.") from None
    assert sql is not None
    return sys.stdin.read() if sql == "-" else sql
