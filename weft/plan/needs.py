"""What one query needs of the network: dimensions, statistics, cuts and edges, and how its result is made of them.

`analyse` is the last step that sees a query whole. Everything it answers with is content-addressed, so queries that
need the same thing say so in the same words and share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import Holistic, Plain
from weft.aggregates.statistics import ROWS, Statistic
from weft.algebra.expressions import (
    Aggregate,
    Case,
    Expression,
    Literal,
    Slot,
    conjunction,
    conjuncts,
    identity,
    text,
    transform,
    walk,
)
from weft.algebra.finals import carried_parts
from weft.algebra.query import OrderItem, Query, SelectItem
from weft.algebra.safety import can_fail
from weft.algebra.size import check_written
from weft.algebra.windows import Window
from weft.errors import SqlError
from weft.plan.dimensions import Cut, Dimension, by_name
from weft.plan.placement import AT_HOME, Placement
from weft.plan.shards import shard

# Every value that is counted is a node of its own, with a row for each value: a query must not make hundreds of them.
MAX_VALUES = 32
MAX_MEASURES = 200
# No aggregate of Weft's own has more than three.
MAX_STATISTICS = 3 * MAX_MEASURES


@dataclass(frozen=True)
class Part:
    """The share of a query that one node answers: all plain aggregates, or those over one column's value counts."""

    node: str
    dimensions: frozenset[Dimension]
    statistics: tuple[Statistic, ...]
    value: Dimension | None = None


@dataclass(frozen=True)
class Measure:
    """One aggregate of the query: the slot its value is read from, the part it comes from, and how it is made."""

    slot: str
    part: int
    made_of: Plain | Holistic


@dataclass(frozen=True)
class Needs:
    """A query over slots: group dimensions, the residue of its predicate, parts, measures, and the final select."""

    stream: str
    window: Window | None
    groups: tuple[Dimension, ...]
    carried: tuple[Dimension, ...]
    residue: Expression | None
    cuts: tuple[tuple[str, frozenset[Cut]], ...]
    parts: tuple[Part, ...]
    measures: tuple[Measure, ...]
    select: tuple[SelectItem, ...]
    having: Expression | None
    order: tuple[OrderItem, ...]
    limit: int | None
    tree: str = ""


def node_id(stream: str, dimensions: frozenset[Dimension], *, running: bool, tree: str = "") -> str:
    """The name of the node with this dimension set in a tree; a running node and one with slices are two."""
    kind = "running" if running else "node"
    return identity(kind, stream, *sorted(dimension.name for dimension in dimensions), *([tree] if tree else []))


def analyse(query: Query, catalog: AggregateCatalog, placement: Placement = AT_HOME) -> Needs:
    """Take a canonical query apart, as far as its placement says."""
    groups = tuple(Dimension(_guarded(expression, query.where)) for expression in query.groups)
    originals = _carried(query)
    carried = tuple(Dimension(_guarded(expression, query.where)) for expression in originals)
    sharding = shard(query.where, groups, whole=placement.truths)
    base = frozenset(groups) | frozenset(carried) | sharding.dimensions
    aggregates = sorted(
        {node for expression in _final(query) for node in walk(expression) if isinstance(node, Aggregate)}, key=text
    )
    _check_many(len(aggregates), MAX_MEASURES, "aggregates")
    check_written(sum(map(catalog.written, aggregates)))
    made = {one: catalog.decompose(one, lambda part: _guarded_aggregate(part, query.where)) for one in aggregates}
    # Totals have no slices, so they belong to no tree.
    tree = placement.tree if query.window is not None else ""
    parts = _parts(query, base, list(made.values()), tree)
    values = {part.value: index for index, part in enumerate(parts)}
    keys = zip((*query.groups, *originals), (*groups, *carried), strict=True)
    slots: dict[Expression, Slot] = {expression: Slot(one.name, one.type) for expression, one in keys}
    measures = []
    for aggregate, made_of in made.items():
        slot = Slot(identity("a", text(aggregate)), aggregate.type)
        home = values[Dimension(made_of.value) if isinstance(made_of, Holistic) else None]
        measures.append(Measure(slot.name, home, made_of))
        slots[aggregate] = slot

    def read(expression: Expression) -> Expression:
        return transform(expression, slots.get)

    return Needs(
        stream=query.stream,
        window=query.window,
        groups=groups,
        carried=carried,
        residue=sharding.residue,
        cuts=sharding.cuts,
        parts=parts,
        measures=tuple(measures),
        select=tuple(SelectItem(item.name, read(item.expression)) for item in query.select),
        having=read(query.having) if query.having is not None else None,
        order=tuple(OrderItem(read(key.expression), key.ascending, key.nulls_first) for key in query.order),
        limit=query.limit,
        tree=tree,
    )


def _parts(query: Query, base: frozenset[Dimension], made: list[Plain | Holistic], tree: str) -> tuple[Part, ...]:
    """One part for the plain aggregates (or for none at all), one for each column whose values are counted."""
    running = query.window is None
    statistics = {one for each in made if isinstance(each, Plain) for one in each.statistics}
    counted = by_name({Dimension(each.value) for each in made if isinstance(each, Holistic)})
    _check_many(len(statistics - {ROWS}), MAX_STATISTICS, "statistics that its aggregates are made of")
    _check_many(len(counted), MAX_VALUES, "expressions whose values are counted (DISTINCT, percentile, median, mode)")
    parts = []
    if statistics or not counted:
        kept = tuple(sorted(statistics | {ROWS}, key=lambda one: one.name))
        parts.append(Part(node_id(query.stream, base, running=running, tree=tree), base, kept))
    for value in counted:
        wide = base | {value}
        parts.append(Part(node_id(query.stream, wide, running=running, tree=tree), wide, (ROWS,), value))
    return tuple(parts)


def _check_many(count: int, most: int, what: str) -> None:
    if count > most:
        raise SqlError("too-large", f"the query has {count} {what}, more than {most}", hint="Split the query.")


def _final(query: Query) -> list[Expression]:
    """The expressions that are evaluated over groups and aggregates."""
    having = [query.having] if query.having is not None else []
    return [*(item.expression for item in query.select), *having, *(key.expression for key in query.order)]


def _carried(query: Query) -> tuple[Expression, ...]:
    """Expressions over group keys that only Spark can compute, as dimensions of their own."""
    groups = set(query.groups)
    carried: set[Expression] = set()
    for expression in _final(query):
        parts = carried_parts(expression, groups)
        assert parts is not None, "binding refuses what cannot be computed from aggregates"
        carried |= parts
    return tuple(sorted(carried, key=text))


def _guarded(expression: Expression, where: Expression | None) -> Expression:
    """The expression for the rows that the query is about, where it could fail on others: they share its node."""
    if where is None or not can_fail(expression):
        return expression
    return Case(((where, expression),), Literal(None, expression.type), expression.type)


def _guarded_aggregate(aggregate: Aggregate, where: Expression | None) -> Aggregate:
    """The aggregate with arguments that are computed only for rows that it counts."""
    condition = _guarded(aggregate.where, where) if aggregate.where is not None else None
    both = conjunction((*conjuncts(where), *conjuncts(condition)))
    return replace(aggregate, arguments=tuple(_guarded(one, both) for one in aggregate.arguments), where=condition)
