"""What is stored reads back as what it was, whatever it is, through JSON as text; what is damaged is refused."""

from __future__ import annotations

import ast
import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given

from tests.algebra.trees import EXPRESSIONS, QUERIES, RELATIONS, TYPES, WINDOWS
from tests.golden import golden_files, read_blocks
from tests.sql.fakes import STREAMS, FakeAggregates
from weft.algebra.expressions import Column, Expression, Literal
from weft.algebra.query import Query
from weft.algebra.relations import Relation
from weft.algebra.stored import CLASSES, from_json, to_json
from weft.algebra.types import DOUBLE, INT, DataType
from weft.algebra.windows import Window
from weft.sql.bind import compile_query, compile_relation


def through_text(value: object) -> Any:
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


@given(EXPRESSIONS)
def test_expressions_read_back(expression: Expression) -> None:
    assert through_text(expression) == expression


@given(WINDOWS)
def test_windows_read_back(window: Window) -> None:
    assert through_text(window) == window


@given(RELATIONS)
def test_relations_read_back(relation: Relation) -> None:
    assert through_text(relation) == relation


@given(QUERIES)
def test_queries_read_back_and_equal_ones_have_equal_forms(query: Query) -> None:
    again = through_text(query)
    assert again == query and str(again) == str(query) and to_json(again) == to_json(query)


@given(TYPES)
def test_types_read_back(kind: DataType) -> None:
    assert through_text(kind) == kind


@pytest.mark.parametrize("path", golden_files("parse"), ids=lambda path: path.stem)
def test_whatever_is_compiled_reads_back(path: Path) -> None:
    for block in read_blocks(path):
        query = compile_query(block.given, STREAMS, FakeAggregates())
        assert through_text(query) == query, f"{path}:{block.line}"
        relation = compile_relation(block.given, STREAMS, FakeAggregates())
        assert through_text(relation) == relation, f"{path}:{block.line}"


def test_every_kind_of_expression_window_and_relation_has_a_form() -> None:
    for kind in (*get_args(Expression), *get_args(Window), *get_args(Relation)):
        assert is_dataclass(kind) and CLASSES[kind.__name__] is kind


def test_the_highest_query_that_is_compiled_can_be_stored() -> None:
    sql = "SELECT sum(length" + " + 1.5" * 90 + ") AS n FROM packets"
    query = compile_query(sql, STREAMS, FakeAggregates())
    assert through_text(query) == query


def test_values_that_are_equal_in_python_and_mean_different_things_stay_different() -> None:
    values = [1, 1.0, True, 0, 0.0, -0.0, False, "1", None, float("inf")]
    forms = [json.dumps(to_json(Literal(value, DOUBLE))) for value in values]
    assert len(set(forms)) == len(values)
    assert [repr(from_json(json.loads(form)).value) for form in forms] == list(map(repr, values))


def test_the_form_is_the_one_that_catalogs_hold() -> None:
    """Whoever changes this raises FORMAT."""
    sql = "SELECT port, sum(length) AS n FROM packets WHERE proto = 6 GROUP BY port, window(ts, '10 seconds') LIMIT 3"
    port, length, proto = ({"is": "Column", "name": name, "type": {"type": "int"}} for name in ("port", "length", "proto"))
    total = {"is": "Aggregate", "function": "sum", "arguments": [length], "type": {"type": "bigint"}}
    six = {"is": "Literal", "value": 6, "type": {"type": "int"}}
    assert to_json(compile_query(sql, STREAMS, FakeAggregates())) == {
        "is": "Query",
        "blocks": [
            {
                "is": "Block",
                "feed": "packets",
                "window": {"is": "Sliding", "range": {"micros": 10_000_000}, "slide": {"micros": 10_000_000}},
                "groups": [port],
                "where": {"is": "Call", "function": "=", "arguments": [proto, six], "type": {"type": "boolean"}},
                "aggregates": [total],
            }
        ],
        "finish": {
            "is": "Finish",
            "select": [
                {"is": "SelectItem", "name": "port", "expression": port},
                {"is": "SelectItem", "name": "n", "expression": total},
            ],
            "limit": 3,
        },
    }


@pytest.mark.parametrize(
    "form",
    [
        {"is": "Table", "name": "t"},
        {"is": "Column", "name": "a"},
        {"is": "Column", "name": "a", "type": {"type": "int"}, "of": "s"},
        {"is": "Sliding", "range": {"micros": 1}, "slide": {"micros": 2}},
        {"double": "much"},
        {"decimal": "much"},
        {"date": 5},
        {"micros": None},
        {"type": "decimal(5"},
        {"type": "decimal(5,9)"},
        {"double": "1.0", "decimal": "1.0"},
        {},
    ],
)
def test_what_nothing_is_stored_as_is_refused(form: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(form)


def test_what_is_not_of_the_algebra_has_no_form() -> None:
    with pytest.raises(TypeError, match="set has no stored form"):
        to_json({1})
    with pytest.raises(TypeError, match="object has no stored form"):
        to_json((Column("a", INT), object()))


def test_nothing_of_the_algebra_imports_the_parser() -> None:
    files = sorted((Path(__file__).parents[2] / "weft" / "algebra").glob("*.py"))
    trees = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    imported = {
        (name, module)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        for module in ([one.name for one in node.names] if isinstance(node, ast.Import)
                       else [node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }
    assert "stored.py" in trees
    assert {one for one in imported if one[1].startswith(("sqlglot", "weft.sql"))} == set()
