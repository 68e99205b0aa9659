"""Golden files of the algebra: the tree that a text becomes, before it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import check, golden_files
from tests.sql.fakes import STREAMS, FakeAggregates
from weft.algebra.relations import tree_text
from weft.sql.bind import compile_relation


@pytest.mark.parametrize("path", golden_files("relations"), ids=lambda path: path.stem)
def test_the_tree_of_a_text(path: Path, rewrite: bool) -> None:
    check(path, lambda sql: tree_text(compile_relation(sql, STREAMS, FakeAggregates())), rewrite)
