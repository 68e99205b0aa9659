"""What a query needs of the network: dimensions, statistics, cuts and edges, and how its result is made of them.

`analyse` is the last step that sees a query whole. Everything it answers with is content-addressed, so queries that
need the same thing say so in the same words and share it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import Holistic, Plain
from weft.aggregates.statistics import ROW_COUNT, Statistic
from weft.algebra.expressions import (
    Aggregate,
    Call,
    Case,
    Column,
    Expression,
    Literal,
    Slot,
    column_names,
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
from weft.algebra.types import BIGINT, BOOLEAN, TIMESTAMP
from weft.algebra.windows import Clock, Window
from weft.errors import SqlError
from weft.plan.dimensions import TICK, Cut, Dimension, by_name, matches_beside
from weft.plan.match import Match
from weft.plan.placement import AT_HOME, Placement
from weft.plan.shards import Sharding, Split, shard, split

# Every value that is counted is a node of its own, with a row for each value: a query must not make hundreds of them.
MAX_VALUES = 32
MAX_MEASURES = 200
# No aggregate of Weft's own has more than three.
MAX_STATISTICS = 3 * MAX_MEASURES


@dataclass(frozen=True)
class Part:
    """The share of a query that a node answers: all plain aggregates, or the aggregates over the counts of `values`."""

    node: str
    dimensions: frozenset[Dimension]
    statistics: tuple[Statistic, ...]
    values: tuple[Dimension, ...] = ()


@dataclass(frozen=True)
class Measure:
    """An aggregate of the query: the slot its value is read from, the part it comes from, and how it is made."""

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
    match: Match | None = None
    # Of selected rows the dimension that is their event time: a group then stands for as many rows as it counts.
    moment: str = ""
    # The predicate as it was meant, for people; the residue says the same over slots.
    where: Expression | None = field(default=None, compare=False)

    @property
    def selects(self) -> bool:
        """Whether rows are selected, and none aggregated."""
        return bool(self.moment)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the feed that it is computed from."""
        kept = (statistic for part in self.parts for statistic in part.statistics)
        expressions = [
            *(dimension.expression for part in self.parts for dimension in part.dimensions if not dimension.ticks),
            *(expression for statistic in kept for expression in statistic.expressions),
            *([] if self.where is None else [self.where]),
        ]
        return frozenset[str]().union(*map(column_names, expressions))


def node_id(stream: str, dimensions: frozenset[Dimension], *, clock: Clock, tree: str = "") -> str:
    """The name of the node with this dimension set in a tree; a node with slices and a node of totals differ."""
    kind = "node" if clock.sliced else "running"
    return identity(kind, stream, *sorted(dimension.name for dimension in dimensions), *([tree] if tree else []))


def analyse(query: Query, catalog: AggregateCatalog, placement: Placement = AT_HOME) -> Needs:
    """Take a canonical query apart into what it needs, in the form that its placement says."""
    block, finish = query.block, query.finish
    if block.selects:
        placement = Placement(rows_tree(block.window), matches=True)
    groups = tuple(Dimension(_guarded(expression, block.where)) for expression in block.groups)
    originals = _carried(query)
    # Of rows that are selected every value is kept as it came.
    over_keys = [
        expression if block.selects else _over_keys(expression, frozenset(block.groups)) for expression in originals
    ]
    carried = tuple(Dimension(_guarded(expression, block.where)) for expression in over_keys)
    _check_many(len(block.aggregates), MAX_MEASURES, "aggregates")
    check_written(sum(map(catalog.written, block.aggregates)))
    decomposed = {
        aggregate: catalog.decompose(aggregate, lambda part: _guarded_aggregate(part, block.where))
        for aggregate in block.aggregates
    }
    tree = placement.of(block.window).tree
    keys_read = frozenset(groups) | frozenset(carried)
    if block.selects:
        apart = Split((), block.where)
    else:
        apart = split(block.where, groups) if placement.matches else Split((), None)
    match = _match(block, apart, keys_read, decomposed.values(), tree)
    sharding = shard(block.where, groups, whole=placement.truths) if match is None else _matching(match, apart)
    ticks = frozenset({TICK} if block.selects else ())
    parts = _parts(block, keys_read | sharding.dimensions | ticks, decomposed.values(), tree)
    homes = {part.values: index for index, part in enumerate(parts)}
    keys = zip((*block.groups, *originals), (*groups, *carried), strict=True)
    slots: dict[Expression, Expression] = {key: Slot(dimension.name, dimension.type) for key, dimension in keys}
    measures = []
    for aggregate, made_of in decomposed.items():
        slot = Slot(identity("a", text(aggregate)), aggregate.type)
        home = homes[_counted(made_of) if isinstance(made_of, Holistic) else ()]
        measures.append(Measure(slot.name, home, made_of))
        slots[aggregate] = slot

    finals = slots | _with_signs(slots) if block.selects else slots

    def read(expression: Expression) -> Expression:
        return transform(expression, finals.get)

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
        match=match,
        moment=Dimension(Column(block.moment, TIMESTAMP)).name if block.selects else "",
        where=block.where,
    )


def rows_tree(window: Window) -> str:
    """The tree of the nodes that hold selected rows: its slices are only for finding rows and letting go of them."""
    return f"rows {window}" if window.clock.sliced else ""


def _with_signs(slots: Mapping[Expression, Expression]) -> dict[Expression, Expression]:
    """The columns of selected rows whose zeros have a sign: where it is kept as a truth of its own, it is put back."""
    signed: dict[Expression, Expression] = {}
    for key, negative in slots.items():
        if isinstance(key, Call) and key.function == "negative_zero":
            (column,) = key.arguments
            zero = slots[column]
            signed[column] = Case(((negative, Call("negate", (zero,), column.type)),), zero, column.type)
    return signed


def _match(
    block: Block,
    parts: Split,
    keys: frozenset[Dimension],
    decomposed: Collection[Plain | Holistic],
    tree: str,
) -> Match | None:
    """The match of what the groups cannot answer of a predicate; None where they answer all of it.

    Nodes have the same dimension of matches only where every query that reads one of them reads all of them: what a
    node looks for is what its readers ask for.
    """
    if parts.rest is None:
        return None
    statistics, counted = _kept(decomposed)
    names = sorted(dimension.name for dimension in keys | parts.used)
    homes = sorted(" ".join(value.name for value in values) for values in counted)
    plain = ["plain"] if statistics or not counted else []
    dimension = matches_beside([str(block.window.clock), tree, *names, *plain, *homes])
    closed = {ROW_COUNT, *statistics, *(needed for statistic in statistics for needed in statistic.needs)}
    return Match(dimension, parts.rest, tuple(sorted(closed, key=lambda statistic: statistic.name)))


def _matching(match: Match, parts: Split) -> Sharding:
    """What a predicate with a match asks of its nodes."""
    kept = Call("=", (Slot(match.dimension.name, BIGINT), Literal(match.number, BIGINT)), BOOLEAN)
    cuts = ((match.dimension.name, frozenset({match.number})),)
    return Sharding(parts.used | {match.dimension}, cuts, parts.residue(kept))


def _kept(decomposed: Collection[Plain | Holistic]) -> tuple[set[Statistic], set[tuple[Dimension, ...]]]:
    """The statistics of all plain aggregates, and the dimensions whose values are counted."""
    statistics = {statistic for rule in decomposed if isinstance(rule, Plain) for statistic in rule.statistics}
    return statistics, {_counted(rule) for rule in decomposed if isinstance(rule, Holistic)}


def _parts(
    block: Block, base: frozenset[Dimension], decomposed: Collection[Plain | Holistic], tree: str
) -> tuple[Part, ...]:
    """A part for the plain aggregates (or for none at all), and a part for each expression whose values are counted."""
    clock = block.window.clock
    statistics, counted = _kept(decomposed)
    _check_many(len(statistics - {ROW_COUNT}), MAX_STATISTICS, "statistics that its aggregates are made of")
    _check_many(len(counted), MAX_VALUES, "expressions whose values are counted (DISTINCT, percentile, median, mode)")
    parts = []
    if statistics or not counted:
        plain = tuple(sorted(statistics | {ROW_COUNT}, key=lambda statistic: statistic.name))
        parts.append(Part(node_id(block.feed, base, clock=clock, tree=tree), base, plain))
    for values in sorted(counted, key=lambda values: [value.name for value in values]):
        wide = base.union(values)
        parts.append(Part(node_id(block.feed, wide, clock=clock, tree=tree), wide, (ROW_COUNT,), values))
    return tuple(parts)


def _counted(made_of: Holistic) -> tuple[Dimension, ...]:
    """The dimensions that are counted, by name: (a, b) has as many values as (b, a)."""
    return by_name({Dimension(value) for value in made_of.values})


def _check_many(count: int, most: int, what: str) -> None:
    if count > most:
        raise SqlError("too-large", f"the query has {count} {what}, more than {most}", hint="Split the query.")


def _carried(query: Query) -> tuple[Expression, ...]:
    """Expressions over group keys that have to be computed from rows, as dimensions of their own."""
    groups = set(query.block.groups)
    carried: set[Expression] = set()
    for expression in query.finish.expressions:
        # What fails on a row that is selected fails as the row comes, with the row, and not whoever reads it.
        fails = query.block.selects and can_fail(expression)
        parts = frozenset({expression}) if fails else carried_parts(expression, groups)
        assert parts is not None, "binding refuses what cannot be computed from aggregates"
        carried |= parts
    if query.block.selects:
        carried |= {Call("negative_zero", (part,), BOOLEAN) for part in carried if part.type.is_fractional}
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
    arguments = tuple(_guarded(argument, both) for argument in aggregate.arguments)
    return replace(aggregate, arguments=arguments, where=condition)
