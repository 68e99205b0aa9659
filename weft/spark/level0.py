"""The first level of the network as Spark SQL: rows of a micro-batch in, partial rows of every base node out.

One statement aggregates all base nodes of a job at once (GROUPING SETS), whatever the number of queries. Truths that
go to the same nodes are one grouping key, two bits of a number for each.
The text changes only when the network does, so Spark's generated code is compiled once a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from weft.aggregates.statistics import BASICS, Statistic
from weft.algebra.expressions import Expression, Literal, identity, text
from weft.algebra.types import BIGINT
from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.jobs import Job, jobs_of, packs_of
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing
from weft.spark.cells import Search, jump_into, layers
from weft.spark.render import spark_sql

MOMENT = "weft_moment"
SLICE = "weft_slice"
SET = "weft_set"
NEWEST = "weft_newest"
# Whether a row has a time at all; what a running node needs in place of a slice to leave the others out.
TIMED = "weft_timed"
# A number that holds several truths.
PACK = "weft_pack"


@dataclass(frozen=True)
class Keys:
    """Where the grouping keys are: each tree's slices, and the truths that share a column."""

    slices: Mapping[str, str]
    packs: Mapping[str, tuple[Dimension, ...]]

    def columns(self, node: Node) -> list[str]:
        """What a node's rows are grouped by."""
        time = TIMED if node.running else self.slices[node.tree]
        return list(dict.fromkeys([time, *map(self.column, node.dimensions)]))

    def column(self, dimension: Dimension) -> str:
        found = self._packed.get(dimension.name)
        return dimension.name if found is None else found[0]

    def place(self, dimension: Dimension) -> int | None:
        """The place of a dimension in its pack, None for one that has a column to itself."""
        found = self._packed.get(dimension.name)
        return None if found is None else found[1]

    @cached_property
    def _packed(self) -> dict[str, tuple[str, int]]:
        """The column and the place of every dimension that is in a pack: a query may have a thousand of them."""
        return {one.name: (column, at) for column, pack in self.packs.items() for at, one in enumerate(pack)}


@dataclass(frozen=True)
class Statement:
    """One Spark job: its SQL over the view {rows}, and which grouping id holds which node's rows, by which keys."""

    sql: str
    sets: dict[int, Node]
    statistics: tuple[Statistic, ...]
    keys: Keys


def statements(network: Network, *, apart: bool = False) -> tuple[Statement, ...]:
    """One statement for every job of the network; with `apart`, for every base node."""
    return tuple(_statement(network, job) for job in jobs_of(network, apart=apart))


def _statement(network: Network, job: Job) -> Statement:
    nodes, statistics = job.nodes, job.statistics
    packs = packs_of([node.dimensions for node in nodes])
    keys = Keys(_slice_columns(nodes), {f"{PACK}{place}": pack for place, pack in enumerate(packs)})
    columns_of = {node.id: keys.columns(node) for node in nodes}
    present = sorted({column for columns in columns_of.values() for column in columns})
    sets = {_grouping_id(present, columns_of[node.id]): node for node in nodes}
    if len(nodes) == 1:
        identifier, grouping = f"{next(iter(sets))}L", ", ".join(present)
    else:
        identifier = f"grouping_id({', '.join(present)})"
        each = ", ".join(f"({', '.join(columns)})" for columns in columns_of.values())
        grouping = f"{', '.join(present)} GROUPING SETS ({each})"
    columns = [
        f"{identifier} AS {SET}",
        *present,
        f"max({MOMENT}) AS {NEWEST}",
        *(f"{_build(one)} AS {one.name}" for one in statistics),
    ]
    source = _rows(network, nodes, keys, statistics)
    return Statement(f"SELECT {', '.join(columns)} FROM ({source}) GROUP BY {grouping}", sets, statistics, keys)


def _slice_columns(nodes: tuple[Node, ...]) -> dict[str, str]:
    """The column that holds a row's slice, for every tree that these nodes belong to."""
    trees = sorted({node.tree for node in nodes if not node.running})
    return {tree: SLICE if place == 0 else f"{SLICE}{place}" for place, tree in enumerate(trees)}


def _grouping_id(keys: list[str], present: list[str]) -> int:
    """Spark's grouping id: a bit for every key, first key highest, set where the key is not grouped by."""
    return sum(1 << (len(keys) - 1 - place) for place, key in enumerate(keys) if key not in present)


def _rows(network: Network, nodes: tuple[Node, ...], keys: Keys, statistics: Iterable[Statistic]) -> str:
    """The subquery that gives every row its slices, its dimensions and the arguments of its statistics."""
    cuts = dict(network.cuts)
    dimensions = sorted({one for node in nodes for one in node.dimensions}, key=lambda one: one.name)
    searches = [_cell(one, cuts.get(one.name, ())) for one in dimensions if one.cells]
    found = len(searches)
    slicings = {node.tree: node.slicing for node in nodes if node.slicing is not None}
    slices = []
    for tree, column in keys.slices.items():
        slicing = slicings[tree]
        slices.append(f"{_slice(slicing, column)} AS {column}")
        if slicing.kind == "table":
            edges = tuple(spark_sql(Literal(edge, BIGINT)) for edge in slicing.table)
            value = f"pmod({MOMENT} - {slicing.offset}L, {slicing.period}L)"
            searches.append(Search(column, value, edges, jump_into(slicing.table)))
    plain = [
        f"{spark_sql(one.expression)} AS {one.name}"
        for one in dimensions
        if not one.cells and keys.column(one) == one.name
    ]
    plain += [f"{_packed(pack)} AS {name}" for name, pack in keys.packs.items()]
    arguments = {
        _argument(one, place): spark_sql(argument)
        for one in statistics
        for place, argument in enumerate(_arguments(one))
    }
    finals = [
        *plain,
        *(f"{sql} AS {name}" for name, sql in sorted(arguments.items())),
        *(search.found() for search in searches[:found]),
    ]
    columns = ", ".join([MOMENT, f"{MOMENT} IS NOT NULL AS {TIMED}", *slices, *finals])
    return f"SELECT {columns} FROM {layers(searches)}"


def _packed(pack: Iterable[Dimension]) -> str:
    """Truths as one number: two bits for each, 0 for false, 1 for true, 2 for neither."""
    bits = (f"coalesce(CAST({spark_sql(one.expression)} AS BIGINT), 2L)" for one in pack)
    return " | ".join(f"shiftleft({one}, {2 * place})" for place, one in enumerate(bits))


def _slice(slicing: Slicing, column: str) -> str:
    """The start of a row's slice, in microseconds."""
    if slicing.kind == "scattered":
        floors = ", ".join(f"{MOMENT} - pmod({MOMENT} - {residue}L, {step}L)" for step, residue in slicing.progressions)
        return f"greatest({floors})" if len(slicing.progressions) > 1 else floors
    base = f"{MOMENT} - pmod({MOMENT} - {slicing.offset}L, {slicing.period}L)"
    if slicing.kind == "uniform":
        return base
    return f"{base} + get({column}_cuts, {column}_at)"


def _cell(dimension: Dimension, cuts: Iterable[Cut]) -> Search:
    """The search for the cell of a value."""
    points = sorted({lowest(dimension.type), *cuts})
    literals = tuple(spark_sql(Literal(point, dimension.type)) for point in points)
    jump = jump_into(points) if dimension.type.is_integral else None
    return Search(dimension.name, spark_sql(dimension.expression), literals, jump)


def _arguments(one: Statistic) -> tuple[Expression, ...]:
    """The arguments, and the condition that makes them count."""
    return (*one.arguments, *(() if one.where is None else (one.where,)))


def _argument(one: Statistic, place: int) -> str:
    return identity("x", text(_arguments(one)[place]))


def _build(one: Statistic) -> str:
    """The aggregate call over the argument columns; what does not count is NULL, which every statistic skips."""
    names = [_argument(one, place) for place in range(len(one.arguments))] or ["1"]
    if one.where is not None:
        condition = _argument(one, len(one.arguments))
        names = [f"IF({condition}, {name}, NULL)" for name in names]
    return BASICS[one.basic].build.format(*names)
