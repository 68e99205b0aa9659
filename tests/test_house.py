"""The rooms of the house: who may import whom, and who knows DuckDB.

`pytest --rewrite` draws the graph of the rooms into docs/architecture.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"

# Below all rooms.
CELLAR = ("errors", "failpoint")
# Each room imports only rooms to its left. TYPE_CHECKING imports count.
ROOMS = (
    *("algebra", "sql", "aggregates", "weave", "plan", "feeds", "segments", "backend", "passes", "store", "registry", "read"),
    *("watch", "optimize", "spark", "tick", "handle", "rows", "engine", "testing", "config", "terminal", "demo", "cli"),
)
# Left to be mended; each goes from here as soon as it is gone from the code.
EXCEPTIONS: set[tuple[str, str]] = set()

# Who computes with Arrow tables: the driver's backend; the kernel of level 0 that is not Spark; the answers of Spark
# before they are rows of the backend; what is shown.
COMPUTES = {
    "duckdb": {"weft.backend.duck", "weft.backend.functions", "weft.passes.kernel"},
    "weft.backend.duck.run_on": {"weft.backend.driver"},
    "weft.backend.duck.Duck": {"weft.backend.driver", "weft.store.folder"},
    "weft.backend.driver": {"weft.store.folder"},
    "weft.backend.tables": {"weft.backend.driver"},
    "weft.segments.cache.TableCache": {"weft.backend.driver", "weft.store.folder"},
    "pyarrow.compute": {
        "weft.backend.driver",
        "weft.backend.kinds",
        "weft.backend.runs",
        "weft.backend.small_merges",
        "weft.backend.tables",
        "weft.spark.batch",
        "weft.spark.parquet_files",
        "weft.passes.keeping",
        "weft.passes.kernel",
        "weft.passes.row_reader",
        "weft.terminal.values",
        "weft.testing.fed",
    },
}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """All that a module imports, wherever in it: modules, and names with their module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None and node.level == 0, "say where from"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@cache
def house() -> dict[str, frozenset[str]]:
    """What each module imports."""
    paths = (ROOT / "weft").rglob("*.py")
    return {module_of(path): frozenset(imports(ast.parse(path.read_text(encoding="utf-8")))) for path in paths}


def neighbours(module: str) -> frozenset[str]:
    """The other modules of ours that a module imports."""
    return (house()[module] & house().keys()) - {module, "weft"}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def rank(name: str) -> int:
    return -1 if name in CELLAR else ROOMS.index(name)


def upward() -> set[tuple[str, str]]:
    """The imports of rooms to the right."""
    return {
        (module, other)
        for module in house()
        if room(module) not in ("", "__main__")
        for other in neighbours(module)
        if room(other) != room(module) and rank(room(other)) >= rank(room(module))
    }


def test_every_module_is_in_a_room() -> None:
    rooms = {room(module) for module in house()}
    assert rooms - {"", "__main__"} == {*ROOMS, *CELLAR}


def test_rooms_import_only_rooms_to_their_left() -> None:
    assert upward() <= EXCEPTIONS


def test_no_exception_is_left_that_is_mended() -> None:
    assert upward() >= EXCEPTIONS


@pytest.mark.parametrize("what", COMPUTES)
def test_few_modules_compute_with_tables(what: str) -> None:
    """All others go through weft/backend/interface.py, so that another backend can do the same elsewhere."""
    assert {module for module, names in house().items() if what in names} == COMPUTES[what]


def test_the_interface_of_backends_is_free_of_any() -> None:
    """A backend in Spark's tasks, or one in a test, loads neither DuckDB nor Arrow for it."""
    tree = ast.parse((ROOT / "weft" / "backend" / "interface.py").read_text(encoding="utf-8"))
    loaded = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {name.split(".")[0] for node in loaded for name in imports(node)}
    assert roots == {"__future__", "collections", "dataclasses", "typing", "weft"}


def drawn() -> str:
    """The graph of the rooms as Mermaid, without the arrows that follow from others, exceptions and what is below all."""
    below: dict[str, set[str]] = {name: set() for name in ROOMS}
    for module in house():
        for other in neighbours(module):
            if room(module) in below and room(other) in below and (module, other) not in EXCEPTIONS:
                below[room(module)].add(room(other))
        below.get(room(module), set()).discard(room(module))
    lines = [
        f"    {name} --> {other}"
        for name in reversed(ROOMS)
        for other in sorted(below[name], key=ROOMS.index)
        if not any(other in reached(between, below) for between in below[name] - {other})
    ]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def reached(start: str, below: dict[str, set[str]]) -> set[str]:
    """All rooms that a room stands on."""
    return set(_walk([start], below)) - {start}


def _walk(rooms: Iterable[str], below: dict[str, set[str]]) -> Iterator[str]:
    for name in rooms:
        yield name
        yield from _walk(below[name], below)


def test_the_graph_in_the_architecture_is_that_of_the_code(rewrite: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- rooms, drawn by tests/test_house.py -->\n", "\n<!-- end of the rooms -->"
    before, rest = page.split(begin)
    shown, after = rest.split(end)
    if rewrite:
        PAGE.write_text(before + begin + drawn() + end + after, encoding="utf-8")
    else:
        assert shown == drawn(), "pytest --rewrite tests/test_house.py draws it again"


def test_the_check_itself_finds_what_it_should() -> None:
    tree = ast.parse("def f():\n    import duckdb\n    from weft.segments.cache import TableCache\n")
    assert set(imports(tree)) == {"duckdb", "weft.segments.cache", "weft.segments.cache.TableCache"}
    assert rank("errors") < rank("algebra") < rank("demo")
    assert room("weft.store.seal") == "store" and room("weft") == ""
