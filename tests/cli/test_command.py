"""The command itself: help with examples, completion, and whose fault a failure is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import refuse, run, succeed
from weft.cli import app

COMMANDS = ("run", "check", "explain", "queries", "results", "register", "drop", "metrics", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: str) -> None:
    text = succeed(command, "--help")
    assert "Examples" in text and f"weft {command}" in text
    assert f" {command} " in succeed("--help")


@pytest.mark.parametrize("line", ["frobnicate", "results", "results a --bogus", "results a --format xml",
                                  "demo --rows x"])
def test_wrong_arguments_are_the_users_fault(line: str) -> None:
    result = run(*line.split())
    assert result.exit_code == 1
    assert "Usage: weft" in result.stderr and "Traceback" not in result.stderr


def test_our_fault(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.handle.ContinuousQuery.result", lambda self: 1 // 0)
    result = run("results", "bytes", "--state", state)
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr and "this is a fault in Weft" in result.stderr


def test_what_spark_refuses_is_the_users_to_mend(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import AnalysisException

    def refused(self: object) -> None:
        raise AnalysisException("[PATH_NOT_FOUND] Path does not exist: file:/nowhere.\nmore")

    monkeypatch.setattr("weft.handle.ContinuousQuery.result", refused)
    assert "Spark refuses: [PATH_NOT_FOUND] Path does not exist: file:/nowhere." in refuse(
        "results", "bytes", "--state", state, code="spark-refused")


def test_version() -> None:
    assert succeed("--version").startswith("weft ")


def test_completion(state: Path) -> None:
    def complete(words: str, count: int) -> list[str]:
        environment = {"_WEFT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        return str(CliRunner().invoke(app, [], env=environment, prog_name="weft").stdout).split()

    assert complete("weft re", 1) == ["results", "register"]
    assert complete(f"weft results --state {state} b", 4) == ["bytes"]
    assert complete("weft results --state /nowhere b", 4) == []
