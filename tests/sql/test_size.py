"""What repeats its operands is bounded by what it becomes: refused at once, or bound, named and printed in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.sql.fakes import STREAMS, FakeAggregates
from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import define_aggregate
from weft.algebra.expressions import Call, Column, Expression, Literal
from weft.algebra.size import LETTERS_PER_PART, MAX_WRITTEN, size
from weft.algebra.types import BOOLEAN, INT, STRING
from weft.errors import SqlError
from weft.sql.bind import compile_query
from weft.sql.names import MAX_DERIVED_NAME, name_of
from weft.sql.parse import parse_expression

# What doubles with every level takes hours at thirty of them; nothing here takes a second.
PATIENCE = 3.0


def nested(wrap: Callable[[str], str], levels: int, inside: str) -> str:
    for _ in range(levels):
        inside = wrap(inside)
    return inside


def where(condition: str) -> str:
    return f"SELECT count(*) FROM trades WHERE {condition}"


DOUBLING: dict[str, Callable[[int], str]] = {
    "nullif": lambda levels: where(nested(lambda x: f"nullif({x}, 1)", levels, "quantity") + " = 1"),
    "between": lambda levels: where(nested(lambda x: f"({x} BETWEEN FALSE AND TRUE)", levels, "settled")),
    "case": lambda levels: where(nested(lambda x: f"CASE {x} WHEN 1 THEN 1 WHEN 2 THEN 2 END", levels, "quantity") + " = 1"),
    "case of an aggregate": lambda levels: "SELECT " + nested(
        lambda x: f"CASE {x} WHEN 1 THEN 1 WHEN 2 THEN 2 END", levels, "sum(quantity)") + " FROM trades",
    "in": lambda levels: where(nested(lambda x: f"({x} IN (TRUE, FALSE))", levels, "settled")),
    "a group": lambda levels: "SELECT count(*) FROM trades GROUP BY " + nested(lambda x: f"nullif({x}, 1)", levels, "quantity"),
    "beside a group": lambda levels: "SELECT quantity + 1, " + nested(
        lambda x: f"nullif({x}, 1)", levels, "max(quantity)") + " AS x FROM trades GROUP BY quantity + 1 HAVING x = 1",
}
SUM = " + ".join(f"sum(quantity + {n})" for n in range(90))
REPEATING = {
    "an alias in HAVING": f"SELECT {SUM} AS x FROM trades HAVING " + " OR ".join(f"x > {n}" for n in range(600)),
    "an alias in ORDER BY": f"SELECT {SUM} AS x FROM trades ORDER BY " + ", ".join(["x"] * 600),
    "an ordinal in ORDER BY": f"SELECT {SUM} FROM trades ORDER BY " + ", ".join(["1"] * 600),
    "fifty groups": "SELECT count(*) FROM trades GROUP BY " + ", ".join(
        nested(lambda x, n=n: f"nullif({x}, {n})", 10, "quantity") for n in range(50)),
    "an alias in concat": "SELECT " + nested(lambda x: f"nullif({x}, 'a')", 9, "symbol") +
        " AS x FROM trades GROUP BY x HAVING concat(" + ", ".join(["x"] * 900) + ") = 'y'",
    "a long string": where(nested(lambda x: f"CASE {x} WHEN 'a' THEN 'b' WHEN 'c' THEN 'd' END", 8, f"'{'x' * 50_000}'") + " = 'a'"),
    "a long string in a list": where(f"CASE WHEN TRUE THEN '{'x' * 50_000}' END IN (" + ", ".join(
        f"concat(symbol, '{n}')" for n in range(500)) + ")"),
}


def compiled(sql: str) -> str:
    """The code of a refusal, or nothing for a query, which is printed as well."""
    start = time.process_time()
    try:
        str(compile_query(sql, STREAMS, FakeAggregates()))
        code = ""
    except SqlError as error:
        assert error.hint
        code = error.code
    assert time.process_time() - start < PATIENCE
    return code


@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_is_taken_up_to_a_size_and_refused_past_it(name: str) -> None:
    codes = [compiled(DOUBLING[name](levels)) for levels in range(1, 29)]
    assert codes[:6] == [""] * 6, "a few levels are a usual query"
    assert codes[12:] == ["too-large"] * 16
    assert codes == sorted(codes)


@pytest.mark.parametrize("name", REPEATING)
def test_what_is_repeated_too_often_is_refused(name: str) -> None:
    assert compiled(REPEATING[name]) == "too-large"


@pytest.mark.parametrize("sql", [
    f"SELECT {SUM} AS x FROM trades HAVING x BETWEEN 1 AND 2 ORDER BY x, 1 DESC",
    f"SELECT quantity + 1, {SUM} AS x FROM trades GROUP BY quantity + 1 HAVING " + " OR ".join(f"x > {n}" for n in range(25)),
    "SELECT quantity AS x, count(*) FROM trades GROUP BY " + ", ".join(["1", "x"] * 900),
    "SELECT " + ", ".join(f"avg(price) FILTER (WHERE rate BETWEEN {n} AND 9) AS x{n}" for n in range(200)) + " FROM trades",
    where("CASE quantity " + "".join(f"WHEN {n} THEN {n + 1} " for n in range(900)) + "END = 1"),
])
def test_a_large_query_that_repeats_little_is_taken(sql: str) -> None:
    assert compiled(sql) == ""


def test_parts_are_counted_as_a_tree() -> None:
    found: Expression = Column("a", INT)
    for _ in range(200):
        found = Call("+", (found, found), INT)
    assert size(found) == 2**201 - 1
    assert size(Literal("x" * LETTERS_PER_PART * 3, STRING)) == 4
    flag = Column("f", BOOLEAN)
    written_out = Call("in", (flag, *[Literal(True, BOOLEAN)] * 5), BOOLEAN)
    assert size(written_out) == 1 + 5 + 5


def test_a_name_is_cut_before_it_grows() -> None:
    start = time.process_time()
    operand = nested(lambda x: f"CASE {x} WHEN 1 THEN 1 WHEN 2 THEN 2 END", 28, "a")
    found = name_of(parse_expression(operand))
    assert time.process_time() - start < PATIENCE
    assert len(found) == MAX_DERIVED_NAME and found.startswith("CASE WHEN (CASE WHEN (")
    assert name_of(parse_expression("CASE a WHEN 1 THEN 2 ELSE 3 END")) == "CASE WHEN (a = 1) THEN 2 ELSE 3 END"


def test_an_aggregate_of_the_users_counts_its_argument_wherever_it_stands() -> None:
    definition = {"parameters": "x double", "statistics": {"s": "sum(" + " + ".join(["x"] * 90) + ")"},
                  "merge": {"s": "sum"}, "result": "s"}
    rule = define_aggregate("often", definition, AggregateCatalog())
    catalog = AggregateCatalog().plus(rule)
    small, large = (nested(lambda x: f"nullif({x}, 1)", levels, "rate") for levels in (2, 8))
    assert compile_query(f"SELECT often({small}) FROM trades", STREAMS, catalog)
    with pytest.raises(SqlError) as refused:
        compile_query(f"SELECT often({large}) FROM trades", STREAMS, catalog)
    assert refused.value.code == "too-large" and str(MAX_WRITTEN) in refused.value.message
