"""Canonical form: the same answers as the text on every row, one tree for one meaning, and nothing left to rewrite."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.sql.oracle import RowError, compare, evaluate
from weft.algebra.canonical import canonical, negated
from weft.algebra.expressions import Call, Case, Cast, Column, Expression, Literal, text, walk
from weft.algebra.functions import FUNCTIONS
from weft.algebra.safety import can_fail
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from weft.sql.bind import compile_expression

COLUMNS: dict[str, DataType] = {"i": INT, "j": INT, "small": SMALLINT, "big": BIGINT, "x": DOUBLE, "y": DOUBLE,
                                "p": BOOLEAN, "q": BOOLEAN, "s": STRING, "t": STRING}
VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    INT: st.sampled_from([0, 1, -1, 5, 2**31 - 1, -2**31]),
    SMALLINT: st.sampled_from([0, 1, -1, 5, 2**15 - 1, -2**15]),
    BIGINT: st.sampled_from([0, 1, 5, 2**63 - 1, -2**63, 2**31]),
    DOUBLE: st.sampled_from([0.0, -0.0, 1.0, 1.5, -5.0, math.inf, -math.inf, math.nan]),
    BOOLEAN: st.booleans(),
    STRING: st.sampled_from(["", "a", "b", "ä", "aa"]),
}
ROWS = st.fixed_dictionaries({name: st.none() | VALUES[kind] for name, kind in COLUMNS.items()})


def leaf(kind: DataType) -> st.SearchStrategy[Expression]:
    columns = [Column(name, found) for name, found in COLUMNS.items() if found == kind]
    literals = (st.none() | VALUES[kind]).map(lambda value: Literal(value, kind))
    return st.sampled_from(columns) | literals if columns else literals


def build(name: str) -> Any:
    return lambda arguments: FUNCTIONS[name].build(tuple(arguments))


def pairs(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[tuple[Expression, Expression]]:
    return st.tuples(parts, parts)


def values(depth: int) -> st.SearchStrategy[Expression]:
    """Numbers and strings, with operators over them."""
    kinds = st.sampled_from([INT, SMALLINT, BIGINT, DOUBLE, STRING])
    if depth == 0:
        return kinds.flatmap(leaf)
    inner = numbers(depth - 1)
    return st.one_of(kinds.flatmap(leaf), *(pairs(inner).map(build(name)) for name in ("+", "-", "*", "/", "greatest")),
                     pairs(inner).map(build("coalesce")), inner.map(lambda part: FUNCTIONS["negate"].build((part,))),
                     inner.map(lambda part: Cast(part, BIGINT if part.type.is_integral else DOUBLE)),
                     st.tuples(truths(depth - 1), inner, inner).map(build("if")))


def numbers(depth: int) -> st.SearchStrategy[Expression]:
    return values(depth).filter(lambda part: part.type.is_numeric)


def truths(depth: int) -> st.SearchStrategy[Expression]:
    """Truth values: comparisons over numbers or strings, and logic over those."""
    number, word = numbers(max(depth - 1, 0)), leaf(STRING)
    atoms = st.one_of(
        leaf(BOOLEAN), *(pairs(number).map(build(name)) for name in ("=", "<", "<=", "<=>")),
        *(pairs(word).map(build(name)) for name in ("=", "<", "<=")),
        st.one_of(number, word, leaf(BOOLEAN)).map(lambda part: Call("is_null", (part,), BOOLEAN)),
        st.sampled_from(["i", "small", "x"]).flatmap(_choices))
    if depth == 0:
        return atoms
    inner = truths(depth - 1)
    return st.one_of(atoms, st.lists(inner, min_size=2, max_size=4).map(build("and")),
                     st.lists(inner, min_size=2, max_size=4).map(build("or")),
                     inner.map(lambda part: Call("not", (part,), BOOLEAN)),
                     st.tuples(inner, inner, inner).map(lambda parts: Case(((parts[0], parts[1]),), parts[2], BOOLEAN)))


def _choices(name: str) -> st.SearchStrategy[Expression]:
    column = Column(name, COLUMNS[name])
    some = st.lists(st.none() | VALUES[INT if column.type == SMALLINT else column.type], min_size=1, max_size=4)
    return some.map(lambda found: FUNCTIONS["in"].build(
        (column, *(Literal(value, INT if column.type == SMALLINT else column.type) for value in found))))


def outcome(expression: Expression, row: dict[str, Any]) -> Any:
    try:
        return evaluate(expression, row)
    except RowError:
        return RowError


def same(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return type(left) is type(right) and compare(left, right) == 0


@settings(max_examples=400)
@given(truths(3), ROWS)
def test_a_truth_is_the_same_truth_in_canonical_form(expression: Expression, row: dict[str, Any]) -> None:
    before, after = outcome(expression, row), outcome(canonical(expression), row)
    if before is RowError:
        # Moving what cannot fail to the front may answer where the text would have failed, never the other way round.
        return
    assert same(before, after), (canonical(expression), row)


@settings(max_examples=200)
@given(values(3), ROWS)
def test_a_value_is_the_same_value_in_canonical_form(expression: Expression, row: dict[str, Any]) -> None:
    before, after = outcome(expression, row), outcome(canonical(expression), row)
    assert before is RowError or same(before, after), (canonical(expression), row)


@settings(max_examples=400)
@given(truths(3))
@example(Call("or", (Call("=", (Column("i", INT), Literal(1, INT)), BOOLEAN), Literal(None, BOOLEAN)), BOOLEAN))
def test_canonical_form_has_nothing_left_to_rewrite(expression: Expression) -> None:
    once = canonical(expression)
    assert canonical(once) == once


@settings(max_examples=150)
@given(truths(2), ROWS)
def test_negation_is_exact(expression: Expression, row: dict[str, Any]) -> None:
    form = canonical(expression)
    value, negation = outcome(form, row), outcome(negated(form), row)
    assume(value is not RowError)
    assert negation is (None if value is None else not value)
    assert canonical(negated(negated(form))) == form


@settings(max_examples=150)
@given(st.lists(truths(1), min_size=2, max_size=4), st.randoms(use_true_random=False), st.sampled_from(["and", "or"]))
def test_order_and_repeats_do_not_matter_where_nothing_fails(parts: list[Expression], random: Any, name: str) -> None:
    assume(not any(map(can_fail, parts)))
    mixed = parts + [random.choice(parts)]
    random.shuffle(mixed)
    assert canonical(Call(name, tuple(parts), BOOLEAN)) == canonical(Call(name, tuple(mixed), BOOLEAN))


@settings(max_examples=100)
@given(truths(3), ROWS)
def test_what_cannot_fail_does_not(expression: Expression, row: dict[str, Any]) -> None:
    assume(not can_fail(expression))
    assert outcome(expression, row) is not RowError


@settings(max_examples=100)
@given(truths(3))
def test_the_form_is_what_the_shape_promises(expression: Expression) -> None:
    for node in walk(canonical(expression)):
        if isinstance(node, Call) and node.function in ("and", "or"):
            assert len(set(node.arguments)) == len(node.arguments) >= 2
            assert not any(isinstance(part, Call) and part.function == node.function for part in node.arguments)
        if isinstance(node, Call) and node.function == "not":
            assert not isinstance(node.arguments[0], Literal)
            assert node.arguments[0].function not in ("not", "and", "or", "<", "<=") \
                if isinstance(node.arguments[0], Call) else True
        if isinstance(node, Call) and node.function == "=":
            assert not isinstance(node.arguments[0], Literal) or isinstance(node.arguments[1], Literal)


@pytest.mark.parametrize("operator", ["=", "<", "<=", "<=>"])
@pytest.mark.parametrize("kind", [SMALLINT, INT, BIGINT])
def test_a_constant_is_narrowed_only_where_no_row_can_tell(operator: str, kind: DataType) -> None:
    """Every comparison of an integer column with a wider constant, on both sides, on every interesting value."""
    column = Column({SMALLINT: "small", INT: "i", BIGINT: "big"}[kind], kind)
    constants = [Literal(value, INT) for value in (0, 5, 2**15, 2**31 - 1)]
    constants += [Literal(value, BIGINT) for value in (-1, 2**15 - 1, -2**15, 2**31, 2**63 - 1)]
    constants += [Literal(value, DOUBLE) for value in (0.0, 1.5, -1.0, 5.0, 1e10, math.inf, -math.inf, math.nan)]
    for constant in constants:
        for arguments in ((column, constant), (constant, column)):
            expression = FUNCTIONS[operator].build(arguments)
            for value in (None, 0, 1, 2, -1, 5, 2**15 - 1, -2**15, *((2**31 - 1, -2**31) if kind != SMALLINT else ())):
                row = {column.name: value}
                assert same(outcome(expression, row), outcome(canonical(expression), row)), (constant, value)


SPELLINGS = [
    ["i > 5 AND j < 3", "3 > j AND 5 < i", "NOT (i <= 5 OR j >= 3)", "j < 3 AND NOT i <= 5"],
    ["i <> 5", "NOT i = 5", "NOT (5 = i)", "i != 5", "i NOT IN (5)"],
    ["i BETWEEN 1 AND 9", "i >= 1 AND i <= 9", "NOT (i < 1 OR 9 < i)"],
    ["i IN (1, 2, 3)", "i = 3 OR i IN (2, 1)", "i IN (3, 2, 1, 2)", "i = 1 OR (i = 2 OR i = 3)"],
    ["s IS NOT NULL", "NOT (s IS NULL)", "NOT isnull(s)"],
    ["p", "p = TRUE", "NOT NOT p", "p AND TRUE", "p OR FALSE", "NOT (p = FALSE)", "p AND p", "p IN (TRUE)"],
    ["NOT p", "p = FALSE", "p <> TRUE", "!p"],
    ["i + j = 3", "j + i = 3", "3 = i + j"],
    ["small = 5", "small = 5L", "small = 5.0", "small = 5D", "small IN (5)", "CAST(small AS BIGINT) = 5",
     "small = '5'"],
    ["x > 1", "x > 1.0", "1 < x", "NOT x <= 1D", "x > '1'"],
    ["coalesce(i, 5, j)", "coalesce(i, 5)", "nvl(i, 5)", "coalesce(NULL, i, 5)"],
    ["if(p, 1, 2)", "CASE WHEN p THEN 1 ELSE 2 END", "CASE WHEN FALSE THEN 9 WHEN p THEN 1 ELSE 2 END"],
    ["greatest(i, j)", "greatest(j, i)", "greatest(i, j, i)"],
    ["i = 2 + 3", "i = 5", "i = 10 - 5", "i = -(-5)"],
    ["s LIKE 'a%' AND i > 1", "i > 1 AND s LIKE 'a%'"],
]
DIFFERENT = ["i > 5", "i >= 5", "i < 5", "i = 5", "i <=> 5", "i IS NULL", "i IN (5, 6)", "j = 5", "big = 5", "x = 5",
             "p", "p IS TRUE", "i - j = 5", "j - i = 5", "(i + j) + big = 5", "i + (j + big) = 5", "s = 'a'", "s = 'A'",
             "i / 2 = 1", "i div 2 = 1", "i / j > 1 AND j / i > 1", "j / i > 1 AND i / j > 1", "s LIKE 'a%'",
             "x + 1 = 2", "i = 5.5", "i < 1.5", "x = 2 - 1",
             "TRY_CAST(s AS INT) = 1", "CAST(s AS INT) = 1", "TRY_CAST(s AS BIGINT) = 1L"]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda spellings: spellings[0])
def test_spellings_of_one_meaning_are_one_tree(spellings: list[str]) -> None:
    assert len({compile_expression(sql, COLUMNS, None) for sql in spellings}) == 1


def test_different_meanings_stay_apart_in_tree_and_text() -> None:
    trees = [compile_expression(sql, COLUMNS, None) for sql in DIFFERENT]
    assert len(set(trees)) == len(DIFFERENT) == len(set(map(text, trees)))


@pytest.mark.parametrize("sql", ["1 / 0 = 1 AND FALSE", "CAST('x' || s AS INT) = 1 OR TRUE", "2147483647 + 1 > i",
                                 "1 / 0 = NULL"])
def test_no_error_is_folded_away(sql: str) -> None:
    assert can_fail(compile_expression(sql, COLUMNS, None))


@pytest.mark.parametrize("sql", ["floor(x) = 1", "ceil(x * 2) = 1", "floor(f) = 1", "floor(CAST(big AS DOUBLE)) = 1",
                                 "ceil(1e300) = 1", "i > 0 AND floor(x) > 1"])
def test_a_double_may_be_too_large_for_floor_and_ceil(sql: str) -> None:
    assert can_fail(compile_expression(sql, {**COLUMNS, "f": FLOAT}, None))


@pytest.mark.parametrize("sql", ["floor(i) = 1", "ceil(small) = 1", "floor(big) = 1", "floor(2.5D) = 1", "ceil(d) = 1",
                                 "floor(CAST(i AS DOUBLE)) = 1"])
def test_floor_and_ceil_of_what_fits_cannot_fail(sql: str) -> None:
    assert not can_fail(compile_expression(sql, {**COLUMNS, "d": decimal(38, 2)}, None))


@pytest.mark.parametrize("sql", ["CAST(i > 0 AS DECIMAL(1,1)) = 0.1", "CAST(i > 0 AS DECIMAL(38,38)) = 0.1",
                                 "CAST(i AS DECIMAL(9,0)) = 1", "CAST(CAST(i AS TINYINT) AS DECIMAL(2,0)) = 1",
                                 "CAST(CAST(i AS DECIMAL(10,0)) AS DECIMAL(10,1)) = 1",
                                 "CAST(day AS TIMESTAMP) > TIMESTAMP '2026-01-05'", "hour(day) = 1"])
def test_a_cast_without_room_for_a_value_can_fail(sql: str) -> None:
    assert can_fail(compile_expression(sql, {**COLUMNS, "day": DATE}, None))


@pytest.mark.parametrize("sql", ["CAST(i > 0 AS DECIMAL(1,0)) = 1", "CAST(i > 0 AS DECIMAL(2,1)) = 1",
                                 "CAST(i > 0 AS INT) = 1", "CAST(i > 0 AS DOUBLE) = 1", "CAST(i AS DECIMAL(10,0)) = 1",
                                 "CAST(at AS DATE) = DATE '2026-01-05'"])
def test_a_cast_with_room_for_every_value_cannot_fail(sql: str) -> None:
    assert not can_fail(compile_expression(sql, {**COLUMNS, "at": TIMESTAMP}, None))


@pytest.mark.parametrize("sql", ["CAST(i AS decimal(5,5)) = 0.5", "CAST(i AS decimal(1,1)) IN (0.1, 0.2)",
                                 "0 < CAST(small AS decimal(38,38))", "CAST(i AS decimal(3,3)) = 0"])
def test_a_decimal_without_room_for_whole_numbers_is_compared_as_it_is(sql: str) -> None:
    assert "cast(" in text(compile_expression(sql, COLUMNS, None))


def test_a_number_has_the_type_that_its_last_letter_says() -> None:
    found = [compile_expression(sql, COLUMNS, None) for sql in ("-128Y", "127y", "-32768S", "-9223372036854775808L", "1.5D")]
    assert [text(one) for one in found] == ["tinyint '-128'", "tinyint '127'", "smallint '-32768'",
                                            "bigint '-9223372036854775808'", "double '1.5'"]
    # A cast is no suffix: it fails when it runs, and the sign stands outside.
    assert can_fail(compile_expression("CAST(300 AS TINYINT)", COLUMNS, None))
    assert can_fail(compile_expression("-CAST(128 AS TINYINT)", COLUMNS, None))
