"""`weft explain`, `queries` and `metrics` on a state that nothing has run on; none of them starts Spark."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import weft.testing
from tests.cli.command import refuse, run, succeed, succeed_json
from tests.cli.test_check import GOOD, write
from tests.simulation.level0 import PlainBatch, Row
from weft.cli.tables import queries_table
from weft.engine import Engine
from weft.spark.checkpoint import BatchMark

READING = """
import sys
from tests.cli.command import run
for command in ({commands}):
    assert run(*command.split(), "--state", {state!r}).exit_code == 0, command
context = sys.modules.get("pyspark.core.context")
assert context is None or context.SparkContext._gateway is None
"""


def test_queries(state: Path) -> None:
    shown = succeed("queries", "--state", state)
    assert "SELECT saddr, sum(length) AS bytes FROM packets" in shown
    found = succeed_json("queries", "--state", state)
    assert [one["name"] for one in found] == ["bytes", "totals"]
    assert set(found[0]) == {"name", "stream", "status", "window", "keep", "eager", "from_batch", "complete_from",
                             "registered_at", "sql"}
    assert (found[0]["status"], found[0]["window"]) == ("registered", "range 10 seconds")
    assert (found[1]["window"], found[1]["keep"]) == (None, "forever")


def test_queries_are_chosen(state: Path) -> None:
    assert [one["name"] for one in succeed_json("queries", "to*", "--state", state)] == ["totals"]
    assert succeed_json("queries", "--stream", "others", "--state", state) == []


def test_explain(state: Path) -> None:
    assert "node (saddr) from rows" in succeed("explain", "--state", state)
    assert succeed("explain", "bytes", "--state", state).startswith("query bytes\n")
    streams = succeed_json("explain", "--state", state)["streams"]
    assert sorted(node["dimensions"] for node in streams["packets"]["nodes"]) == [["proto"], ["saddr"]]
    (node,) = succeed_json("explain", "bytes", "--state", state)["streams"]["packets"]["nodes"]
    assert (node["readers"], node["kind"], node["windows"]) == (["bytes"], "windows", ["range 10 seconds"])


def test_explain_a_configuration_that_never_ran(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert "read by bytes" in succeed("explain", "--config", path)
    assert not (tmp_path / "state").exists()


def test_metrics(state: Path) -> None:
    assert "late_rows" in succeed("metrics", "--state", state)
    found = succeed_json("metrics", "--state", state)
    assert (found["queries"], found["streams"]["packets"]["rows"]) == (2, 0)
    assert found["streams"]["packets"]["recent_ticks"] == []
    assert succeed_json("metrics", "bytes", "--state", state)["status"] == "registered"


def run_tick(state: Path, second: int) -> None:
    """A tick of one packet, without Spark."""
    with Engine(state) as engine:
        ticker = weft.testing.ticker(engine, "packets")
        number = ticker.state.batch_id + 1
        row: Row = {"ts": second * 1_000_000, "saddr": "10.0.0.1", "proto": 6, "length": 40}
        ticker.run(PlainBatch(BatchMark("plain", number, f"offsets {number}"), [row]))


def test_metrics_for_people(state: Path) -> None:
    never = succeed("metrics", "--state", state)
    assert "{}" not in never and "NULL" not in never
    run_tick(state, 10)
    shown = succeed("metrics", "--state", state)
    lines = {line.split("  ")[0]: line.split("  ")[-1].strip() for line in shown.splitlines() if line[0] != " "}
    assert "{}" not in shown and "NULL" not in shown
    # In the format of all other moments, and no second is counted by millions.
    assert lines["watermark"] == "1970-01-01 00:00:10"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", lines["last_tick_at"])
    assert re.fullmatch(r"\d+ d \d+ h", lines["lag"]) and "lag_seconds" not in lines
    assert (lines["last tick: rows"], lines["last tick: jobs"]) == ("1", "0")
    stages = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
    assert {"plan", "spark", "merge", "commit", "tend"} <= stages
    assert succeed_json("metrics", "--state", state)["streams"]["packets"]["lag_seconds"] > 1e9


def test_queries_fit_into_any_terminal(state: Path) -> None:
    shown = succeed_json("queries", "--state", state)
    for width in (20, 40, 60, 80, 100, 200):
        terminal = Console(width=width, file=io.StringIO())
        terminal.print(queries_table(shown, width))
        said = terminal.file.getvalue()
        words = [line.split() for line in said.splitlines()]
        # No name is broken into pieces, and every query takes a few lines at most.
        assert sum(line[0].rstrip(":") in ("bytes", "totals") for line in words if line) == 2, said
        assert len(words) <= 12, said
        assert width < 60 or "SELECT saddr" in said
    assert "SELECT saddr, sum(length)" in said


@pytest.mark.parametrize("rest", [(), ("--format", "csv"), ("--json",)])
def test_following_ends_with_its_reader(state: Path, rest: tuple[str, ...]) -> None:
    """`weft results --follow | head -1` on a stream that is idle."""
    run_tick(state, 10)
    run_tick(state, 20)
    command = [sys.executable, "-m", "weft.cli", "results", "bytes", "--follow", "--every", "30", "--state", str(state)]
    with subprocess.Popen([*command, *rest], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as following:
        try:
            assert following.stdout is not None and following.stderr is not None
            assert following.stdout.readline()
            following.stdout.close()
            assert following.wait(20) == 0
            assert following.stderr.read() == b""
        finally:
            following.kill()


def test_reading_starts_no_spark(state: Path) -> None:
    commands = ("queries", "explain", "explain bytes", "metrics", "metrics bytes", "results bytes", "results totals")
    script = READING.format(commands=", ".join(map(repr, commands)), state=str(state))
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_state_is_found_beside_a_configuration(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(state.parent)
    assert "bytes" in succeed("queries")
    write(state.parent, GOOD)
    assert "bytes" in succeed("queries")
    assert "bytes" in succeed("queries", "--state", "weft.toml")
    monkeypatch.chdir(state)
    assert "bytes" in succeed("queries")


def test_a_folder_without_a_state_is_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuse("queries", code="no-state")
    refuse("queries", "--state", tmp_path / "nowhere", code="no-state")
    assert list(tmp_path.iterdir()) == []


def test_a_broken_catalog_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").write_text("this is no database, however long one looks at it" * 100)
    refuse("queries", "--state", tmp_path, code="catalog-unreadable")


def test_unknown_queries_name_the_near_ones(state: Path) -> None:
    for command in ("explain", "metrics", "results", "drop"):
        assert "Did you mean bytes?" in refuse(command, "byte", "--state", state, code="unknown-query")


def test_errors_as_json(state: Path) -> None:
    result = run("results", "byte", "--json", "--state", state)
    assert result.exit_code == 1
    assert result.stderr.startswith('{"error": {"code": "unknown-query", "message": "there is no query \'byte\'"')


def test_the_newest_window_with_rows_is_one_window(state: Path) -> None:
    assert succeed_json("results", "bytes", "--state", state, "--latest") == []
    for others in (["--follow"], ["--since", "2026-01-05"], ["--until", "2026-01-05"]):
        refuse("results", "bytes", "--state", state, "--latest", *others, code="latest-or-span")
