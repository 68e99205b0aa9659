"""README.md: the example is whole, and prints what the README says it prints.

`pytest --rewrite` writes what it printed into the README.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import weft
from tests.docs.markdown import ROOT, Block, blocks, quoted, replace_block
from weft.spark.level0 import statements

README = ROOT / "README.md"
SECONDS = 300


def block(language: str) -> Block:
    found = [one for one in blocks(README) if one.language == language]
    assert len(found) == 1
    return found[0]


@pytest.mark.spark
@pytest.mark.timeout(SECONDS + 60)
def test_the_example_prints_what_stands_below_it(tmp_path: Path, rewrite: bool) -> None:
    # A process of its own, since the example starts Spark and ends it again.
    done = subprocess.run(
        [sys.executable, "-c", block("python").text],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if rewrite:
        replace_block(README, block("text"), done.stdout.rstrip("\n"))
    assert done.stdout.rstrip("\n") == block("text").text


def test_what_it_says_of_further_queries(tmp_path: Path) -> None:
    """More protocols, windows in multiples of ten seconds and averages: no job and no node more."""
    example = block("python").text
    setup = example[example.index("    engine.add_stream"):example.index("    engine.run_available")]
    with weft.Engine(tmp_path) as engine:
        exec(textwrap.dedent(setup), {"engine": engine})
        before = engine.plan("packets")
        engine.register_all({
            f"more {place}": f"SELECT saddr, avg(length) AS mean, avg(port) AS port FROM packets WHERE proto = {place} "
            f"GROUP BY window(ts, '{place % 7 + 2}0 seconds', '{place % 2 + 1}0 seconds'), saddr"
            for place in range(500)})
        after = engine.plan("packets")
    assert len(before.network.nodes) == len(after.network.nodes) == 2
    assert len(statements(before.network)) == len(statements(after.network)) == 1


def test_the_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = "\n".join([block("sh").text, *quoted(README)])
    named = set(re.findall(r"^make ([a-z]+)", commands, re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
