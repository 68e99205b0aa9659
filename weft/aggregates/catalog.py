"""The aggregates that queries may use, built-in and user-defined; nothing outside this folder knows their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from weft.aggregates.rules import (
    ALIASES,
    BUILT_IN,
    BY_EVENT_TIME,
    AggregateRule,
    Decomposition,
    Plain,
    takes_boolean,
    takes_numbers,
)
from weft.aggregates.statistics import Statistic
from weft.algebra.canonical import canonical
from weft.algebra.expressions import (
    Aggregate,
    Cast,
    Column,
    Expression,
    Literal,
    conjunction,
    conjuncts,
    transform,
    walk,
)
from weft.algebra.growth import check_growth_within
from weft.algebra.literals import TRUE
from weft.algebra.size import check_written, size
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
)
from weft.errors import SqlError

# Rewrites an aggregate of a query so that rows of other queries cannot make it fail.
Guard = Callable[[Aggregate], Aggregate]


@dataclass(frozen=True)
class UserRule:
    """A user-defined aggregate: statistics and result as canonical expressions over its parameters and statistics."""

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    statistics: tuple[tuple[str, Aggregate], ...]
    result: Expression

    def written(self, arguments: tuple[Expression, ...]) -> int:
        """How many parts the definition has once these arguments stand wherever their parameters do."""
        sizes = {name: size(value) for (name, _), value in zip(self.parameters, arguments, strict=True)}
        nodes = (node for _, aggregate in self.statistics for node in walk(aggregate))
        return size(self.result) + sum(sizes.get(node.name, 1) if isinstance(node, Column) else 1 for node in nodes)

    def filled(self, arguments: tuple[Expression, ...]) -> Iterator[tuple[str, Aggregate]]:
        """The statistics of the definition, with these arguments put for the parameters."""
        values = {name: value for (name, _), value in zip(self.parameters, arguments, strict=True)}

        def fill(node: Expression) -> Expression | None:
            return values.get(node.name) if isinstance(node, Column) else None

        for name, aggregate in self.statistics:
            filled = transform(aggregate, fill)
            assert isinstance(filled, Aggregate)
            yield name, filled

    def decompose(self, call: Aggregate, catalog: AggregateCatalog, guard: Guard) -> Plain:
        """The statistics of the definition taken apart, and its result over them."""
        statistics: list[Statistic] = []
        results: dict[str, Expression] = {}
        for name, filled in self.filled(call.arguments):
            part = catalog.decompose(replace(filled, where=_both_conditions(call.where, filled.where)), guard)
            assert isinstance(part, Plain)
            statistics += part.statistics
            results[name] = part.result

        def read(node: Expression) -> Expression | None:
            return results.get(node.name) if isinstance(node, Column) else None

        return Plain(tuple(statistics), transform(self.result, read))


def _both_conditions(outer: Expression | None, inner: Expression | None) -> Expression | None:
    """The conjunction of a call's condition and its statistic's; the call's comes first and guards the other."""
    if inner is None:
        return outer
    condition = canonical(conjunction((*conjuncts(outer), *conjuncts(inner))) or TRUE)
    return None if condition == TRUE else condition


def _unguarded(aggregate: Aggregate) -> Aggregate:
    return aggregate


class AggregateCatalog:
    """The aggregates that the queries of an engine may use; immutable, so a snapshot is safe to share."""

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
        """The catalog with a further user-defined aggregate."""
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
        # A repeated value changes none of these results.
        distinct = distinct and name not in ("min", "max", "bool_and", "bool_or")
        rule = self._rules.get(f"{name} distinct" if distinct else name)
        if rule is None:
            raise SqlError(
                "unsupported-distinct",
                f"{name} does not take DISTINCT",
                hint="count(DISTINCT x) is the aggregate over distinct values.",
            )
        if not rule.takes(len(arguments)):
            wanted = f"{rule.arity} or more" if rule.more else str(rule.arity)
            raise SqlError(
                "wrong-arguments",
                f"{rule.name} takes {wanted} argument(s), not {len(arguments)}",
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

    def written(self, aggregate: Aggregate) -> int:
        """How many parts the call of a user-defined aggregate has once written out; 0 for a built-in aggregate."""
        rule = self._user.get(aggregate.function)
        return 0 if rule is None else rule.written(aggregate.arguments)

    def decompose(self, aggregate: Aggregate, guard: Guard = _unguarded) -> Decomposition:
        """What an aggregate is made of; the guard is applied last, to the built-in aggregates of a definition."""
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
        casts = []
        for (name, kind), argument in zip(rule.parameters, arguments, strict=True):
            same_family = argument.type.is_numeric and kind.is_numeric
            if argument.type != kind and not same_family and argument.type != VOID:
                raise SqlError(
                    "wrong-type",
                    f"{rule.name}: {name} is {kind}, not {argument.type}",
                    hint=f"Use CAST(... AS {kind}).",
                )
            casts.append(argument if argument.type == kind else Cast(argument, kind))
        check_written(rule.written(tuple(casts)))
        for _, filled in rule.filled(tuple(casts)):
            check_growth_within(filled)
        return Aggregate(rule.name, tuple(casts), rule.result.type)

    @staticmethod
    def _untyped_null(rule: AggregateRule, argument: Expression) -> Expression:
        """The argument, where NULL without a type gets a type that the rule accepts."""
        if argument.type != VOID:
            return argument
        kind = BOOLEAN if rule.accepts is takes_boolean else DOUBLE if rule.accepts is takes_numbers else STRING
        return Literal(None, kind)


def _fraction(share: Expression) -> Expression:
    """The fraction of a percentile as a double; refuses what is no constant between 0 and 1."""
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
