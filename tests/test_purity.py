"""weft/algebra, weft/sql, weft/plan, weft/weave and weft/aggregates stay pure: no Spark, no database, no clock, no chance, no IO."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PURE = ("algebra", "sql", "plan", "weave", "aggregates")
FILES = sorted(path for folder in PURE for path in (ROOT / "weft" / folder).rglob("*.py"))
ALLOWED = {
    "__future__",
    "abc",
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    # for names that are loaded when they are used
    "importlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "sqlglot",
    "types",
    "typing",
    "unicodedata",
    "weft",
    # rules of time zones, which are the same each time they are looked up
    "zoneinfo",
}
NEVER = {
    "pyspark",
    "py4j",
    "duckdb",
    "pyarrow",
    "pandas",
    "numpy",
    "sqlalchemy",
    "fastapi",
    "time",
    "random",
    "os",
    "io",
    "pathlib",
    "socket",
    "subprocess",
    "threading",
    "logging",
    "uuid",
    "secrets",
    "tempfile",
}
CALLS = {"open", "print", "input", "exec", "eval", "__import__", "compile", "breakpoint"}
CLOCKS = {"now", "utcnow", "today", "fromtimestamp"}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """The full names of all modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say where from"
            found |= {node.module or ""} if node.module != "weft" else {f"weft.{name.name}" for name in node.names}
    return found


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 25
    assert not ALLOWED & NEVER


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_pure_modules_are_imported(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & NEVER, "keep Spark, databases, clocks and IO at the edge"
    assert roots <= ALLOWED, "is this one pure? then add it to the list"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_rest_of_weft_is_out_of_reach(path: Path) -> None:
    others = {name for name in imported(path) if name.split(".")[0] == "weft"}
    assert all(name == "weft.errors" or name.split(".")[1] in PURE for name in others), others


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_reads_or_writes_or_asks_the_time(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS, f"{path}:{node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in CLOCKS, f"{path}:{node.lineno}"


def test_the_check_itself_finds_what_it_should(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    import pyspark.sql\n    from weft import engine\n")
    assert imported(bad) == {"pyspark.sql", "weft.engine"}
