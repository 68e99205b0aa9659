"""The forms in which a query that nobody registered can be read from the nodes that others keep.

A form says what a query needs of nodes: as it would be registered, under each placement that queries of its stream
have; or over the groups that a node has anyway, where a predicate on them is read from their values, and a group
expression over them is computed from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.expressions import Call, Column, Expression, Literal, Slot, children, transform, walk
from weft.algebra.query import Query
from weft.backend.interface import ALL
from weft.backend.statements import duck_identifier
from weft.errors import SqlError
from weft.passes.row_sql import row_sql
from weft.plan.dimensions import Dimension
from weft.plan.needs import Needs, analyse, node_id
from weft.plan.placement import AT_HOME, Placement
from weft.plan.shards import shard

# What takes 0.0 and -0.0 for equal.
COMPARISONS = frozenset({"=", "<", "<=", "<=>", "is_null", "in"})


@dataclass(frozen=True)
class Form:
    """What a query needs of nodes.

    computed: groups that no node has, by name, and where: its predicate, both as SQL over the groups that nodes have.
    """

    needs: Needs
    computed: Mapping[str, str] = field(default_factory=dict)
    where: str = ALL


def forms_of(
    query: Query,
    aggregates: AggregateCatalog,
    placements: Iterable[Placement],
    stored: Iterable[frozenset[str]],
) -> Iterator[Form]:
    """The forms of a query: under these placements, and over each of the stored sets of dimensions, by their names."""
    home = analyse(query, aggregates)
    yield Form(home)
    for placement in dict.fromkeys(placements):
        if placement != AT_HOME:
            yield Form(analyse(query, aggregates, placement))
    told = _told(home)
    for names in dict.fromkeys(names.intersection(told) for names in stored):
        form = _over(home, {name: told[name] for name in names})
        if form is not None:
            yield form


def _told(needs: Needs) -> dict[str, Dimension]:
    """The dimensions that would tell something of the query's predicate or of its groups, by name."""
    expressions = [dimension.expression for dimension in (*needs.groups, *needs.carried)]
    expressions += [] if needs.where is None else [needs.where]
    parts = (part for whole in expressions for part in walk(whole))
    told = (Dimension(part) for part in parts if any(isinstance(leaf, Column) for leaf in walk(part)))
    return {dimension.name: dimension for dimension in told if not isinstance(dimension.expression, Literal)}


def _over(needs: Needs, kept: Mapping[str, Dimension]) -> Form | None:
    """The query over dimensions that a node has; None where these do not tell its groups."""
    used: set[Dimension] = set()
    computed: dict[str, str] = {}
    for dimension in (*needs.groups, *needs.carried):
        if dimension.name in kept:
            used.add(dimension)
            continue
        sql = _computed(dimension.expression, kept, used)
        if sql is None:
            return None
        computed[dimension.name] = sql
    where = None if needs.where is None else _computed(needs.where, kept, used)
    sharding = shard(None if where is not None else needs.where, kept.values())
    dimensions = frozenset(used) | sharding.dimensions
    if not computed and dimensions == needs.parts[0].dimensions.difference(needs.parts[0].values):
        return None  # That is how it would be registered.
    clock = needs.window.clock
    parts = tuple(
        replace(part, node=node_id(needs.stream, whole, clock=clock), dimensions=whole)
        for part in needs.parts
        for whole in [dimensions.union(part.values)]
    )
    over = replace(needs, residue=sharding.residue, cuts=sharding.cuts, parts=parts)
    return Form(over, computed, ALL if where is None else where)


def _computed(expression: Expression, kept: Mapping[str, Dimension], used: set[Dimension]) -> str | None:
    """An expression as SQL over dimensions that are kept, which it notes; None where it needs anything else.

    Keys of floating point hold 0.0 for either zero: only comparisons with constants may read them.
    """
    read: set[Dimension] = set()
    used_otherwise = {side for part in walk(expression) if not _compares(part) for side in children(part)}

    def slot(part: Expression) -> Expression | None:
        dimension = kept.get(Dimension(part).name)
        if dimension is None or (part.type.is_fractional and (part is expression or part in used_otherwise)):
            return None
        read.add(dimension)
        return Slot(dimension.name, part.type)

    over = transform(expression, slot)
    if any(isinstance(part, Column) for part in walk(over)):
        return None
    try:
        sql = row_sql(over, {}, {dimension.name: duck_identifier(dimension.name) for dimension in read})
    except (TypeError, SqlError):
        return None
    used |= read
    return sql


def _compares(part: Expression) -> bool:
    return isinstance(part, Call) and part.function in COMPARISONS
