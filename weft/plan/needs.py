"""What one query needs of the network: dimensions, statistics, cuts and edges, and how its result is made of them.

`analyse` is the last step that sees a query whole. Everything it answers with is content-addressed, so queries that
need the same thing say so in the same words and share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import Holistic, Plain
from weft.aggregates.statistics import ROW_COUNT, Statistic
from weft.algebra.expressions import (
    Aggregate,
    Call,
    Case,
    Expression,
    Literal,
    Slot,
    conjunction,
    conjuncts,
    identity,
    text,
    transform,
)
from weft.algebra.finals import carried_parts
from weft.algebra.query import Block, Query
from weft.algebra.relations import OrderItem, SelectItem
from weft.algebra.safety import can_fail
from weft.algebra.size import check_written
from weft.algebra.windows import Clock, Window
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
    """The share of a query that one node answers: all plain aggregates, or those over the counts of `values`."""

    node: str
    dimensions: frozenset[Dimension]
    statistics: tuple[Statistic, ...]
    values: tuple[Dimension, ...] = ()


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
    window: Window
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
    # The predicate as it was meant, for people; the residue says the same over slots.
    where: Expression | None = field(default=None, compare=False)


def node_id(stream: str, dimensions: frozenset[Dimension], *, clock: Clock, tree: str = "") -> str:
    """The name of the node with this dimension set in a tree; one with slices and one of totals are two."""
    kind = "node" if clock.sliced else "running"
    return identity(kind, stream, *sorted(dimension.name for dimension in dimensions), *([tree] if tree else []))


def analyse(query: Query, catalog: AggregateCatalog, placement: Placement = AT_HOME) -> Needs:
    """Take a canonical query apart, as far as its placement says."""
    block, finish = query.block, query.finish
    groups = tuple(Dimension(_guarded(expression, block.where)) for expression in block.groups)
    originals = _carried(query)
    over_keys = [_over_keys(expression, frozenset(block.groups)) for expression in originals]
    carried = tuple(Dimension(_guarded(expression, block.where)) for expression in over_keys)
    sharding = shard(block.where, groups, whole=placement.truths)
    base = frozenset(groups) | frozenset(carried) | sharding.dimensions
    _check_many(len(block.aggregates), MAX_MEASURES, "aggregates")
    check_written(sum(map(catalog.written, block.aggregates)))
    made = {one: catalog.decompose(one, lambda part: _guarded_aggregate(part, block.where)) for one in block.aggregates}
    tree = placement.of(block.window).tree
    parts = _parts(block, base, list(made.values()), tree)
    homes = {part.values: index for index, part in enumerate(parts)}
    keys = zip((*block.groups, *originals), (*groups, *carried), strict=True)
    slots: dict[Expression, Slot] = {expression: Slot(one.name, one.type) for expression, one in keys}
    measures = []
    for aggregate, made_of in made.items():
        slot = Slot(identity("a", text(aggregate)), aggregate.type)
        home = homes[_counted(made_of) if isinstance(made_of, Holistic) else ()]
        measures.append(Measure(slot.name, home, made_of))
        slots[aggregate] = slot

    def read(expression: Expression) -> Expression:
        return transform(expression, slots.get)

    return Needs(
        stream=block.feed,
        window=block.window,
        groups=groups,
        carried=carried,
        residue=sharding.residue,
        cuts=sharding.cuts,
        parts=parts,
        measures=tuple(measures),
        select=tuple(SelectItem(item.name, read(item.expression)) for item in finish.select),
        having=read(finish.having) if finish.having is not None else None,
        order=tuple(OrderItem(read(key.expression), key.ascending, key.nulls_first) for key in finish.order),
        limit=finish.limit,
        tree=tree,
        where=block.where,
    )


def _parts(block: Block, base: frozenset[Dimension], made: list[Plain | Holistic], tree: str) -> tuple[Part, ...]:
    """One part for the plain aggregates (or for none at all), one for each expression whose values are counted."""
    clock = block.window.clock
    statistics = {one for each in made if isinstance(each, Plain) for one in each.statistics}
    counted = {_counted(each) for each in made if isinstance(each, Holistic)}
    _check_many(len(statistics - {ROW_COUNT}), MAX_STATISTICS, "statistics that its aggregates are made of")
    _check_many(len(counted), MAX_VALUES, "expressions whose values are counted (DISTINCT, percentile, median, mode)")
    parts = []
    if statistics or not counted:
        kept = tuple(sorted(statistics | {ROW_COUNT}, key=lambda one: one.name))
        parts.append(Part(node_id(block.feed, base, clock=clock, tree=tree), base, kept))
    for values in sorted(counted, key=lambda each: [one.name for one in each]):
        wide = base.union(values)
        parts.append(Part(node_id(block.feed, wide, clock=clock, tree=tree), wide, (ROW_COUNT,), values))
    return tuple(parts)


def _counted(made_of: Holistic) -> tuple[Dimension, ...]:
    """What is counted, in one order: (a, b) has as many values as (b, a)."""
    return by_name({Dimension(one) for one in made_of.values})


def _check_many(count: int, most: int, what: str) -> None:
    if count > most:
        raise SqlError("too-large", f"the query has {count} {what}, more than {most}", hint="Split the query.")


def _carried(query: Query) -> tuple[Expression, ...]:
    """Expressions over group keys that only Spark can compute, as dimensions of their own."""
    groups = set(query.block.groups)
    carried: set[Expression] = set()
    for expression in query.finish.expressions:
        parts = carried_parts(expression, groups)
        assert parts is not None, "binding refuses what cannot be computed from aggregates"
        carried |= parts
    return tuple(sorted(carried, key=text))


def _over_keys(expression: Expression, groups: frozenset[Expression]) -> Expression:
    """The expression over the keys as rows are grouped by them, to which -0.0 is 0.0: a sum with 0.0 makes it so."""

    def key(node: Expression) -> Expression | None:
        if node not in groups:
            return None
        return Call("+", (node, Literal(0.0, node.type)), node.type) if node.type.is_fractional else node

    return transform(expression, key)


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
