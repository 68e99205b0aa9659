"""docs/errors.md: every code that Weft can raise has a heading there, and no heading is left over."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import weft
from tests.docs.markdown import DOCS, ROOT, blocks, headings
from weft import errors

PAGE = DOCS / "errors.md"
CODE = re.compile(r"[a-z]+(-[a-z]+)+")
CLASSES = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}


def raised() -> dict[str, list[str]]:
    """Every code in weft/, and where it stands."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "weft").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for code in codes_of(node):
                found.setdefault(code, []).append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    return found


def codes_of(node: ast.AST) -> Iterator[str]:
    """The code in a call that makes an error: its first argument, or the first code in a problem of a configuration."""
    if not isinstance(node, ast.Call):
        return
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if name in CLASSES - {"ConfigError"} or name == "__init__" and texts and CODE.fullmatch(texts[0]):
        first = node.args[0] if node.args else None
        assert isinstance(first, ast.Constant), f"{ast.unparse(node)}: the code of an error must be written out"
        yield first.value
    elif name == "Problem" or name == "add" and len(node.args) > 2:
        yield from (text for text in texts[:1] if CODE.fullmatch(text))


def test_every_code_has_a_heading_and_every_heading_a_code() -> None:
    codes = raised()
    assert len(codes) > 60
    described = {heading for heading in headings(PAGE) if CODE.fullmatch(heading)}
    assert {code: places for code, places in codes.items() if code not in described} == {}
    assert described - set(codes) == set()


def test_no_code_is_described_twice() -> None:
    described = [heading for heading in headings(PAGE) if CODE.fullmatch(heading)]
    assert len(described) == len(set(described))


def test_the_example_prints_what_stands_below_it(tmp_path: Path) -> None:
    example, printed = (block.text for block in blocks(PAGE)[:2])
    out = io.StringIO()
    with weft.Engine(tmp_path) as engine, contextlib.redirect_stdout(out):
        engine.add_stream("packets", source="rate", schema="ts timestamp, saddr string, length int", event_time="ts")
        exec(example, {"engine": engine, "weft": weft})
    assert out.getvalue().rstrip("\n") == printed
