"""docs/api.md and docs/command_line.md: every public call, metric, command, option and key is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

import weft
from tests.docs.markdown import DOCS, blocks, generated, regenerate
from weft.cli.app import app
from weft.config import load_config
from weft.config.read import AGGREGATE_KEYS, KEYS, QUERY_KEYS, STREAM_KEYS

API = DOCS / "api.md"
COMMANDS = DOCS / "command_line.md"
# Explained once, above all commands.
COMMON = {"help", "as_json"}


@pytest.mark.parametrize("one, name", [(weft.Engine, "engine"), (weft.ContinuousQuery, "q")])
def test_every_public_call_is_described(one: type, name: str) -> None:
    text = API.read_text(encoding="utf-8")
    public = [key for key in vars(one) if not key.startswith("_")]
    assert [key for key in public if not re.search(rf"\b{name}\.{key}\b", text)] == []


def test_every_metric_is_described(tmp_path: Path) -> None:
    text = API.read_text(encoding="utf-8")
    with weft.Engine(tmp_path) as engine:
        engine.add_stream("packets", source="rate", schema="ts timestamp, length int", event_time="ts")
        query = engine.register("SELECT count(*) AS n FROM packets", name="n")
        measured = {**engine.metrics(), **engine.metrics()["streams"]["packets"], **query.metrics()}
    assert [key for key in measured if f"`{key}`" not in text] == []


def commands_text() -> str:
    group: Any = typer.main.get_command(app)
    parts = []
    for name, command in group.commands.items():
        lines = [f"## weft {name}", "", summary(command), ""]
        given = [one for one in command.params if one.name not in COMMON and one.envvar != "WEFT_STATE"]
        lines += [f"- `{', '.join(one.opts) if one.param_type_name == 'option' else one.name.upper()}`: {one.help}"
                  for one in sorted(given, key=lambda one: one.param_type_name)]
        parts.append("\n".join(lines).rstrip("\n") + "\n")
    return "\n" + "\n".join(parts) + "\n"


def summary(command: Any) -> str:
    return "\n\n".join(" ".join(part.split()) for part in command.help.split("\n\n"))


def test_every_command_is_described_as_its_help_says(rewrite: bool) -> None:
    if rewrite:
        regenerate(COMMANDS, "commands", commands_text())
    assert generated(COMMANDS, "commands") == commands_text()


def test_the_configuration_is_whole_and_names_every_key(tmp_path: Path) -> None:
    text = next(block.text for block in blocks(COMMANDS) if block.language == "toml")
    (tmp_path / "weft.toml").write_text(text)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "all.sql").write_text("SELECT count(*) AS packets FROM packets")
    (tmp_path / "sizes.sql").write_text("SELECT geometric_mean(length) AS size FROM packets")
    config = load_config(tmp_path / "weft.toml")
    assert set(config.queries) == {"per_port", "tcp_bytes", "sizes", "all"}
    keys = {*KEYS, *STREAM_KEYS, *QUERY_KEYS, *AGGREGATE_KEYS} - {"catalog"}
    assert [key for key in keys if not re.search(rf"(^|[\[{{ .]){key}( =|\]|\.)", text, re.MULTILINE)] == []
    assert "`catalog`" in COMMANDS.read_text(encoding="utf-8")
