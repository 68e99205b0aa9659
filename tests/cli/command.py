"""The command line in this process: what a shell would see of it, without a shell."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

import weft.engine
from weft.cli import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKETS = "ts timestamp, saddr string, proto int, length int"


def run(*arguments: object, stdin: str | None = None) -> Result:
    """Run `weft` with some arguments."""
    return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin, prog_name="weft")


def succeed(*arguments: object, stdin: str | None = None) -> str:
    """What `weft` prints, when all goes well."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def succeed_json(*arguments: object) -> Any:
    """What `weft ... --json` prints."""
    return json.loads(succeed(*arguments, "--json"))


def refuse(*arguments: object, code: str, stdin: str | None = None) -> str:
    """What `weft` says when it refuses, which must be in these words: code, message, hint, no traceback, status 1."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 1, result.output
    assert f"[{code}]" in result.stderr, result.stderr
    assert "Traceback" not in result.output
    return str(result.stderr)


def share_session(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """Let commands use the tests' own session; they would start one and stop it in the end."""
    monkeypatch.setattr("weft.engine.Engine", partial(weft.engine.Engine, spark=spark))


def make_state(folder: Path) -> Path:
    """A state folder with one stream and two queries that nothing has run on."""
    with weft.engine.Engine(folder) as engine:
        engine.add_stream("packets", source="parquet", path=folder / "in", schema=PACKETS, event_time="ts")
        engine.register("SELECT saddr, sum(length) AS bytes FROM packets GROUP BY window(ts, '10 seconds'), saddr",
                        name="bytes")
        engine.register("SELECT proto, count(*) AS packets FROM packets GROUP BY proto", name="totals", keep="forever")
    return folder
