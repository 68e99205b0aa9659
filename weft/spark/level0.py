"""The first level of the network as Spark SQL: rows of a micro-batch in, partial rows of every base node out.

One statement aggregates all base nodes at once (GROUPING SETS), whatever the number of queries. Statistics that Spark
cannot keep in a hash aggregate go into a second statement: a single one of them would turn the first into a sort.
The text changes only when the network does, so Spark's generated code is compiled once a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from weft.aggregates.statistics import BASICS, Statistic, hashable
from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing
from weft.spark.render import spark_sql
from weft.sql.expressions import Expression, Literal, identity, text
from weft.sql.types import BIGINT

MOMENT = "weft_moment"
SLICE = "weft_slice"
SET = "weft_set"
NEWEST = "weft_newest"
# Whether a row has a time at all; what a running node needs in place of a slice to leave the others out.
TIMED = "weft_timed"


@dataclass(frozen=True)
class Statement:
    """One Spark job: its SQL over the view {rows}, and which grouping id holds which node's rows."""

    sql: str
    sets: dict[int, Node]
    statistics: tuple[Statistic, ...]


def statements(network: Network) -> tuple[Statement, ...]:
    """One statement, or two where some statistics need a sort; none for a network without nodes."""
    base = network.base
    if not base:
        return ()
    plain = {one for node in base for one in node.statistics if hashable(one)}
    sorting = {one for node in base for one in node.statistics if not hashable(one)}
    first = [_statement(network, base, plain)]
    if sorting:
        needy = tuple(node for node in base if sorting.intersection(node.statistics))
        first.append(_statement(network, needy, sorting))
    return tuple(first)


def _statement(network: Network, nodes: tuple[Node, ...], wanted: set[Statistic]) -> Statement:
    dimensions = sorted({one for node in nodes for one in node.dimensions}, key=lambda one: one.name)
    statistics = tuple(sorted(wanted, key=lambda one: one.name))
    keys = [SLICE, TIMED, *(one.name for one in dimensions)]
    sets = {_grouping_id(keys, _keys(node)): node for node in nodes}
    if len(nodes) == 1:
        identifier, grouping = f"{next(iter(sets))}L", ", ".join(_keys(nodes[0]))
    else:
        identifier = f"grouping_id({', '.join(keys)})"
        grouping = (
            f"{', '.join(keys)} GROUPING SETS (" + ", ".join(f"({', '.join(_keys(node))})" for node in nodes) + ")"
        )
    present = keys if len(nodes) > 1 else _keys(nodes[0])
    columns = [
        f"{identifier} AS {SET}",
        *present,
        f"max({MOMENT}) AS {NEWEST}",
        *(f"{_build(one)} AS {one.name}" for one in statistics),
    ]
    source = _rows(network, dimensions, statistics)
    return Statement(f"SELECT {', '.join(columns)} FROM ({source}) GROUP BY {grouping}", sets, statistics)


def _keys(node: Node) -> list[str]:
    return [TIMED if node.running else SLICE, *(one.name for one in node.dimensions)]


def _grouping_id(keys: list[str], present: list[str]) -> int:
    """Spark's grouping id: a bit for every key, first key highest, set where the key is not grouped by."""
    return sum(1 << (len(keys) - 1 - place) for place, key in enumerate(keys) if key not in present)


def _rows(network: Network, dimensions: Iterable[Dimension], statistics: Iterable[Statistic]) -> str:
    """The subquery that gives every row its slice, its dimensions and the arguments of its statistics."""
    cuts = dict(network.cuts)
    searches = [
        Search(one.name, spark_sql(one.expression), _literals(one, cuts.get(one.name, ())))
        for one in dimensions
        if one.cells
    ]
    slicing = network.slicing
    if slicing is not None and slicing.kind == "table":
        edges = tuple(spark_sql(Literal(edge, BIGINT)) for edge in slicing.table)
        searches.append(Search(SLICE, f"pmod({MOMENT} - {slicing.offset}L, {slicing.period}L)", edges))
    plain = [f"{spark_sql(one.expression)} AS {one.name}" for one in dimensions if not one.cells]
    arguments = {
        _argument(one, place): spark_sql(argument)
        for one in statistics
        for place, argument in enumerate(_arguments(one))
    }
    finals = [
        *plain,
        *(f"{sql} AS {name}" for name, sql in sorted(arguments.items())),
        *(search.found() for search in searches if search.name != SLICE),
    ]
    columns = ", ".join([MOMENT, f"{MOMENT} IS NOT NULL AS {TIMED}", f"{_slice(slicing)} AS {SLICE}", *finals])
    return f"SELECT {columns} FROM {_layers(searches)}"


def _slice(slicing: Slicing | None) -> str:
    """The start of a row's slice, in microseconds."""
    if slicing is None:
        return "CAST(NULL AS BIGINT)"
    if slicing.kind == "scattered":
        floors = ", ".join(f"{MOMENT} - pmod({MOMENT} - {residue}L, {step}L)" for step, residue in slicing.progressions)
        return f"greatest({floors})" if len(slicing.progressions) > 1 else floors
    base = f"{MOMENT} - pmod({MOMENT} - {slicing.offset}L, {slicing.period}L)"
    if slicing.kind == "uniform":
        return base
    return f"{base} + get({SLICE}_cuts, {SLICE}_at)"


@dataclass(frozen=True)
class Search:
    """A search for the last of `cuts` at or below a value, by halving: one projection a step, shared by all searches.

    A step adds its power of two where the cut that far ahead is still at or below the value; past the end of the array
    `get` gives NULL, which is not. The first cut is below every value.
    """

    name: str
    value: str
    cuts: tuple[str, ...]

    def start(self) -> list[str]:
        return [
            f"{self.value} AS {self.name}_value",
            f"array({', '.join(self.cuts)}) AS {self.name}_cuts",
            f"0 AS {self.name}_at",
        ]

    def steps(self) -> Iterator[str]:
        """The position after every step."""
        power = 1 << max(0, (len(self.cuts) - 1).bit_length() - 1)
        while power and len(self.cuts) > 1:
            ahead = f"get({self.name}_cuts, {self.name}_at + {power})"
            yield f"{self.name}_at + IF({self.name}_value >= {ahead}, {power}, 0) AS {self.name}_at"
            power //= 2

    def found(self) -> str:
        return f"IF({self.name}_value IS NULL, NULL, get({self.name}_cuts, {self.name}_at)) AS {self.name}"


def _layers(searches: list[Search]) -> str:
    """The rows with every search done: nested projections, as many as the longest search has steps."""
    if not searches:
        return "{rows}"
    layer = "SELECT *, " + ", ".join(part for search in searches for part in search.start()) + " FROM {rows}"
    pending = [(search, list(search.steps())) for search in searches]
    for turn in range(max(len(steps) for _, steps in pending)):
        moving = {f"{search.name}_at": steps[turn] for search, steps in pending if turn < len(steps)}
        layer = f"SELECT * EXCEPT ({', '.join(moving)}), {', '.join(moving.values())} FROM ({layer})"
    return f"({layer})"


def _literals(dimension: Dimension, cuts: Iterable[Cut]) -> tuple[str, ...]:
    points = sorted({lowest(dimension.type), *cuts})
    return tuple(spark_sql(Literal(point, dimension.type)) for point in points)


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
