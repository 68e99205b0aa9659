"""Golden files: what goes in and what comes out, side by side, in blocks that a person can read and a machine checks.

    -- the first line says what the file proves
    what goes in
    ----
    what comes out
    ====
    the next block

`pytest --rewrite` writes what came out into the files; the diff is then read by a person. Anything that looks like a
separator and is none is an error, and so is a file without blocks: a test that checks nothing must not pass.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
ANSWER, NEXT = "----", "===="
LOOKS_LIKE_SEPARATOR = re.compile(r"(-{3,}|={3,}).*")


class GoldenError(Exception):
    """A golden file that cannot be read as one."""


@dataclass(frozen=True)
class Block:
    """One case: what goes in, what should come out, and the line it starts on."""

    given: str
    expected: str
    line: int


def golden_files(folder: str, suffix: str = ".sql") -> list[Path]:
    """The files of a folder under tests/golden, by name; there must be some."""
    found = sorted((FOLDER / folder).glob(f"*{suffix}"))
    if not found:
        raise GoldenError(f"{FOLDER / folder} holds no {suffix} files")
    return found


def read_blocks(path: Path) -> list[Block]:
    """The blocks of a file; refuses what is not clearly one."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if not lines[0].startswith("-- ") or len(lines[0]) < 10:
        raise GoldenError(f"{path}:1: the first line must be a comment that says what the file proves")
    blocks: list[Block] = []
    given: list[str] = []
    expected: list[str] | None = None
    start = 2
    for number, line in enumerate([*lines[1:], NEXT], start=2):
        if line == NEXT:
            if expected is None or not "".join(given).strip():
                raise GoldenError(f"{path}:{start}: a block needs a text, a line {ANSWER} and an answer")
            blocks.append(Block("\n".join(given), "\n".join(expected).rstrip("\n"), start))
            given, expected, start = [], None, number + 1
        elif line == ANSWER and expected is None:
            expected = []
        elif LOOKS_LIKE_SEPARATOR.fullmatch(line):
            raise GoldenError(f"{path}:{number}: unknown header {line!r}")
        else:
            (given if expected is None else expected).append(line)
    return blocks


def check(path: Path, produce: Callable[[str], str], rewrite: bool = False) -> None:
    """Every block gives its answer; with `rewrite` the file is written anew instead."""
    blocks = read_blocks(path)
    answers = [produce(block.given) for block in blocks]
    if rewrite:
        heading = path.read_text(encoding="utf-8").split("\n", 1)[0]
        body = f"\n{NEXT}\n".join(f"{block.given}\n{ANSWER}\n{answer}"
                                  for block, answer in zip(blocks, answers, strict=True))
        path.write_text(f"{heading}\n{body}\n", encoding="utf-8")
        return
    wrong = [_difference(path, block, answer) for block, answer in zip(blocks, answers, strict=True)
             if answer != block.expected]
    assert not wrong, "\n\n".join(wrong)


def _difference(path: Path, block: Block, answer: str) -> str:
    lines = difflib.ndiff(block.expected.split("\n"), answer.split("\n"))
    return f"{path}:{block.line}: (- expected, + got)\n{block.given}\n{ANSWER}\n" + "\n".join(lines)
