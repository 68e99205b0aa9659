"""Paths, modules, functions and links that the README and docs/ name exist."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, ROOT, headings, links, pages, prose, quoted

PATH = re.compile(r"(?:weft|tests|docs|benchmarks|examples|scripts|\.ci)(?:/[\w.-]+)+")
MODULE = re.compile(r"(?:weft|tests|benchmarks)(?:\.\w+)+")
CALL = re.compile(r"(?:(\w+)\.)?(\w+)\(\)")
# Pages must be true wherever they are read.
LOCAL = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|mnt)/")


def defined() -> set[str]:
    """Every function, method and class of weft/, methods with their class as well."""
    names: set[str] = set()
    for path in (ROOT / "weft").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.add(node.name)
    return names


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    named = {found for text in [*quoted(page), *re.findall(r"\*\*([\w/]+)\*\*", prose(page))]
             for found in PATH.findall(text)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_modules_exist(page: Path) -> None:
    named = {text for text in quoted(page) if MODULE.fullmatch(text) and not text.endswith(".toml")}
    public = set(importlib.import_module("weft").__all__)
    assert [name for name in sorted(named) if name.removeprefix("weft.") not in public
            and importlib.util.find_spec(name) is None] == []


def test_functions_of_the_architecture_exist() -> None:
    known = defined()
    named = {match for text in quoted(DOCS / "architecture.md") for match in CALL.findall(text)}
    assert len(named) > 20
    missing = [f"{owner}.{name}" if owner[:1].isupper() else name for owner, name in sorted(named)
               if (f"{owner}.{name}" if owner[:1].isupper() else name) not in known]
    assert missing == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        if target.startswith(("http://", "https://")):
            continue
        place = (page.parent / target) if target else page
        known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings(place)} \
            if anchor and place.is_file() else {anchor}
        if not place.exists() or anchor not in known:
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_no_page_names_a_place_on_somebodys_machine(page: Path) -> None:
    assert LOCAL.findall(page.read_text(encoding="utf-8")) == []


def test_every_folder_has_its_paragraph() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "weft").glob("*/__init__.py")}
    described = set(re.findall(r"\*\*(weft/\w+)\*\*", (DOCS / "architecture.md").read_text(encoding="utf-8")))
    assert folders <= described
