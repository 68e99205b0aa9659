"""The cost model: what a tick of a network does, counted, and how long each of these things takes on this machine.

`amounts` counts; `Costs` has a price for everything that is counted, measured by `weft calibrate`. The price of a tick
is the sum of the products, so the same counts serve planning, the bill of a query, and learning the prices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import log2
from typing import Any

from weft.algebra.windows import Sliced, micros
from weft.plan.facts import Estimates, Facts, is_truth
from weft.plan.jobs import MOST_KEYS, jobs_of, keys_for
from weft.plan.match import LookedFor
from weft.plan.network import Network, Node, Wanted
from weft.plan.slices import Slicing

# What computes base nodes from rows: Spark's statements, or a pass of DuckDB.
SPARK, DUCKDB = "spark", "duckdb"
KERNELS = (SPARK, DUCKDB)
NOTHING = LookedFor()
# The seconds of what must not be.
NEVER = 1e6
# What holding a row against a predicate takes of what holding it against a shape takes.
COMPARED = 0.5


@dataclass(frozen=True)
class Costs:
    """The seconds that a unit of each amount takes. The defaults were measured on two cores of a small server."""

    tick: float = 0.014
    job: float = 0.21
    read: float = 1.5e-8
    test: float = 1.7e-8
    group: float = 3.9e-8
    key: float = 5.9e-9
    measure: float = 6.5e-9
    out: float = 2.1e-7
    begin: float = 0.03
    carry: float = 2e-7
    load: float = 2.5e-8
    seek: float = 1e-8
    line: float = 7e-4
    put: float = 5e-9
    look: float = 6e-9
    hand: float = 3e-8
    derive: float = 2.5e-8
    node: float = 4e-4
    store: float = 5e-8
    family: float = 1.8e-2
    visit: float = 7.3e-8

    def definition(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Costs:
        return cls(**{price.name: float(definition[price.name]) for price in fields(cls) if price.name in definition})

    def over_files(self) -> Costs:
        """The same for a stream whose files a pass reads by itself, without a job of Spark's."""
        return replace(self, begin=0.0, carry=self.load)

    def for_kernel(self, kernel: str) -> Costs:
        """The prices under which a tick never pays by another kernel."""
        return replace(self, begin=NEVER) if kernel == SPARK else replace(self, job=NEVER)

    def price(self, amounts: Mapping[str, float]) -> float:
        """The seconds that these amounts take."""
        return float(sum(getattr(self, name) * amount for name, amount in amounts.items()))


NAMES = tuple(price.name for price in fields(Costs))
MEANING = {
    "tick": "a tick with nothing to do",
    "job": "a Spark job",
    "read": "reading a row, once for each job",
    "test": "testing a row against one predicate or one cut on the way to its cell or slice",
    "group": "putting a row into its group in one base node",
    "key": "carrying one grouping key of a row along to one base node",
    "measure": "adding a row to one statistic of one base node",
    "out": "a value of a partial row from Spark to the driver",
    "begin": "a pass of DuckDB over the rows of a tick, in place of Spark's jobs",
    "carry": "a value of a row from Spark to a pass",
    "load": "a value of a row from a file to a pass that reads the files by itself",
    "seek": "testing a row against one cut on the way to its cell or slice in a pass",
    "line": "a statement of a pass: a base node, or matches of one shape",
    "put": "a value of a row put into its group in one base node by a pass",
    "look": "a row held against the predicates of one shape by a pass",
    "hand": "a value of a partial row that a pass makes",
    "derive": "a value of a partial row merged into one derived node",
    "node": "a stored node in a tick: its file and its line in the catalog",
    "store": "a value of a partial row written and later merged into blocks",
    "family": "a family of windows that are finished ahead",
    "visit": "a partial row of one window that is finished ahead",
}


@dataclass(frozen=True)
class Load:
    """What pricing needs to know of a node: its partial rows in a tick, its parent's, and what becomes of them.

    values: dimensions and statistics of a partial row. visits: partial rows that finishing its windows ahead goes
    through, and families: in how many statements. looked_for: the predicates of a node that holds just the rows that
    match.
    """

    rows: float
    parent_rows: float | None
    values: int
    stored: bool
    visits: float = 0.0
    families: int = 0
    looked_for: LookedFor = NOTHING


@dataclass(frozen=True)
class Width:
    """The grouping keys and statistics that every base node carries along, as the same statement computes them all."""

    keys: int
    measures: int


def width_of(base: Collection[Node] | Collection[Wanted]) -> Width:
    """The width of the rows of base nodes: the dimensions and slices of all of them, and their statistics."""
    times = {(node.clock, node.tree) for node in base}
    keys = keys_for([node.dimensions for node in base]) + len(times)
    return Width(min(MOST_KEYS, keys), len({statistic for node in base for statistic in node.statistics}))


def amounts_of_node(load: Load, facts: Facts, width: Width, kernel: str = SPARK) -> dict[str, float]:
    """The amounts that a node asks of a tick whose base nodes are computed by a kernel."""
    amounts: dict[str, float] = {}
    if load.parent_rows is None and kernel == DUCKDB:
        amounts = _amounts_of_lines(load, facts)
    elif load.parent_rows is None:
        # Of what only some rows are in, a row is held against every predicate, in a job of its own.
        matches = load.looked_for.matches
        own = {"job": 1, "read": facts.rows, "test": facts.rows * matches} if matches else {}
        amounts = {
            "group": facts.rows,
            "key": facts.rows * width.keys,
            "measure": facts.rows * width.measures,
            "out": load.rows * (width.keys + width.measures),
            **own,
        }
    else:
        amounts = {"derive": load.parent_rows * load.values}
    if load.stored:
        amounts |= {"node": 1, "store": load.rows * load.values}
    if load.visits or load.families:
        amounts |= {"visit": load.visits, "family": load.families}
    return amounts


def _amounts_of_lines(load: Load, facts: Facts) -> dict[str, float]:
    """The amounts that a base node asks of a pass."""
    sought = load.looked_for
    if sought.matches:
        return {
            "line": sought.shapes,
            "look": facts.rows * (sought.shapes + COMPARED * sought.compared),
            "put": facts.rows * sought.kept * (1 + load.values),
            "hand": load.rows * load.values,
        }
    return {"line": 1, "put": facts.rows * (1 + load.values), "hand": load.rows * load.values}


def amounts_of_rows(
    facts: Facts, tests: float, jobs: int, kernel: str = SPARK, columns: int = 0
) -> dict[str, float]:
    """The amounts of a tick whatever its nodes are: its jobs, the rows that each job reads, and all tests of rows.

    A pass reads them once, with the columns that any node needs.
    """
    if kernel == DUCKDB:
        return {"tick": 1, "begin": min(1, jobs), "carry": facts.rows * columns, "seek": facts.rows * tests}
    return {"tick": 1, "job": jobs, "read": facts.rows * jobs, "test": facts.rows * tests}


def of_files(amounts: Mapping[str, float]) -> dict[str, float]:
    """The amounts of a tick whose files a pass read by itself."""
    others = {name: amount for name, amount in amounts.items() if name not in ("begin", "carry")}
    return {**others, "load": amounts.get("carry", 0.0)}


def add(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum of several amounts."""
    total: dict[str, float] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def visits(window: Sliced, rows: float) -> float:
    """The partial rows that finishing all windows of a kind goes through, in a tick with that many partial rows."""
    return rows * micros(window.range) / micros(window.slide)


def tests_of_slicing(slicing: Slicing) -> float:
    """How many comparisons it takes to find a row's slice."""
    if slicing.kind == "scattered":
        return len(slicing.progressions)
    return log2(len(slicing.table) + 1) + 1 if slicing.kind == "table" else 1


def tests_of_cuts(count: int) -> float:
    """How many comparisons it takes to find a value's cell."""
    return log2(count + 2) + 1


def node_amounts(
    network: Network,
    facts: Facts,
    eager: Mapping[str, Iterable[Sliced]],
    families: Mapping[str, int],
    measured: Mapping[str, float] | None = None,
    kernel: str = SPARK,
) -> dict[str, dict[str, float]]:
    """What each node of a network asks of a tick by a kernel; the stream's own part is under the empty name.

    Nodes have as many partial rows as the facts let expect, or as were measured.
    """
    estimates = estimates_for(network, facts)
    rows = {node.id: _rows(network, node, estimates) for node in network.nodes} if measured is None else measured
    width = width_of(network.base)
    amounts = {
        node.id: amounts_of_node(
            Load(
                rows[node.id],
                None if node.parent is None else rows[node.parent],
                len(node.dimensions) + len(node.statistics),
                bool(node.readers),
                sum(visits(window, rows[node.id]) for window in eager.get(node.id, ())),
                families.get(node.id, 0),
                network.looked_for[node.matches] if node.matches else NOTHING,
            ),
            facts,
            width,
            kernel,
        )
        for node in network.nodes
    }
    jobs = sum(not job.nodes[0].matches for job in jobs_of(network))
    return {"": amounts_of_rows(facts, tests_of(network), jobs, kernel, len(network.columns)), **amounts}


def cheaper_kernel(network: Network, facts: Facts, costs: Costs) -> str:
    """The kernel that computes a network's base nodes in less time."""
    seconds = {
        kernel: costs.price(add(node_amounts(network, facts, {}, {}, kernel=kernel).values())) for kernel in KERNELS
    }
    return min(KERNELS, key=lambda kernel: seconds[kernel])


def estimates_for(network: Network, facts: Facts) -> Estimates:
    """Group counts for the dimensions of a network."""
    dimensions = {dimension for node in network.nodes for dimension in node.dimensions}
    return Estimates(facts, dimensions, {name: len(points) for name, points in network.cuts})


def tests_of(network: Network) -> float:
    """How many comparisons a row meets before it is grouped, in all jobs: each tests it for its own nodes."""
    cuts = {name: len(points) for name, points in network.cuts}
    slicings = {node.tree: node.slicing for node in network.base if node.clock.sliced}
    return sum(tests_for(job.nodes, slicings, cuts) for job in jobs_of(network))


def tests_for(
    nodes: Collection[Node] | Collection[Wanted], slicings: Mapping[str, Slicing | None], cuts: Mapping[str, int]
) -> float:
    """How many comparisons a row meets in a job that computes these nodes."""
    dimensions = {dimension for node in nodes for dimension in node.dimensions}
    trees = {node.tree for node in nodes if node.clock.sliced}
    slices = sum(tests_of_slicing(slicing) for tree in trees if (slicing := slicings[tree]) is not None)
    cells = sum(tests_of_cuts(cuts.get(dimension.name, 0)) for dimension in dimensions if dimension.cells)
    return slices + cells + sum(map(is_truth, dimensions))


def _rows(network: Network, node: Node, estimates: Estimates) -> float:
    names = frozenset(dimension.name for dimension in node.dimensions if not dimension.matches)
    length = None if node.slicing is None else node.slicing.mean_length()
    if node.matches is not None:
        return estimates.matched_rows(estimates.mask(names), length, network.looked_for[node.matches])
    return estimates.rows(names, length)

