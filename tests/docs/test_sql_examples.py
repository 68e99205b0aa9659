"""docs/sql.md: every block of SQL compiles or is refused as printed, and gives the result that is printed below it.

`pytest --rewrite` writes what came out into the page; the diff is then read by a person.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.docs.markdown import DOCS, Block, blocks, replace_block
from weft import ContinuousQuery, Engine, SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = DOCS / "sql.md"
DAY = "2026-01-05"


@dataclass(frozen=True)
class Example:
    """A block of SQL or Python, and the block of text below it, if there is one."""

    block: Block
    printed: Block | None

    @property
    def refused(self) -> bool:
        return self.printed is not None and self.printed.text.startswith("[")


def examples(language: str) -> list[Example]:
    found = blocks(PAGE)
    after = [*found[1:], None]
    return [Example(block, below if below is not None and below.language == "text" else None)
            for block, below in zip(found, after, strict=True) if block.language == language]


def show(value: Any) -> str:
    """A value as this page prints it."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}" if f"{value:%Y-%m-%d}" == DAY else f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, dict):
        return "{" + ", ".join(map(show, value.values())) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return "NaN" if isinstance(value, float) and math.isnan(value) else str(value)


def table_text(table: pa.Table) -> str:
    """A result in columns; numbers to the right."""
    cells = [[name, *map(show, table[name].to_pylist())] for name in table.column_names]
    right = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
             for field in table.schema]
    widths = [max(map(len, column)) for column in cells]
    lines = zip(*([cell.rjust(width) if to_right else cell.ljust(width) for cell in column]
                  for column, width, to_right in zip(cells, widths, right, strict=True)), strict=True)
    return "\n".join("  ".join(line).rstrip() for line in lines)


@dataclass(frozen=True)
class Ran:
    """The page after it ran: the query or the refusal of every block of SQL, and the names that its Python made."""

    queries: dict[str, ContinuousQuery | SqlError]
    names: dict[str, Any]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("sql_examples")
    write_rows(folder / "in")
    with Engine(folder / "state", spark=spark) as engine:
        names: dict[str, Any] = {"engine": engine}
        for example in examples("python"):
            if example.printed is None:
                exec(example.block.text.replace('"in/', f'"{folder}/in/'), names)
        queries: dict[str, ContinuousQuery | SqlError] = {}
        for place, example in enumerate(examples("sql")):
            sql = example.block.text
            try:
                queries[sql] = engine.register(sql, name=f"example {place}")
            except SqlError as error:
                queries[sql] = error
        engine.run_available()
        yield Ran(queries, names)


def write_rows(folder: Path) -> None:
    """The rows of the page as files; Spark takes files in the order of their age."""
    first, second, trades = (block.text for block in blocks(PAGE) if block.language == "csv")
    for age, (path, text) in enumerate([("packets/1.csv", first), ("packets/2.csv", second), ("trades/1.csv", trades)]):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + "\n")
        os.utime(folder / path, (1_700_000_000 + age, 1_700_000_000 + age))


def answer(found: ContinuousQuery | SqlError) -> str:
    if isinstance(found, SqlError):
        return str(found)
    return table_text(found.results() if "window(" in found.sql or "[RANGE" in found.sql else found.result())


def compare(wanted: list[tuple[Block, str]], rewrite: bool) -> None:
    """Every block of text holds what came out; the last is written first, so that the others stay where they are."""
    assert wanted
    if rewrite:
        for block, text in reversed(wanted):
            replace_block(PAGE, block, text)
        return
    wrong = [f"{PAGE}:{block.line}: printed\n{block.text}\nbut it gives\n{text}" for block, text in wanted
             if block.text != text]
    assert not wrong, "\n\n".join(wrong)


def test_every_block_of_sql_gives_what_is_printed_below_it(ran: Ran, rewrite: bool) -> None:
    compare([(example.printed, answer(ran.queries[example.block.text])) for example in examples("sql")
             if example.printed is not None], rewrite)


def test_every_block_of_sql_that_prints_no_error_is_accepted(ran: Ran) -> None:
    assert len(examples("sql")) >= 25
    refused = [example.block.line for example in examples("sql")
               if isinstance(ran.queries[example.block.text], SqlError) and not example.refused]
    assert not refused


def test_every_block_of_python_prints_what_stands_below_it(ran: Ran, rewrite: bool) -> None:
    wanted = []
    for example in examples("python"):
        if example.printed is not None:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(example.block.text, ran.names)
            wanted.append((example.printed, out.getvalue().rstrip("\n")))
    compare(wanted, rewrite)


def test_spellings_of_one_query_read_one_node(ran: Ran) -> None:
    text = PAGE.read_text(encoding="utf-8").split("\n")
    begin, end = text.index("## What is one query"), text.index("## What is refused")
    same = [ran.queries[example.block.text] for example in examples("sql") if begin < example.block.line < end]
    assert len(same) == 3
    nodes = {part.node for query in same for part in ran.names["engine"].registry.query(query.name).needs.parts}
    assert len(nodes) == 1
