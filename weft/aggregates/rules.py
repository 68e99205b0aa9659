"""Built-in aggregate functions as data: which statistics each needs, and how its result is made from them.

A holistic aggregate (count distinct, percentile, median, mode) has no statistics of fixed size: it is answered from
value counts, which are a node like any other with the value as a further dimension, shared by all that count it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from weft.aggregates.statistics import Statistic, statistic
from weft.algebra.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Slot,
)
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, VOID, DataType, decimal

# Spark sums decimals in ten digits more than they have; decimals of up to this many digits leave room for all ten.
SUMMED_DIGITS = MAX_PRECISION - 10
# Wider decimals are summed in two parts: this many low digits, and the high digits, which fit 64 bits.
LOW_DIGITS = 20


@dataclass(frozen=True)
class Plain:
    """An aggregate made of statistics: `result` is over slots named as the statistics are."""

    statistics: tuple[Statistic, ...]
    result: Expression


@dataclass(frozen=True)
class Holistic:
    """An aggregate made of counts of values: `kind` says what is read from them, `fraction` which percentile.

    Several `values` are counted together, as rows of values; a row that holds a NULL does not count.
    """

    kind: str
    values: tuple[Expression, ...]
    type: DataType
    fraction: float | None = None


Decomposition = Plain | Holistic
Builder = Callable[[tuple[Expression, ...], Expression | None], Decomposition]


@dataclass(frozen=True)
class AggregateRule:
    """An aggregate function: the types it takes, the type it returns, and what it is made of.

    With `more` the function takes `arity` arguments or more.
    """

    name: str
    arity: int
    accepts: Callable[[tuple[DataType, ...]], str]
    result: Callable[[tuple[DataType, ...]], DataType]
    build: Builder
    more: bool = False

    def takes(self, count: int) -> bool:
        """Whether the function takes this many arguments."""
        return count == self.arity or self.more and count > self.arity


def slot(statistic: Statistic) -> Slot:
    """The value of a merged statistic, as an operand."""
    return Slot(statistic.name, statistic.type)


def as_double(expression: Expression) -> Expression:
    return expression if expression.type == DOUBLE else Cast(expression, DOUBLE)


def quotient_or_null(left: Expression, right: Expression) -> Expression:
    """left / right as doubles, NULL where right is zero."""
    quotient = Call("/", (as_double(left), as_double(right)), DOUBLE)
    zero = Call("=", (right, Literal(0, right.type) if right.type == BIGINT else Literal(0.0, DOUBLE)), BOOLEAN)
    return Case(((zero, Literal(None, DOUBLE)),), quotient, DOUBLE)


def _single_of(basic: str, arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    single = statistic(basic, *arguments, where=where)
    return Plain((single,), slot(single))


def _single(basic: str) -> Builder:
    return lambda arguments, where: _single_of(basic, arguments, where)


def _total(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    """The sum of a value, from statistics that cannot overflow: they cover rows that the query leaves out, too.

    Whether the total fits its type is checked when it is read.
    Integers of up to 32 bits and decimals of up to 28 digits need billions of rows to overflow their sums.
    """
    value = arguments[0]
    if value.type == BIGINT:
        wide = statistic("wide_sum", value, where=where)
        return Plain((wide,), Call("total", (slot(wide),), BIGINT))
    if not value.type.is_decimal or value.type.precision <= SUMMED_DIGITS:
        return _single_of("sum", arguments, where)
    unit = _high_unit(value.type.scale)
    rest = decimal(max(LOW_DIGITS + 1, value.type.scale), value.type.scale)
    high = statistic("wide_sum", Call("div", (value, unit), BIGINT), where=where)
    low = statistic("sum", Call("%", (value, unit), rest), where=where)
    return Plain((high, low), Call("total", (slot(high), slot(low), unit), decimal(MAX_PRECISION, value.type.scale)))


def _high_unit(scale: int) -> Literal:
    """The value of a unit of the high digits of a wide decimal: the least value that its low digits cannot hold."""
    exponent = LOW_DIGITS - scale
    kind = decimal(exponent + 1, 0) if exponent >= 0 else decimal(-exponent, -exponent)
    return Literal(Decimal(10) ** exponent, kind)


def _double_sum(value: Expression, where: Expression | None) -> Statistic:
    """The sum that an average divides; for integers that cannot overflow it is the sum that sum() has, too."""
    if value.type.is_integral and value.type != BIGINT:
        return statistic("sum", value, where=where)
    return statistic("sum", as_double(value), where=where)


def _average(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
    value = arguments[0]
    count = statistic("count", value, where=where)
    if not value.type.is_decimal:
        total = _double_sum(value, where)
        return Plain((total, count), quotient_or_null(slot(total), slot(count)))
    total_parts = _total(arguments, where)
    kind = _average_type((value.type,))
    # Spark divides straight into the type of the average: by way of the type of a quotient, which has room for more
    # digits before the point and for fewer after it, the last digits would be lost.
    quotient = Call("/", (total_parts.result, Cast(slot(count), decimal(20, 0))), kind)
    empty = Call("=", (slot(count), Literal(0, BIGINT)), BOOLEAN)
    return Plain((*total_parts.statistics, count), Case(((empty, Literal(None, kind)),), quotient, kind))


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
            squares = statistic("squares", value, where=where)
            distances: Expression = Call("squared_distances", (slot(count), slot(total), slot(squares)), DOUBLE)
        else:
            squares = statistic("m2", as_double(value), where=where, needs=(count, total))
            distances = slot(squares)
        too_few = Literal(1 if sample else 0, BIGINT)
        freedom = Call("-", (as_double(slot(count)), Literal(1.0 if sample else 0.0, DOUBLE)), DOUBLE)
        variance: Expression = Call("/", (distances, freedom), DOUBLE)
        if root:
            variance = Call("sqrt", (variance,), DOUBLE)
        few = Call("<=", (slot(count), too_few), BOOLEAN)
        return Plain((count, total, squares), Case(((few, Literal(None, DOUBLE)),), variance, DOUBLE))

    return build


def _at(basic: str) -> Builder:
    """min_by and max_by: the value at the least or greatest order."""

    def build(arguments: tuple[Expression, ...], where: Expression | None) -> Plain:
        extreme = statistic(basic, *arguments, where=where)
        return Plain((extreme,), Slot(f"{extreme.name}.v", extreme.type))

    return build


def _holistic(kind: str, result: Callable[[tuple[DataType, ...]], DataType]) -> Builder:
    def build(arguments: tuple[Expression, ...], where: Expression | None) -> Holistic:
        values = tuple(dict.fromkeys(arguments)) if kind == "distinct" else arguments[:1]
        # Rows that a FILTER leaves out must not count, so their value is NULL, which is never counted.
        if where is not None:
            values = tuple(Case(((where, value),), Literal(None, value.type), value.type) for value in values)
        fraction = None
        if kind == "percentile":
            share = arguments[1] if len(arguments) > 1 else Literal(0.5, DOUBLE)
            assert isinstance(share, Literal)
            fraction = float(share.value)  # type: ignore[arg-type]
        return Holistic(kind, values, result((values[0].type,)), fraction)

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


BUILT_IN: tuple[AggregateRule, ...] = (
    AggregateRule("count", 1, _any, _always(BIGINT), _single("count")),
    AggregateRule("sum", 1, takes_numbers, _sum_type, _total),
    AggregateRule("avg", 1, takes_numbers, _average_type, _average),
    AggregateRule("min", 1, _any, _first, _single("min")),
    AggregateRule("max", 1, _any, _first, _single("max")),
    AggregateRule("bool_and", 1, takes_boolean, _first, _single("bool_and")),
    AggregateRule("bool_or", 1, takes_boolean, _first, _single("bool_or")),
    AggregateRule("var_pop", 1, takes_numbers, _always(DOUBLE), _spread(sample=False, root=False)),
    AggregateRule("var_samp", 1, takes_numbers, _always(DOUBLE), _spread(sample=True, root=False)),
    AggregateRule("stddev_pop", 1, takes_numbers, _always(DOUBLE), _spread(sample=False, root=True)),
    AggregateRule("stddev_samp", 1, takes_numbers, _always(DOUBLE), _spread(sample=True, root=True)),
    AggregateRule("min_by", 2, _any, _first, _at("least")),
    AggregateRule("max_by", 2, _any, _first, _at("greatest")),
    AggregateRule("count distinct", 1, _any, _always(BIGINT), _holistic("distinct", _always(BIGINT)), more=True),
    AggregateRule("percentile", 2, takes_numbers, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
    AggregateRule("median", 1, takes_numbers, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
    AggregateRule("mode", 1, _any, _first, _holistic("mode", _first)),
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

# first and last by event time are the values at its least and at its greatest moment.
BY_EVENT_TIME = {"first": "min_by", "last": "max_by"}
