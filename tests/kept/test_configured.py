"""`retain` in weft.toml, and what the command line shows of kept rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.kept.rows import row
from weft import Engine
from weft.cli.app import app
from weft.config import load_config
from weft.errors import ConfigError
from weft.testing import feed

TEXT = """
[streams.s]
source = "parquet"
path = "in"
schema = "ts timestamp, k string, v int"
event_time = "ts"
max_ahead = "any"
{retain}

[queries]
q = "SELECT k, count(*) AS n FROM s GROUP BY k"
"""


def written(folder: Path, retain: str) -> Path:
    (folder / "weft.toml").write_text(TEXT.format(retain=retain))
    return folder / "weft.toml"


def test_a_configuration_says_how_long_rows_are_kept(tmp_path: Path) -> None:
    with Engine(tmp_path / "state") as engine:
        load_config(written(tmp_path, 'retain = "90 minutes"')).apply(engine)
        assert engine.registry.stream("s").retain == "90 minutes"
        load_config(written(tmp_path, "")).apply(engine)
        assert engine.registry.stream("s").retain == "90 minutes", "what is not said stays"
        load_config(written(tmp_path, 'retain = "never"')).apply(engine)
        assert engine.registry.stream("s").retain == "never"


@pytest.mark.parametrize("retain, code", [('"0 seconds"', "bad-retain"), ('"soon"', "bad-duration"), ("7", "bad-type")])
def test_a_retention_that_makes_no_sense_is_told_with_its_place(tmp_path: Path, retain: str, code: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(written(tmp_path, f"retain = {retain}"))
    (problem,) = refused.value.problems
    assert problem.code == code and problem.position is not None and problem.position.line == 8


def test_the_command_line_shows_what_is_kept(tmp_path: Path) -> None:
    with Engine(tmp_path / "state") as engine:
        load_config(written(tmp_path, 'retain = "forever"')).apply(engine)
        feed(engine, "s", [row(1), row(2)])
    shown = CliRunner().invoke(app, ["metrics", "--state", str(tmp_path / "state")]).output
    assert "kept: retain" in shown and "forever" in shown and "kept: rows" in shown
    said = json.loads(CliRunner().invoke(app, ["metrics", "--json", "--state", str(tmp_path / "state")]).output)
    assert said["streams"]["s"]["kept"]["rows"] == 2
