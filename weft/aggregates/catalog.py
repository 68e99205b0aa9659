"""Aggregate functions as data: which statistics each needs, and how its result is made from them.

Built-in and user-defined aggregates have the same form (`Rule`); nothing outside this folder knows a function by name.
A holistic aggregate (count distinct, percentile, median, mode) has no statistics of fixed size: it is answered from
value counts, which are a node like any other with the value as one more dimension, shared by all who count that value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from weft.aggregates.statistics import Statistic, statistic
from weft.errors import SqlError
from weft.sql.canonical import canonical
from weft.sql.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Slot,
    conjunction,
    conjuncts,
    transform,
    walk,
)
from weft.sql.literals import TRUE
from weft.sql.size import check_written, size
from weft.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
    adjusted_decimal,
    decimal,
)


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
# What a query does to an aggregate so that rows of others cannot make it fail.
Guard = Callable[[Aggregate], Aggregate]


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


def _numeric(arguments: tuple[DataType, ...]) -> str:
    return "" if arguments[0].is_numeric or arguments[0] == VOID else "a numeric argument"


def _boolean(arguments: tuple[DataType, ...]) -> str:
    return "" if arguments[0] in (BOOLEAN, VOID) else "a boolean argument"


def _first(arguments: tuple[DataType, ...]) -> DataType:
    return arguments[0]


def _sum_type(arguments: tuple[DataType, ...]) -> DataType:
    return statistic("sum", Slot("x", arguments[0])).type


def _always(kind: DataType) -> Callable[[tuple[DataType, ...]], DataType]:
    return lambda _: kind


BUILT_IN: tuple[Rule, ...] = (
    Rule("count", 1, _any, _always(BIGINT), _single("count")),
    Rule("sum", 1, _numeric, _sum_type, _total),
    Rule("avg", 1, _numeric, _average_type, _average),
    Rule("min", 1, _any, _first, _single("min")),
    Rule("max", 1, _any, _first, _single("max")),
    Rule("bool_and", 1, _boolean, _first, _single("bool_and")),
    Rule("bool_or", 1, _boolean, _first, _single("bool_or")),
    Rule("var_pop", 1, _numeric, _always(DOUBLE), _spread(sample=False, root=False)),
    Rule("var_samp", 1, _numeric, _always(DOUBLE), _spread(sample=True, root=False)),
    Rule("stddev_pop", 1, _numeric, _always(DOUBLE), _spread(sample=False, root=True)),
    Rule("stddev_samp", 1, _numeric, _always(DOUBLE), _spread(sample=True, root=True)),
    Rule("min_by", 2, _any, _first, _at("least")),
    Rule("max_by", 2, _any, _first, _at("greatest")),
    Rule("count distinct", 1, _any, _always(BIGINT), _holistic("distinct", _always(BIGINT))),
    Rule("percentile", 2, _numeric, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
    Rule("median", 1, _numeric, _always(DOUBLE), _holistic("percentile", _always(DOUBLE))),
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


@dataclass(frozen=True)
class UserRule:
    """A user-defined aggregate: statistics and result as canonical expressions over its parameters and statistics."""

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    statistics: tuple[tuple[str, Aggregate], ...]
    result: Expression

    def written(self, arguments: tuple[Expression, ...]) -> int:
        """How many parts its statistics have over these arguments, each of which stands wherever its parameter does."""
        given = {name: size(value) for (name, _), value in zip(self.parameters, arguments, strict=True)}
        nodes = (node for _, aggregate in self.statistics for node in walk(aggregate))
        return sum(given.get(node.name, 1) if isinstance(node, Column) else 1 for node in nodes)

    def decompose(self, call: Aggregate, catalog: AggregateCatalog, guard: Guard) -> Plain:
        given = {name: value for (name, _), value in zip(self.parameters, call.arguments, strict=True)}

        def fill(node: Expression) -> Expression | None:
            return given.get(node.name) if isinstance(node, Column) else None

        kept: list[Statistic] = []
        results: dict[str, Expression] = {}
        for name, aggregate in self.statistics:
            filled = transform(aggregate, fill)
            assert isinstance(filled, Aggregate)
            part = catalog.decompose(replace(filled, where=_both(call.where, filled.where)), guard)
            assert isinstance(part, Plain)
            kept += part.statistics
            results[name] = part.result

        def read(node: Expression) -> Expression | None:
            return results.get(node.name) if isinstance(node, Column) else None

        return Plain(tuple(kept), transform(self.result, read))


def _both(outer: Expression | None, inner: Expression | None) -> Expression | None:
    """The condition of a call and that of a statistic in it, as one; the call's guards the statistic's."""
    if inner is None:
        return outer
    found = canonical(conjunction((*conjuncts(outer), *conjuncts(inner))) or TRUE)
    return None if found == TRUE else found


def _as_it_is(aggregate: Aggregate) -> Aggregate:
    return aggregate


class AggregateCatalog:
    """The aggregates that queries of one engine may use; immutable, so a snapshot is safe to share."""

    def __init__(self, user: Mapping[str, UserRule] | None = None, *, event_time: str | None = None) -> None:
        self._rules = {rule.name: rule for rule in BUILT_IN}
        self._user = dict(user or {})
        self._event_time = event_time

    def names(self) -> frozenset[str]:
        """Every name that a query may call."""
        spelled = {name for name in self._rules if " " not in name}
        return frozenset(spelled | set(ALIASES) | set(BY_EVENT_TIME) | set(self._user))

    def over(self, event_time: str) -> AggregateCatalog:
        """The same catalog for a stream with this event-time column, which first and last go by."""
        return AggregateCatalog(self._user, event_time=event_time)

    def plus(self, rule: UserRule) -> AggregateCatalog:
        """The catalog with one user-defined aggregate more."""
        return AggregateCatalog({**self._user, rule.name: rule}, event_time=self._event_time)

    def bind(self, function: str, arguments: tuple[Expression, ...], distinct: bool) -> Aggregate:
        """The typed aggregate for a call; refuses wrong arguments."""
        name = ALIASES.get(function, function)
        if name in self._user:
            return self._bind_user(self._user[name], arguments, distinct)
        if name in BY_EVENT_TIME and (len(arguments) != 1 or distinct or self._event_time is None):
            raise SqlError(
                "wrong-arguments",
                f"{name} takes one argument, and NULL is a value like any other",
                hint=f"For the {name} value that is not NULL use {name}(x) FILTER (WHERE x IS NOT NULL).",
            )
        if name in BY_EVENT_TIME and self._event_time is not None:
            name, arguments = BY_EVENT_TIME[name], (*arguments, Column(self._event_time, TIMESTAMP))
        if name == "count" and not arguments and not distinct:
            return Aggregate("count", (), BIGINT)
        # A repeated value changes neither of these.
        distinct = distinct and name not in ("min", "max", "bool_and", "bool_or")
        rule = self._rules.get(f"{name} distinct" if distinct else name)
        if rule is None:
            raise SqlError(
                "unsupported-distinct",
                f"{name} does not take DISTINCT",
                hint="count(DISTINCT x) is the aggregate over distinct values.",
            )
        if len(arguments) != rule.arity:
            raise SqlError(
                "wrong-arguments",
                f"{rule.name} takes {rule.arity} argument(s), not {len(arguments)}",
                hint="count(*) counts rows; every other aggregate names what it is over.",
            )
        kinds = tuple(argument.type for argument in arguments)
        wanted = rule.accepts(kinds)
        if wanted:
            raise SqlError(
                "wrong-type", f"{rule.name} needs {wanted}, not {kinds[0]}", hint="Use CAST to say what is meant."
            )
        if rule.name == "percentile":
            arguments = (arguments[0], _fraction(arguments[1]))
        arguments = tuple(self._untyped_null(rule, argument) for argument in arguments)
        kinds = tuple(argument.type for argument in arguments)
        return Aggregate(name, arguments, rule.result(kinds), distinct)

    def decompose(self, aggregate: Aggregate, guard: Guard = _as_it_is) -> Decomposition:
        """What an aggregate is made of; the guard comes last, when a user's own is written out."""
        if aggregate.function in self._user:
            return self._user[aggregate.function].decompose(aggregate, self, guard)
        name = f"{aggregate.function} distinct" if aggregate.distinct else aggregate.function
        guarded = guard(aggregate)
        return self._rules[name].build(guarded.arguments, guarded.where)

    def _bind_user(self, rule: UserRule, arguments: tuple[Expression, ...], distinct: bool) -> Aggregate:
        if distinct or len(arguments) != len(rule.parameters):
            raise SqlError(
                "wrong-arguments",
                f"{rule.name} takes {len(rule.parameters)} argument(s), without DISTINCT",
                hint="Call it as create_aggregate defined it.",
            )
        cast = []
        for (name, kind), argument in zip(rule.parameters, arguments, strict=True):
            same_family = argument.type.is_numeric and kind.is_numeric
            if argument.type != kind and not same_family and argument.type != VOID:
                raise SqlError(
                    "wrong-type",
                    f"{rule.name}: {name} is {kind}, not {argument.type}",
                    hint=f"Use CAST(... AS {kind}).",
                )
            cast.append(argument if argument.type == kind else Cast(argument, kind))
        check_written(rule.written(tuple(cast)))
        return Aggregate(rule.name, tuple(cast), rule.result.type)

    @staticmethod
    def _untyped_null(rule: Rule, argument: Expression) -> Expression:
        if argument.type != VOID:
            return argument
        kind = BOOLEAN if rule.accepts is _boolean else DOUBLE if rule.accepts is _numeric else STRING
        return Literal(None, kind)


def _fraction(share: Expression) -> Expression:
    while isinstance(share, Cast):
        share = share.operand
    value = share.value if isinstance(share, Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 <= value <= 1:
        raise SqlError(
            "wrong-arguments",
            "percentile needs a constant between 0 and 1",
            hint="For example percentile(length, 0.95).",
        )
    return Literal(float(value), DOUBLE)
