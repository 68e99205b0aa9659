"""The first level of the network as Spark SQL: rows of a micro-batch in, partial rows of every base node out.

A statement aggregates all base nodes of a job at once (GROUPING SETS), whatever the number of queries. Truths that
go to the same nodes share a grouping key: a number with two bits for every truth.
The text changes only when the network does, so Spark's generated code is compiled once a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from weft.aggregates.statistics import BASICS, Statistic
from weft.algebra.expressions import Literal, identity, text
from weft.algebra.types import BIGINT
from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.jobs import Job, jobs_of, packs_of
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing
from weft.segments.kept import MOMENT
from weft.spark.cells import Search, jump_into, layers
from weft.spark.render import spark_sql

SLICE = "weft_slice"
SET = "weft_set"
NEWEST = "weft_newest"
# Whether a row has a time at all; a node without slices leaves the other rows out by this.
TIMED = "weft_timed"
# A number that holds several truths.
PACK = "weft_pack"
# The numbers of the matches that keep a row.
MATCHES = "weft_matches"


@dataclass(frozen=True)
class Keys:
    """The columns that hold the grouping keys: the slices of every tree, and the truths that share a column."""

    slices: Mapping[str, str]
    packs: Mapping[str, tuple[Dimension, ...]]

    def columns(self, node: Node) -> list[str]:
        """The columns that a node's rows are grouped by."""
        time = self.slices[node.tree] if node.clock.sliced else TIMED
        return list(dict.fromkeys([time, *map(self.column, node.keys)]))

    def column(self, dimension: Dimension) -> str:
        """The column that holds a dimension: its pack, or a column of its own."""
        packed = self._packed.get(dimension.name)
        return dimension.name if packed is None else packed[0]

    def position(self, dimension: Dimension) -> int | None:
        """The position of a dimension in its pack, None where it has a column to itself."""
        packed = self._packed.get(dimension.name)
        return None if packed is None else packed[1]

    @cached_property
    def _packed(self) -> dict[str, tuple[str, int]]:
        """The column and the position of every dimension that is in a pack: a query may have a thousand of them."""
        return {
            dimension.name: (column, position)
            for column, pack in self.packs.items()
            for position, dimension in enumerate(pack)
        }


@dataclass(frozen=True)
class Statement:
    """A Spark job: its SQL over the view {rows}, and which grouping id holds which node's rows, by which keys."""

    sql: str
    sets: dict[int, Node]
    statistics: tuple[Statistic, ...]
    keys: Keys


def statements(network: Network, *, apart: bool = False) -> tuple[Statement, ...]:
    """The statements of a network, a statement for every job; with `apart`, for every base node."""
    return tuple(_statement(network, job) for job in jobs_of(network, apart=apart))


def _statement(network: Network, job: Job) -> Statement:
    nodes, statistics = job.nodes, job.statistics
    packs = packs_of([node.keys for node in nodes])
    keys = Keys(_slice_columns(nodes), {f"{PACK}{index}": pack for index, pack in enumerate(packs)})
    columns_of = {node.id: keys.columns(node) for node in nodes}
    present = sorted({column for columns in columns_of.values() for column in columns})
    sets = {_grouping_id(present, columns_of[node.id]): node for node in nodes}
    if len(nodes) == 1:
        identifier, grouping = f"{next(iter(sets))}L", ", ".join(present)
    else:
        identifier = f"grouping_id({', '.join(present)})"
        grouping_sets = ", ".join(f"({', '.join(columns)})" for columns in columns_of.values())
        grouping = f"{', '.join(present)} GROUPING SETS ({grouping_sets})"
    columns = [
        f"{identifier} AS {SET}",
        *present,
        f"max({MOMENT}) AS {NEWEST}",
        *(f"{_build(statistic)} AS {statistic.name}" for statistic in statistics),
    ]
    source = _rows(network, nodes, keys, statistics)
    if nodes[0].matches is not None:
        source = _each_match(nodes[0], source)
    return Statement(f"SELECT {', '.join(columns)} FROM ({source}) GROUP BY {grouping}", sets, statistics, keys)


def _slice_columns(nodes: tuple[Node, ...]) -> dict[str, str]:
    """The column that holds a row's slice, for every tree that these nodes belong to."""
    trees = sorted({node.tree for node in nodes if node.clock.sliced})
    return {tree: SLICE if index == 0 else f"{SLICE}{index}" for index, tree in enumerate(trees)}


def _grouping_id(keys: list[str], present: list[str]) -> int:
    """Spark's grouping id: a bit for every key, first key highest, set where the key is not grouped by."""
    return sum(1 << (len(keys) - 1 - index) for index, key in enumerate(keys) if key not in present)


def _rows(network: Network, nodes: tuple[Node, ...], keys: Keys, statistics: Iterable[Statistic]) -> str:
    """The subquery that gives every row its slices, its dimensions and the arguments of its statistics."""
    cuts = dict(network.cuts)
    dimensions = sorted({dimension for node in nodes for dimension in node.keys}, key=lambda item: item.name)
    cell_searches = [_cell(item, cuts.get(item.name, ())) for item in dimensions if item.cells]
    slice_searches = []
    slicings = {node.tree: node.slicing for node in nodes if node.slicing is not None}
    slices = []
    for tree, column in keys.slices.items():
        slicing = slicings[tree]
        slices.append(f"{_slice(slicing, column)} AS {column}")
        if slicing.kind == "table":
            edges = tuple(spark_sql(Literal(edge, BIGINT)) for edge in slicing.table)
            value = f"pmod({MOMENT} - {slicing.offset}L, {slicing.period}L)"
            slice_searches.append(Search(column, value, edges, jump_into(slicing.table)))
    plain = [
        f"{spark_sql(dimension.expression)} AS {dimension.name}"
        for dimension in dimensions
        if not dimension.cells and not dimension.matches and keys.column(dimension) == dimension.name
    ]
    plain += [f"{_numbers(network, dimension)} AS {MATCHES}" for dimension in dimensions if dimension.matches]
    plain += [f"{_packed(pack)} AS {name}" for name, pack in keys.packs.items()]
    arguments = {
        _argument(statistic, position): spark_sql(argument)
        for statistic in statistics
        for position, argument in enumerate(statistic.expressions)
    }
    finals = [
        *plain,
        *(f"{sql} AS {name}" for name, sql in sorted(arguments.items())),
        *(search.result() for search in cell_searches),
    ]
    columns = ", ".join([MOMENT, f"{MOMENT} IS NOT NULL AS {TIMED}", *slices, *finals])
    return f"SELECT {columns} FROM {layers([*cell_searches, *slice_searches])}"


def _numbers(network: Network, dimension: Dimension) -> str:
    """The SQL of the numbers of all matches that keep a row, NULL for the others."""
    matches = dict(network.matches)[dimension.name]
    return f"array({', '.join(f'IF({spark_sql(match.where)}, {match.number}L, NULL)' for match in matches)})"


def _each_match(node: Node, rows: str) -> str:
    """The rows of a node with matches: a row comes once for every match that keeps it."""
    return f"SELECT * EXCEPT ({MATCHES}), explode(array_compact({MATCHES})) AS {node.matches} FROM ({rows})"


def _packed(pack: Iterable[Dimension]) -> str:
    """The SQL of truths as a single number: two bits for every truth, 0 for false, 1 for true, 2 for neither."""
    truths = (f"coalesce(CAST({spark_sql(dimension.expression)} AS BIGINT), 2L)" for dimension in pack)
    return " | ".join(f"shiftleft({truth}, {2 * position})" for position, truth in enumerate(truths))


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


def _argument(statistic: Statistic, position: int) -> str:
    return identity("x", text(statistic.expressions[position]))


def _build(statistic: Statistic) -> str:
    """The aggregate call over the argument columns; what does not count is NULL, which every statistic skips."""
    names = [_argument(statistic, position) for position in range(len(statistic.arguments))] or ["1"]
    if statistic.where is not None:
        condition = _argument(statistic, len(statistic.arguments))
        names = [f"IF({condition}, {name}, NULL)" for name in names]
    return BASICS[statistic.basic].build.format(*names)
