"""Built-in aggregate functions as data: which statistics each needs, and how its result is made from them.

A holistic aggregate (count distinct, percentile, median, mode) has no statistics of fixed size: it is answered from
value counts, which are a node like any other with the value as one more dimension, shared by all who count that value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.aggregates.statistics import Statistic, statistic
from weft.algebra.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Slot,
)
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, VOID, DataType, adjusted_decimal, decimal


@dataclass(frozen=True)
class Plain:
    """An aggregate made of statistics: `result` is over slots named as the statistics are."""

    statistics: tuple[Statistic, ...]
    result: Expression


@dataclass(frozen=True)
class Holistic:
    """An aggregate made of value counts: `kind` says what is read from them, `fraction` which percentile."""

    kind: str
    value: Expression
    type: DataType
    fraction: float | None = None


Decomposition = Plain | Holistic
Builder = Callable[[tuple[Expression, ...], Expression | None], Decomposition]


@dataclass(frozen=True)
class Rule:
    """One aggregate function: the types it takes, the type it returns, and what it is made of."""

    name: str
    arity: int
    accepts: Callable[[tuple[DataType, ...]], str]
    result: Callable[[tuple[DataType, ...]], DataType]
    build: Builder


def slot(one: Statistic) -> Slot:
    """The value of a merged statistic, as an operand."""
    return Slot(one.name, one.type)


def as_double(expression: Expression) -> Expression:
    return expression if expression.type == DOUBLE else Cast(expression, DOUBLE)


def divide(left: Expression, right: Expression) -> Expression:
    """left / right as doubles, NULL where right is zero."""
    quotient = Call("/", (as_double(left), as_double(right)), DOUBLE)
    zero = Call("=", (right, Literal(0, right.type) if right.type == BIGINT else Literal(0.0, DOUBLE)), BOOLEAN)
    return Case(((zero, Literal(None, DOUBLE)),), quotient, DOUBLE)


def _single_of(basic: str, arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    one = statistic(basic, *arguments, where=where)
    return Plain((one,), slot(one))


def _single(basic: str) -> Builder:
    return lambda arguments, where: _single_of(basic, arguments, where)


def _total(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    if arguments[0].type != BIGINT:
        return _single_of("sum", arguments, where)
    one = statistic("wide_sum", *arguments, where=where)
    return Plain((one,), Cast(slot(one), BIGINT))


def _double_sum(value: Expression, where: Expression | None) -> Statistic:
    """The sum an average divides: of the integers themselves where that cannot overflow, so that sum() shares it."""
    if value.type.is_integral and value.type != BIGINT:
        return statistic("sum", value, where=where)
    return statistic("sum", as_double(value), where=where)


def _average(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    value = arguments[0]
    count = statistic("count", value, where=where)
    if not value.type.is_decimal:
        total = _double_sum(value, where)
        return Plain((total, count), divide(slot(total), slot(count)))
    total = statistic("sum", value, where=where)
    counted = Cast(slot(count), decimal(20, 0))
    scale = max(6, total.type.scale + 20 + 1)
    quotient = Call(
        "/", (slot(total), counted), adjusted_decimal(total.type.precision - total.type.scale + scale, scale)
    )
    empty = Call("=", (slot(count), Literal(0, BIGINT)), BOOLEAN)
    kind = _average_type((value.type,))
    return Plain((total, count), Case(((empty, Literal(None, kind)),), Cast(quotient, kind), kind))


def _average_type(arguments: tuple[DataType, ...]) -> DataType:
    kind = arguments[0]
    if not kind.is_decimal:
        return DOUBLE
    return decimal(min(kind.precision + 4, 38), min(kind.scale + 4, 38))


def _spread(*, sample: bool, root: bool) -> Builder:
    """Variance or standard deviation: the sum of squared distances from the mean over n, or n - 1 for a sample."""

    def build(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
        value = arguments[0]
        count, total = statistic("count", value, where=where), _double_sum(value, where)
        if value.type.is_integral and value.type != BIGINT:
            # Sums of integers are exact, so nothing is lost by subtracting them, and they merge by adding.
            kept = statistic("squares", value, where=where)
            distances: Expression = Call("squared_distances", (slot(count), slot(total), slot(kept)), DOUBLE)
        else:
            kept = statistic("m2", as_double(value), where=where, needs=(count, total))
            distances = slot(kept)
        below = Literal(1 if sample else 0, BIGINT)
        freedom = Call("-", (as_double(slot(count)), Literal(1.0 if sample else 0.0, DOUBLE)), DOUBLE)
        variance: Expression = Call("/", (distances, freedom), DOUBLE)
        if root:
            variance = Call("sqrt", (variance,), DOUBLE)
        few = Call("<=", (slot(count), below), BOOLEAN)
        return Plain((count, total, kept), Case(((few, Literal(None, DOUBLE)),), variance, DOUBLE))

    return build


def _at(basic: str) -> Builder:
    """min_by and max_by: the value at the least or greatest order."""

    def build(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
        one = statistic(basic, *arguments, where=where)
        return Plain((one,), Slot(f"{one.name}.v", one.type))

    return build


def _holistic(kind: str, result: Callable[[tuple[DataType, ...]], DataType]) -> Builder:
    def build(arguments: tuple[Expression, ...], where: Expression | None) -> Holistic:
        value = arguments[0]
        # Rows that a FILTER leaves out must not count: as NULL they are no value.
        if where is not None:
            value = Case(((where, value),), Literal(None, value.type), value.type)
        fraction = None
        if kind == "percentile":
            share = arguments[1] if len(arguments) > 1 else Literal(0.5, DOUBLE)
            assert isinstance(share, Literal)
            fraction = float(share.value)  # type: ignore[arg-type]
        return Holistic(kind, value, result((value.type,)), fraction)

    return build


def _any(_: tuple[DataType, ...]) -> str:
    return ""


def takes_numbers(arguments: tuple[DataType, ...]) -> str:
    return "" if arguments[0].is_numeric or arguments[0] == VOID else "a numeric argument"


def takes_boolean(arguments: tuple[DataType, ...]) -> str:
    return "" if arguments[0] in (BOOLEAN, VOID) else "a boolean argument"


def _first(arguments: tuple[DataType, ...]) -> DataType:
    return arguments[0]


def _sum_type(arguments: tuple[DataType, ...]) -> DataType:
    return statistic("sum", Slot("x", arguments[0])).type


def _always(kind: DataType) -> Callable[[tuple[DataType, ...]], DataType]:
    return lambda _: kind


BUILT_IN: tuple[Rule, ...] = (
    Rule("count", 1, _any, _always(BIGINT), _single("count")),
    Rule("sum", 1, takes_numbers, _sum_type, _total),
    Rule("avg", 1, takes_numbers, _average_type, _average),
    Rule("min", 1, _any, _first, _single("min")),
    Rule("max", 1, _any, _first, _single("max")),
    Rule("bool_and", 1, takes_boolean, _first, _single("bool_and")),
    Rule("bool_or", 1, takes_boolean, _first, _single("bool_or")),
    Rule("var_pop", 1, takes_numbers, _always(DOUBLE), _spread(sample=False, root=False)),
    Rule("var_samp", 1, takes_numbers, _always(DOUBLE), _spread(sample=True, root=False)),
    Rule("stddev_pop", 1, takes_numbers, _always(DOUBLE), _spread(sample=False, root=True)),
    Rule("stddev_samp", 1, takes_numbers, _always(DOUBLE), _spread(sample=True, root=True)),
    Rule("min_by", 2, _any, _first, _at("least")),
    Rule("max_by", 2, _any, _first, _at("greatest")),
    Rule("count distinct", 1, _any, _always(BIGINT), _holistic("distinct", _always(BIGINT))),
    Rule("percentile", 2, takes_numbers, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
    Rule("median", 1, takes_numbers, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
    Rule("mode", 1, _any, _first, _holistic("mode", _first)),
)

ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "first_value": "first",
    "last_value": "last",
}

# first and last by event time are the value at its least and greatest.
BY_EVENT_TIME = {"first": "min_by", "last": "max_by"}
