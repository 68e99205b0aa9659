"""Every promise names tests that exist, and operations.md knows every log message there is."""

from __future__ import annotations

import re

from tests.docs.markdown import DOCS, ROOT
from tests.engine.bad_input import CASES

TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_promise_names_tests_that_exist() -> None:
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    named = TEST.findall(text)
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named
               if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert missing == []


def test_every_promise_has_a_test() -> None:
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    without = [section.splitlines()[0] for section in sections if not TEST.search(section)]
    assert without == ["What is not promised"]


def test_the_number_of_bad_inputs_is_what_it_says() -> None:
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    assert re.findall(r"\((\d+) cases\)", text) == [str(sum(map(len, CASES.values())))]


def test_every_log_message_is_explained() -> None:
    known = (DOCS / "operations.md").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "weft").rglob("*.py"))
    messages = re.findall(r"\blog\.(?:info|warning|error)\(\s*\"([^\"]+)\"", source)
    assert len(messages) >= 4
    assert [message for message in messages if f"`{message}`" not in known] == []


def test_every_code_in_operations_is_an_error() -> None:
    text = (DOCS / "operations.md").read_text(encoding="utf-8")
    table = text[text.index("| code |"):text.index("## Upgrading")]
    errors = (DOCS / "errors.md").read_text(encoding="utf-8")
    codes = [code for line in table.splitlines()[2:] if line.startswith("|")
             for code in re.findall(r"`([\w-]+)`", line.split("|")[1])]
    assert len(codes) > 10
    assert [code for code in codes if f"### {code}\n" not in errors] == []
