"""Every example runs as its README says, on less data, and shows what the README says one sees."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import run, share_session, succeed, succeed_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/weft.toml"))


@pytest.fixture(scope="module", params=NAMES)
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A copy of the example, with small data that has run."""
    folder = tmp_path_factory.mktemp("examples") / str(request.param)
    shutil.copytree(EXAMPLES / request.param, folder, ignore=shutil.ignore_patterns("in", "state"))
    rows = {"network-traffic": 6000, "payments": 1500, "hospital": 600}[str(request.param)]
    subprocess.run([sys.executable, folder / "generate.py", "--rows", str(rows)], check=True, timeout=60)
    assert "no problems" in succeed("check", folder / "weft.toml")
    with pytest.MonkeyPatch.context() as patch:
        share_session(patch, spark)
        result = run("run", folder / "weft.toml", "--available-now")
    assert result.exit_code == 0, result.output
    return folder


def results(example: Path, query: str) -> list[dict[str, Any]]:
    queries = {one["name"]: one for one in succeed_json("queries", "--state", example / "weft.toml")}
    span = ("--since", "2026-01-01") if queries[query]["window"] else ()
    found: list[dict[str, Any]] = succeed_json("results", query, "--state", example / "weft.toml", *span)
    return found


def test_every_query_has_results(example: Path) -> None:
    for query in succeed_json("queries", "--state", example / "weft.toml"):
        if query["name"] not in ("overload", "crowded"):  # their thresholds are for the README's amount of data
            assert results(example, query["name"]), query["name"]


def test_nothing_is_late(example: Path) -> None:
    streams = succeed_json("metrics", "--state", example / "weft.toml")["streams"]
    assert all(one["rows"] > 500 and one["late_rows"] == 0 for one in streams.values())


def test_what_there_is_to_see(example: Path) -> None:
    if example.name == "network-traffic":
        load = {one["window_start"][11:16]: one["bytes"] for one in results(example, "backbone_load")}
        assert min(load[minute] for minute in ("09:06", "09:07", "09:08")) > 1.3 * load["09:03"]
        top = [one for one in results(example, "top_talkers") if one["window_end"].startswith("2026-01-05T09:09")]
        assert top[0]["saddr"] == "10.7.0.3"
    elif example.name == "payments":
        stolen = [one for one in results(example, "card_velocity") if one["card"] == "card-stolen"]
        assert max(one["payments"] for one in stolen) == 30 and stolen[0]["countries"] > 1
    else:
        waits = {one["triage"]: one["middle"] for one in results(example, "waits")[-5:]}
        assert waits[2] < waits[4]
        assert all(0 <= one["share"] <= 1 for one in results(example, "breaches"))


@pytest.mark.parametrize("name", NAMES)
def test_readme_names_what_is_there(name: str) -> None:
    """Every command of the README is one of ours, over files and queries of the example."""
    text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    assert any("run" in command for command in commands) and any("results" in command for command in commands)
    queries = {path.stem for path in (EXAMPLES / name / "queries").glob("*.sql")}
    queries |= set(succeed_json("check", EXAMPLES / name / "weft.toml")["queries"])
    queries |= {shlex.split(command)[2] for command in commands if command.startswith("weft register ")}
    for command in commands:
        words = shlex.split(command)
        assert words[0] in ("weft", "python", "cd"), command
        if words[:2] in (["weft", "results"], ["weft", "explain"]) and len(words) > 2 and not words[2].startswith("-"):
            assert words[2] in queries, command
