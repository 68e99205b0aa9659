"""A predicate read back from dimensions is the predicate: random predicates, random rows, three-valued logic."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.expressions import Call, Cast, Column, Expression, Literal, Slot
from weft.algebra.query import StreamSchema
from weft.plan.dimensions import EXACT, Dimension, highest_decimal, lowest
from weft.plan.shards import Sharding, shard
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

STREAM = StreamSchema(
    "s", dict(parse_schema("ts timestamp, k string, i int, b bigint, x double, d decimal(10,2)")), "ts"
)
VALUES: dict[str, list[Any]] = {
    "k": [None, "", "a", "b", "ü"],
    "i": [None, -(2**31), -1, 0, 1, 5, 6, 2**31 - 1],
    "b": [None, -(2**63), 0, 7, 2**63 - 1],
    "x": [None, -math.inf, -1.5, -0.0, 0.0, 0.5, math.nextafter(0.5, 1), 7.0, math.inf, math.nan],
    "d": [None, Decimal("-1.00"), Decimal("0.00"), Decimal("5.24"), Decimal("5.25"), Decimal("5.26")],
}
ATOMS = [
    "i > 5",
    "i >= 5",
    "i < 0",
    "i <= -1",
    "i = 5",
    "i IN (0, 1, 6)",
    "i <> 1",
    "i > 2147483647",
    "b > 7",
    "b <= 0",
    "x > 0.5D",
    "x >= 0.5D",
    "x < 0.0D",
    "x <= 0.0D",
    "x = 0.5D",
    "x = 0.0D",
    "x > double('Infinity')",
    "d > 5.25",
    "d >= 5.25",
    "d < 5.25",
    "d = 5.25",
    "k = 'a'",
    "k IN ('a', '')",
    "k IS NULL",
    "i IS NOT NULL",
    "x IS NULL",
    "i > b",
    "k > 'a'",
    "i BETWEEN 1 AND 5",
    "i % 2 = 1",
]


def predicate(choose: random.Random, depth: int = 3) -> str:
    if depth == 0 or choose.random() < 0.3:
        return choose.choice(ATOMS)
    if choose.random() < 0.25:
        return f"NOT ({predicate(choose, depth - 1)})"
    return f"({predicate(choose, depth - 1)}) {choose.choice(['AND', 'OR'])} ({predicate(choose, depth - 1)})"


def where(text: str) -> Expression | None:
    sql = f"SELECT count(*) AS n FROM s WHERE {text} GROUP BY window(ts, '5 seconds')"
    return compile_query(sql, {"s": STREAM}, AggregateCatalog()).where


def order(value: Any) -> tuple[int, Any]:
    """Spark's order: NaN is the greatest and equal to itself, -0.0 equals 0.0."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def evaluate(expression: Expression, row: dict[str, Any]) -> Any:
    """The value of an expression for a row; None is NULL."""
    match expression:
        case Column(name) | Slot(name):
            return row[name]
        case Literal(value):
            return value
        case Cast(operand):
            return evaluate(operand, row)
        case Call("and" | "or" as function, arguments):
            values = [evaluate(one, row) for one in arguments]
            decisive = function == "or"
            return decisive if decisive in values else None if None in values else not decisive
        case Call("not", (one,)):
            value = evaluate(one, row)
            return None if value is None else not value
        case Call("is_null", (one,)):
            return evaluate(one, row) is None
        case Call("in", (one, *others)):
            value, some = evaluate(one, row), [evaluate(other, row) for other in others]
            return None if value is None else True if value in some else None if None in some else False
        case Call(function, (left, right)):
            a, b = evaluate(left, row), evaluate(right, row)
            if a is None or b is None:
                return None
            if function == "%":
                return int(math.fmod(a, b))
            return {"=": order(a) == order(b), "<": order(a) < order(b), "<=": order(a) <= order(b)}[function]
        case _:
            raise AssertionError(expression)


def dimensions_of(sharding: Sharding, row: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a row: the value of each dimension, or the cell it falls in."""
    cuts = dict(sharding.cuts)
    kept = {}
    for dimension in sharding.dimensions:
        value = evaluate(dimension.expression, row)
        if dimension.cells and value is not None:
            points = sorted({lowest(dimension.type), *cuts.get(dimension.name, ())})
            value = points[bisect_right([order(point) for point in points], order(value)) - 1]
        kept[dimension.name] = value
    return kept


@pytest.mark.parametrize("seed", range(150))
def test_the_residue_over_dimensions_is_the_predicate(seed: int) -> None:
    choose = random.Random(seed)
    text = predicate(choose)
    condition = where(text)
    given = [Dimension(Column("i", STREAM.columns["i"]))] if choose.random() < 0.3 else []
    sharding = shard(condition, given)
    for _ in range(60):
        row = {name: choose.choice(values) for name, values in VALUES.items()}
        expected = True if condition is None else evaluate(condition, row)
        got = True if sharding.residue is None else evaluate(sharding.residue, dimensions_of(sharding, row))
        assert got == expected, f"seed {seed}: {text} over {row}"


def names(text: str, *given: str) -> list[str]:
    dimensions = [Dimension(Column(name, STREAM.columns[name])) for name in given]
    return sorted(str(one) for one in shard(where(text), dimensions).dimensions)


def test_thresholds_on_one_column_share_one_dimension() -> None:
    assert names("i > 5 OR i < 2 OR i >= 1000") == ["cells(i)"]
    first, second = (shard(where(f"i > {number}"), []) for number in (5, 900))
    assert first.dimensions == second.dimensions and first.cuts != second.cuts


def test_entities_share_the_dimension_of_their_column() -> None:
    assert names("k = 'a'") == names("k IN ('b', 'c')") == ["k"]


def test_a_predicate_on_a_grouping_column_needs_no_dimension_of_its_own() -> None:
    assert names("i > 5 AND i IS NOT NULL", "i") == ["i"]
    assert names("k > 'a'", "k") == ["k"]


def test_anything_else_is_kept_as_its_truth() -> None:
    assert names("i > b") == ["(b < cast(i as bigint))"]
    assert names("k LIKE 'a%'") == ["like(k, 'a%')"]


WIDE = StreamSchema(
    "s", dict(parse_schema("ts timestamp, b bigint, k decimal(38,10), n decimal(38,0), f decimal(38,38)")), "ts"
)
EXACTLY = "1234567890123456789012345678.1234567890"
MOST = "9" * 28 + "." + "9" * 10


@pytest.mark.parametrize(
    ("column", "bound"),
    [
        ("k", "5"),
        ("k", EXACTLY),
        ("k", f"-{EXACTLY}"),
        ("k", MOST),
        ("k", f"-{MOST}"),
        ("n", "9" * 38),
        ("n", "12345678901234567890123456789012345678"),
        ("f", "0." + "9" * 38),
        ("f", "0.12345678901234567890123456789012345678"),
        ("b", "0.123456789"),
        ("b", "-9223372036854775807.5"),
    ],
)
@pytest.mark.parametrize("operator", [">", ">=", "<", "<=", "="])
def test_decimals_of_any_length_are_cut_exactly(column: str, operator: str, bound: str) -> None:
    sql = f"SELECT count(*) AS n FROM s WHERE {column} {operator} {bound} GROUP BY window(ts, '5 seconds')"
    condition = compile_query(sql, {"s": WIDE}, AggregateCatalog()).where
    assert condition is not None
    sharding = shard(condition, [])
    kind = WIDE.columns[column]
    step = Fraction(1, 10**kind.scale)
    end = (2**63 if column == "b" else 10**kind.precision) * step - step
    near = [Fraction(bound) // step * step + turn * step for turn in (-1, 0, 1)]
    for value in {*near, Fraction(0), end, -end}:
        if abs(value) <= end:
            row = {column: int(value) if column == "b" else Decimal(f"{int(value / step)}E-{kind.scale}")}
            got = None if sharding.residue is None else evaluate(sharding.residue, dimensions_of(sharding, row))
            assert got == evaluate(condition, row), row
    for dimension in sharding.dimensions:
        for cut in (lowest(dimension.type), *dict(sharding.cuts).get(dimension.name, ())) if dimension.cells else ():
            assert Decimal(cut) == EXACT.quantize(Decimal(cut), EXACT.scaleb(Decimal(1), -dimension.type.scale))
            assert Decimal(cut).copy_abs() <= highest_decimal(dimension.type)
