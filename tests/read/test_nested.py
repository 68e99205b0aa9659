"""What Spark does not evaluate fails in neither engine: nested expressions, made at random from a fixed seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.few import few
from weft.algebra.expressions import Call, Case, Cast, Expression, Literal, Slot
from weft.algebra.functions import FUNCTIONS
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, DataType, decimal
from weft.backend.render import duck_sql
from weft.errors import SqlError
from weft.segments.types import arrow_type

Agree = Callable[[pa.Table, Sequence[Expression]], int]
MONEY = decimal(10, 2)
SLOTS = {"i": INT, "j": INT, "l": BIGINT, "x": DOUBLE, "y": DOUBLE, "m": MONEY, "n": MONEY, "p": BOOLEAN, "q": BOOLEAN}
EDGES: dict[DataType, list[object]] = {
    INT: [None, 0, 0, 1, -3, 2**31 - 1], BIGINT: [None, 0, 5, -(2**63)],
    DOUBLE: [None, 0.0, -0.0, 1.5, -2.0, float("nan"), 1e300],
    MONEY: [None, Decimal("0.00"), Decimal("1.50"), Decimal("-99999999.99")], BOOLEAN: [None, True, False],
}


class Maker:
    """Random expressions of a wanted kind."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def number(self, depth: int) -> Expression:
        pick = self._random
        if depth == 0:
            if pick.random() < 0.15:
                return pick.choice([Literal(2, INT), Literal(0, INT), Literal(0.5, DOUBLE), Literal(7, BIGINT)])
            return self._slot(*(name for name, kind in SLOTS.items() if kind != BOOLEAN))
        kind = pick.randrange(9)
        if kind < 4:
            name = pick.choice(["+", "-", "*", "/", "/", "%", "%"])
            return FUNCTIONS[name].build((self.number(depth - 1), self.number(depth - 1)))
        if kind == 4:
            name = pick.choice(["negate", "abs", "round", "floor", "sqrt", "ln", "sign"])
            return FUNCTIONS[name].build((self.number(depth - 1),))
        if kind == 5:
            return FUNCTIONS[pick.choice(["coalesce", "greatest", "least", "nullif"])].build(
                (self.number(depth - 1), self.number(depth - 1)))
        if kind == 6:
            return Cast(self.number(depth - 1), pick.choice([INT, BIGINT, DOUBLE, MONEY]))
        return FUNCTIONS["if"].build((self.truth(depth - 1), self.number(depth - 1), self.number(depth - 1)))

    def truth(self, depth: int) -> Expression:
        pick = self._random
        if depth == 0:
            return self._slot("p", "q")
        kind = pick.randrange(7)
        if kind < 2:
            name = pick.choice(["=", "<", "<=", "<=>"])
            return FUNCTIONS[name].build((self.number(depth - 1), self.number(depth - 1)))
        if kind < 5:
            parts = tuple(self.truth(depth - 1) for _ in range(pick.choice([2, 2, 3])))
            return Call(pick.choice(["and", "or"]), parts, BOOLEAN)
        if kind == 5:
            return FUNCTIONS["in"].build(tuple(self.number(depth - 1) for _ in range(3)))
        return FUNCTIONS[pick.choice(["not", "is_null"])].build((self.truth(depth - 1),))

    def _slot(self, *names: str) -> Slot:
        name = self._random.choice(names)
        return Slot(name, SLOTS[name])


def rows(random: Random, count: int) -> pa.Table:
    return pa.table({name: pa.array([random.choice(EDGES[kind]) for _ in range(count)], arrow_type(kind))
                     for name, kind in SLOTS.items()})


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_nested_expressions(agree: Agree, seed: int) -> None:
    random = Random(seed)
    make = Maker(random)
    made = [make.truth(3) if turn % 2 else make.number(3) for turn in range(60)]
    assert agree(rows(random, 30), made) > 100


RATIO = Call("/", (Slot("x", DOUBLE), Slot("y", DOUBLE)), DOUBLE)
ROW = "(SELECT true AS p, 1.0::DOUBLE AS x, 2.0::DOUBLE AS y)"


def logic(levels: int) -> Expression:
    """AND and OR in turns, with parts that may fail on both sides of what is nested."""
    deep: Expression = Slot("p", BOOLEAN)
    for turn in range(levels):
        small = Call("<", (RATIO, Literal(float(turn), DOUBLE)), BOOLEAN)
        deep = Call("or" if turn % 2 else "and", (small, deep, small), BOOLEAN)
    return deep


def folded(function: str, *, right: bool, times: int = 30) -> Expression:
    deep: Expression = RATIO
    for _ in range(times):
        deep = Call(function, (RATIO, deep) if right else (deep, RATIO), DOUBLE)
    return deep


@pytest.mark.parametrize("deep", [folded("+", right=True, times=5), folded("+", right=False), logic(7),
                                  folded("/", right=False, times=5), Call("and", (logic(2),) * 40, BOOLEAN)])
def test_text_grows_with_the_expression(duck: duckdb.DuckDBPyConnection, deep: Expression) -> None:
    sql = duck_sql(deep, {})
    assert len(sql) < 60_000
    assert len(duck.sql(f"SELECT {sql} FROM {ROW}").fetchall()) == 1


def ratios(count: int) -> tuple[Expression, ...]:
    """Ratios that are all NULL but the last."""
    return (*[Call("/", (Slot("z", DOUBLE), Slot("y", DOUBLE)), DOUBLE)] * (count - 1), RATIO)


def compared(one: Expression) -> Expression:
    return Call("<", (one, Literal(0.25, DOUBLE)), BOOLEAN)


# As long as the limits on texts let chains be; DuckDB takes no expression of more than a thousand levels.
@pytest.mark.parametrize(("long", "answer"), [
    (Call("coalesce", ratios(1000), DOUBLE), 0.5),
    (Call("in", (Slot("y", DOUBLE), *ratios(1000)), BOOLEAN), None),
    (Call("and", tuple(map(compared, ratios(800))), BOOLEAN), False),
    (Call("or", tuple(map(compared, ratios(800))), BOOLEAN), None),
    (Call("and", (Slot("p", BOOLEAN),) * 2000, BOOLEAN), True),
], ids=["coalesce", "in", "and", "or", "plain and"])
def test_long_chains_are_no_deep_expressions(duck: duckdb.DuckDBPyConnection, long: Expression, answer: Any) -> None:
    began = time.monotonic()
    sql = duck_sql(long, {})
    assert time.monotonic() - began < 5
    row = "(SELECT true AS p, 1.0::DOUBLE AS x, 2.0::DOUBLE AS y, NULL::DOUBLE AS z)"
    assert duck.sql(f"SELECT {sql} FROM {row}").fetchall() == [(answer,)]


def test_a_long_chain_stops_at_what_decides(duck: duckdb.DuckDBPyConnection) -> None:
    fails = Call("/", (Slot("x", DOUBLE), Slot("zero", DOUBLE)), DOUBLE)
    row = "(SELECT 1.0::DOUBLE AS x, 2.0::DOUBLE AS y, 0.0::DOUBLE AS zero, NULL::DOUBLE AS z)"
    first = Call("coalesce", (*ratios(100), *[fails] * 100), DOUBLE)
    assert duck.sql(f"SELECT {duck_sql(first, {})} FROM {row}").fetchall() == [(0.5,)]
    small = Call("<", (Slot("y", DOUBLE), Slot("x", DOUBLE)), BOOLEAN)
    false = Call("and", (*map(compared, ratios(50)), small, *[compared(fails)] * 100), BOOLEAN)
    assert duck.sql(f"SELECT {duck_sql(false, {})} FROM {row}").fetchall() == [(False,)]
    with pytest.raises(duckdb.Error, match="division-by-zero"):
        duck.sql(f"SELECT {duck_sql(Call('coalesce', (*ratios(99)[:-1], fails), DOUBLE), {})} FROM {row}").fetchall()


# DuckDB doubles its memory with every lambda in the body of another; one expression must not take the process down.
@pytest.mark.parametrize("deep", [logic(30), folded("+", right=True)])
def test_too_deep_is_refused(deep: Expression) -> None:
    with pytest.raises(SqlError) as refused:
        duck_sql(deep, {})
    assert refused.value.code == "too-deep"


def test_what_is_not_portable_is_refused() -> None:
    for expression in (Call("upper", (Slot("s", BOOLEAN),), BOOLEAN), Cast(Slot("x", DOUBLE), DataType("string")),
                       Case(((Slot("p", BOOLEAN), Cast(Slot("s", DataType("string")), INT)),), Literal(1, INT), INT)):
        with pytest.raises(TypeError, match="portable"):
            duck_sql(expression, {})
