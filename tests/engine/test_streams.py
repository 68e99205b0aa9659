"""Stream scripts give one transcript: shared, each query alone, and with a new engine after every step."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engine.script import Script, ScriptError
from tests.golden import check, golden_files, read_blocks

FILES = golden_files("streams", ".stream")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_queries_together(path: Path, rewrite: bool, tmp_path: Path, spark: SparkSession) -> None:
    script = Script(tmp_path / "state", spark)
    check(path, script.step, rewrite)
    script.close()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_new_engine_after_every_step(path: Path, tmp_path: Path) -> None:
    script = Script(tmp_path / "state", restarts=True)
    check(path, script.step)
    script.close()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_query_alone(path: Path, tmp_path: Path) -> None:
    """Solo equals shared, but for history: a query that comes late has what others kept, and alone nobody kept it."""
    blocks = read_blocks(path)
    late = any("register" in block.given for block in blocks[1:])
    whole = Script(tmp_path / "whole")
    for block in blocks:
        whole.step(block.given)
    whole.close()
    for name in [] if late else whole.queries:
        alone = Script(tmp_path / name, only=name)
        for block in blocks:
            mine = lines_of(name, alone.step(block.given))
            assert mine == lines_of(name, block.expected), f"{path}:{block.line}: {name} alone"
        alone.close()


def lines_of(name: str, text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith((f"{name} ", "watermark"))]


GOOD = "source s (k string, n int, at timestamp) time at watermark 0 seconds\nregister q: SELECT sum(n) AS s FROM s"


@pytest.mark.parametrize(
    "text",
    [
        "sauce s",
        "register q",
        "source s time at",
        GOOD + "\nrows",
        GOOD + "\nrows\na, 1",
        GOOD + "\nrows now\na, 1, 00:00:01",
    ],
)
def test_what_a_script_cannot_say_is_an_error(text: str, tmp_path: Path) -> None:
    script = Script(tmp_path / "state")
    with pytest.raises(ScriptError):
        script.step(text)
    script.close()


def test_a_wrong_answer_fails(tmp_path: Path) -> None:
    path = tmp_path / "wrong.stream"
    path.write_text(f"-- a script whose answer is wrong\n{GOOD}\nrows\na, 1, 00:00:01\n----\nq 2\nwatermark 1s\n")
    script = Script(tmp_path / "state")
    with pytest.raises(AssertionError, match=r"q 1"):
        check(path, script.step)
    script.close()
