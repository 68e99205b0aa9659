"""The pages name no metric that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS

CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[2] / "weft").rglob("*.py")))
NAME = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")


@pytest.mark.parametrize("page", ["sql.md", "operations.md", "guarantees.md", "command_line.md", "optimizer.md", "api.md"])
def test_what_is_named_beside_metrics_is_there(page: str) -> None:
    paragraphs = (DOCS / page).read_text(encoding="utf-8").split("\n\n")
    named = {name for paragraph in paragraphs if "metrics()" in paragraph for name in NAME.findall(paragraph)}
    assert [name for name in sorted(named) if name not in CODE] == []
