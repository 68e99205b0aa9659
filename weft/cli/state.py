"""Which state folder a command means, and the engine on it. Opening a state starts no Spark."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.errors import EngineError, StateError
from weft.feeds.address import is_address

if TYPE_CHECKING:
    from weft.engine import Engine
    from weft.handle import ContinuousQuery

CATALOG = "catalog.sqlite"


def complete_query(context: typer.Context, incomplete: str) -> list[str]:
    """The names of queries that begin so, for the shell; nothing where there is no state."""
    try:
        with open_state(context.params.get("state")) as engine:
            return [query.name for query in engine.queries() if query.name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - a shell that completes must never see a traceback
        return []


StateOption = Annotated[str | None, typer.Option(
    "--state", "-s", envvar="WEFT_STATE", metavar="FOLDER|TOML", show_default=False,
    help="A state folder, or a weft.toml that names one. Without it: weft.toml or state/ in this folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def open_state(state: str | None) -> Engine:
    """The engine on an existing state; refuses a folder without a state, rather than making a new state."""
    from weft.engine import Engine

    folder, catalog = find_state(state)
    if catalog is None and not is_address(folder) and not (Path(folder) / CATALOG).exists():
        raise StateError("no-state", f"{folder} holds no state of Weft",
                         hint="Name the folder with --state, or start one with: weft run weft.toml.")
    return Engine(folder, catalog=catalog)


def find_query(engine: Engine, name: str) -> ContinuousQuery:
    """The query of this name; refuses an unknown name, with the known names that look like it."""
    names = [query.name for query in engine.queries()]
    if name not in names and not engine.registry.is_registered(name):
        near = get_close_matches(name, names, n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise EngineError("unknown-query", f"there is no query {name!r}", hint=f"{hint}`weft queries` lists them all.")
    return engine.query(name)


def find_state(state: str | None) -> tuple[str, str | None]:
    """The folder and the catalog that an option means, or that the current folder suggests."""
    if state is None:
        here = next((name for name, file in (("weft.toml", "weft.toml"), (".", CATALOG), ("state", f"state/{CATALOG}"))
                     if Path(file).exists()), None)
        if here is None:
            raise StateError("no-state", "there is no weft.toml and no state folder here",
                             hint="Name one with --state, or go to the folder of your weft.toml.")
        state = here
    if not state.endswith(".toml"):
        return state, None
    from weft.config import read_config

    config, _ = read_config(state)
    return config.state, config.catalog
