"""DuckDB gives Spark's value, type and refusal for every portable operator over the values where engines differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from weft.algebra.expressions import Call, Case, Cast, Expression, Literal, Slot
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
    TINYINT,
    DataType,
    adjusted_decimal,
    decimal,
)
from weft.segments.types import arrow_type

Agree = Callable[[pa.Table, Sequence[Expression]], int]
INF, NAN = float("inf"), float("nan")
BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
INTEGERS = {kind: [None, 0, 1, -1, 2, 7, -7, 15, 25, -25, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)),
                   2 ** (bits - 1) - 3] for kind, bits in BITS.items()}
DOUBLES = [None, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.675, 1.005, 1e-7, -7.25, 3.0, 1e17, 1.2345678901234567e16, 1e308,
           -1e308, 5e-324, INF, -INF, NAN, 2.0**31, 2.0**63, -(2.0**63), 127.9, -128.9, 2147483647.5,
           9007199254740993.0]
FLOATS = [None, 0.0, -0.0, 1.5, -2.5, 2.675, 3.4028234663852886e38, INF, -INF, NAN, 1e-45, 16777217.0, 2.0**31, 2.0**63]
VALUES: dict[DataType, list[Any]] = {
    **INTEGERS, DOUBLE: DOUBLES, FLOAT: FLOATS, BOOLEAN: [None, True, False],
    STRING: [None, "", "a", "B", "é", "z", "a\x00b", "😀", "it's", "\\", "{x}", "Z", "ab"],
    DATE: [None, date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)],
    TIMESTAMP: [None, datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
                datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)],
}


def decimals(kind: DataType) -> list[Decimal | None]:
    """Zero, the unit, ties, and the limits of a decimal type."""
    unscaled = [0, 1, -1, 5, 15, -25, 10**kind.precision - 1, 1 - 10**kind.precision]
    unscaled += [value * 10**kind.scale for value in (1, -1, 2, 3, 7)]
    digits = int("9876543210" * 4) % 10**kind.precision
    unscaled += [digits, -digits, digits // 7]
    with localcontext(prec=80):
        return [None, *(Decimal(value).scaleb(-kind.scale) for value in dict.fromkeys(unscaled)
                        if abs(value) < 10**kind.precision)]


def values_of(kind: DataType) -> list[Any]:
    return decimals(kind) if kind.is_decimal else VALUES[kind]


def table(**kinds: DataType) -> pa.Table:
    """Every combination of the values of the types."""
    rows = list(product(*(values_of(kind) for kind in kinds.values())))
    return pa.table({name: pa.array([row[place] for row in rows], arrow_type(kind))
                     for place, (name, kind) in enumerate(kinds.items())})


def compare(left: Expression, right: Expression) -> list[Expression]:
    both = (left, right)
    return [Call(name, both, BOOLEAN) for name in ("=", "<", "<=", "<=>")] + [
        Call("greatest", both, left.type), Call("least", both, left.type), Call("coalesce", both, left.type),
        Call("nullif", both, left.type), Call("is_null", (left,), BOOLEAN),
        Call("in", (left, right, Literal(None, left.type)), BOOLEAN), Call("in", (left, right, right), BOOLEAN),
        Case(((Call("<", both, BOOLEAN), left),), Literal(None, left.type), left.type)]


@pytest.mark.parametrize("kind", [*VALUES, decimal(5, 2), decimal(18, 0), decimal(38, 10)], ids=str)
def test_comparisons(agree: Agree, kind: DataType) -> None:
    agree(table(a=kind, b=kind), compare(Slot("a", kind), Slot("b", kind)))


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
def test_constants(agree: Agree, kind: DataType) -> None:
    constants = [Literal(value, kind) for value in VALUES[kind]]
    agree(table(a=kind), [*constants, *(Call("<=>", (Slot("a", kind), one), BOOLEAN) for one in constants),
                          Call("in", (Slot("a", kind), *constants), BOOLEAN)])


@pytest.mark.parametrize("kind", [TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE], ids=str)
def test_arithmetic(agree: Agree, kind: DataType) -> None:
    a, b = Slot("a", kind), Slot("b", kind)
    made: list[Expression] = [Call(name, (a, b), kind) for name in ("+", "-", "*", "%")]
    made += [Call(name, (a,), kind) for name in ("negate", "abs")]
    if kind == DOUBLE:
        made += [Call("/", (a, b), DOUBLE), Call("/", (a, Literal(3.0, DOUBLE)), DOUBLE), Call("pow", (a, b), DOUBLE),
                 Call("/", (a, Literal(0.0, DOUBLE)), DOUBLE)]
    if kind == BIGINT:
        made.append(Call("div", (a, b), BIGINT))
    agree(table(a=kind, b=kind), made)


def decimal_result(function: str, left: DataType, right: DataType) -> DataType:
    """Spark's own rules for the precision and scale of decimal arithmetic."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match function:
        case "+" | "-":
            return adjusted_decimal(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))
        case "*":
            return adjusted_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return adjusted_decimal(p1 - s1 + s2 + scale, scale)
        case _:
            return adjusted_decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


PAIRS = [(decimal(5, 2), decimal(5, 2)), (decimal(10, 0), decimal(3, 3)), (decimal(18, 6), decimal(20, 0)),
         (decimal(38, 0), decimal(38, 0)), (decimal(38, 18), decimal(38, 10)), (decimal(38, 38), decimal(38, 0)),
         (decimal(30, 2), decimal(20, 0)), (decimal(18, 2), decimal(18, 2)), (decimal(10, 2), decimal(10, 0)),
         (decimal(4, 2), decimal(4, 2)), (decimal(9, 0), decimal(9, 9)), (decimal(19, 10), decimal(17, 9))]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=str)
def test_decimal_arithmetic(agree: Agree, left: DataType, right: DataType) -> None:
    a, b = Slot("a", left), Slot("b", right)
    made: list[Expression] = [Call(name, (a, b), decimal_result(name, left, right))
                              for name in ("+", "-", "*", "/", "%")]
    made += [Call("div", (a, b), BIGINT), *(Call(name, (a,), left) for name in ("negate", "abs"))]
    agree(table(a=left, b=right), made)


def round_type(kind: DataType, digits: int) -> DataType:
    if not kind.is_decimal:
        return kind
    whole = kind.precision - kind.scale + 1
    if digits < 0:
        return decimal(min(max(whole, -digits + 1), 38), 0)
    scale = min(kind.scale, digits)
    return decimal(min(whole + scale, 38), scale)


@pytest.mark.parametrize("kind", [TINYINT, INT, BIGINT, FLOAT, DOUBLE, decimal(5, 2), decimal(18, 6), decimal(38, 18)],
                         ids=str)
def test_rounding(agree: Agree, kind: DataType) -> None:
    x = Slot("x", kind)
    made: list[Expression] = [Call("round", (x, Literal(digits, INT)), round_type(kind, digits))
                              for digits in (0, 1, 2, 3, 10, 15, 16, -1, -2, -10)]
    made.append(Call("round", (x,), round_type(kind, 0)))
    whole = decimal(kind.precision - kind.scale + 1, 0) if kind.is_decimal else BIGINT
    if kind in (DOUBLE, BIGINT) or kind.is_decimal:
        made += [Call("floor", (x,), whole), Call("ceil", (x,), whole)]
    agree(table(x=kind), made)


def test_functions_of_doubles(agree: Agree) -> None:
    x = Slot("x", DOUBLE)
    agree(table(x=DOUBLE), [Call(name, (x,), DOUBLE) for name in ("sqrt", "exp", "ln", "log10", "log2", "sign")])


def test_powers_of_two_round_alike(agree: Agree) -> None:
    """Java's logarithm of 2^29 is a little more than 29, so that ceil makes 30 of it."""
    x = Slot("x", DOUBLE)
    powers = pa.table({"x": pa.array([2.0**power for power in range(-62, 63)], pa.float64())})
    made = [Call(name, (Call("log2", (x,), DOUBLE),), BIGINT) for name in ("ceil", "floor")]
    agree(powers, [*made, Call("=", (Call("log2", (x,), DOUBLE), Literal(29.0, DOUBLE)), BOOLEAN)])


NUMBERS = [TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, BOOLEAN, decimal(5, 2), decimal(1, 1), decimal(10, 0),
           decimal(18, 6), decimal(38, 0), decimal(38, 18), decimal(38, 38)]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_casts(agree: Agree, kind: DataType) -> None:
    targets = [target for target in NUMBERS if target != kind]
    if not kind.is_fractional:
        targets.append(STRING)
    agree(table(x=kind), [Cast(Slot("x", kind), target) for target in targets])


def test_logic_has_three_values(agree: Agree) -> None:
    a, b, c = (Slot(name, BOOLEAN) for name in "abc")
    agree(table(a=BOOLEAN, b=BOOLEAN, c=BOOLEAN),
          [Call("and", (a, b, c), BOOLEAN), Call("or", (a, b, c), BOOLEAN), Call("not", (a,), BOOLEAN),
           Call("or", (Call("and", (a, b), BOOLEAN), Call("not", (c,), BOOLEAN)), BOOLEAN),
           Call("in", (a, b, c), BOOLEAN), Case(((a, b), (b, c)), a, BOOLEAN), Call("coalesce", (a, b, c), BOOLEAN)])
