"""Golden files of the SQL front end: what is accepted becomes one canonical query, what is refused reads well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import check, golden_files, read_blocks
from tests.sql.fakes import STREAMS, FakeAggregates
from weft.errors import SqlError
from weft.sql.bind import compile_query

CODES = {
    "bad-pattern", "bad-window", "duplicate-name", "forbidden-function", "misplaced-aggregate", "nested-aggregate",
    "nondeterministic-function", "not-a-select", "not-a-stream", "not-grouped",
    "several-statements", "syntax-error", "too-large", "unknown-column", "unknown-function", "unknown-stream",
    "unsupported-clause", "unsupported-type", "wrong-type", "bad-duration",
}


def accepted(sql: str) -> str:
    return str(compile_query(sql, STREAMS, FakeAggregates()))


def refused(sql: str) -> str:
    try:
        query = compile_query(sql, STREAMS, FakeAggregates())
    except SqlError as error:
        return str(error)
    return f"ACCEPTED\n{query}"


@pytest.mark.parametrize("path", golden_files("parse"), ids=lambda path: path.stem)
def test_accepted(path: Path, rewrite: bool) -> None:
    check(path, accepted, rewrite)


@pytest.mark.parametrize("path", golden_files("errors"), ids=lambda path: path.stem)
def test_refused(path: Path, rewrite: bool) -> None:
    check(path, refused, rewrite)


def test_the_files_hold_enough_and_no_refusal_is_missing() -> None:
    assert sum(len(read_blocks(path)) for path in golden_files("parse")) >= 150
    blocks = [block for path in golden_files("errors") for block in read_blocks(path)]
    assert len(blocks) >= 250
    assert {block.expected.partition("]")[0].lstrip("[") for block in blocks} == CODES


def test_every_refusal_has_a_place_or_is_about_the_whole_text() -> None:
    without = [block.given for path in golden_files("errors") for block in read_blocks(path)
               if "(line " not in block.expected]
    assert without == ["-- nothing but a comment", ";;;"]


def test_spellings_of_one_predicate_are_one_query() -> None:
    """The blocks of predicates.sql come in runs of equal answers; there are fewer answers than spellings by half."""
    blocks = read_blocks(next(path for path in golden_files("parse") if path.stem == "predicates"))
    assert len({block.expected for block in blocks}) * 2 < len(blocks)
