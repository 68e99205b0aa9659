"""The aggregates that queries may use, built-in and user-defined; nothing outside this folder knows one by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from weft.aggregates.rules import (
    ALIASES,
    BUILT_IN,
    BY_EVENT_TIME,
    Decomposition,
    Plain,
    Rule,
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

# What a query does to an aggregate so that rows of others cannot make it fail.
Guard = Callable[[Aggregate], Aggregate]


@dataclass(frozen=True)
class UserRule:
    """A user-defined aggregate: statistics and result as canonical expressions over its parameters and statistics."""

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    statistics: tuple[tuple[str, Aggregate], ...]
    result: Expression

    def written(self, arguments: tuple[Expression, ...]) -> int:
        """How many parts it has over these arguments, each of which stands wherever its parameter does."""
        given = {name: size(value) for (name, _), value in zip(self.parameters, arguments, strict=True)}
        nodes = (node for _, aggregate in self.statistics for node in walk(aggregate))
        return size(self.result) + sum(given.get(node.name, 1) if isinstance(node, Column) else 1 for node in nodes)

    def filled(self, arguments: tuple[Expression, ...]) -> Iterator[tuple[str, Aggregate]]:
        """Its statistics with these arguments in the places of the parameters."""
        given = {name: value for (name, _), value in zip(self.parameters, arguments, strict=True)}

        def fill(node: Expression) -> Expression | None:
            return given.get(node.name) if isinstance(node, Column) else None

        for name, aggregate in self.statistics:
            found = transform(aggregate, fill)
            assert isinstance(found, Aggregate)
            yield name, found

    def decompose(self, call: Aggregate, catalog: AggregateCatalog, guard: Guard) -> Plain:
        kept: list[Statistic] = []
        results: dict[str, Expression] = {}
        for name, filled in self.filled(call.arguments):
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

    def written(self, aggregate: Aggregate) -> int:
        """How many parts a user's own aggregate has where it is called; the others are no longer than they look."""
        rule = self._user.get(aggregate.function)
        return 0 if rule is None else rule.written(aggregate.arguments)

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
        for _, filled in rule.filled(tuple(cast)):
            check_growth_within(filled)
        return Aggregate(rule.name, tuple(cast), rule.result.type)

    @staticmethod
    def _untyped_null(rule: Rule, argument: Expression) -> Expression:
        if argument.type != VOID:
            return argument
        kind = BOOLEAN if rule.accepts is takes_boolean else DOUBLE if rule.accepts is takes_numbers else STRING
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
