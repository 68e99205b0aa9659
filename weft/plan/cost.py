"""The cost model: what a tick of a network does, counted in units that have a price (weft/plan/prices.py).

The price of a tick is the sum of the products, so the same counts serve planning, the bill of a query, and learning the
prices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from weft.aggregates.statistics import Statistic
from weft.algebra.windows import Sliced, micros
from weft.plan.facts import Estimates, Facts, is_truth
from weft.plan.jobs import MOST_KEYS, jobs_of, keys_for
from weft.plan.match import LookedFor, Match, looked_for, looked_up, looking
from weft.plan.network import Network, Node, Wanted
from weft.plan.prices import DUCKDB, KERNELS, SPARK, Costs
from weft.plan.slices import Slicing

NOTHING = LookedFor()
# How many comparisons it takes to find the code of an operand's value; by how many operands a word is looked up; and
# how many conditions take as long as it takes to hand over what was found of a row and a match.
TESTS_OF_CODES, LOOKS_AT_WORD, CONDITIONS_FOUND = 4, 2, 10


@dataclass(frozen=True)
class Load:
    """What pricing needs to know of a node: its partial rows in a tick, its parent's, and what becomes of them.

    values: dimensions and statistics of a partial row. visits: partial rows that finishing its windows ahead goes
    through, and families: in how many statements. looked_for: the predicates of a node that holds just the rows that
    match, with those of the nodes that a pass makes by the same statement. together: how many nodes these are.
    """

    rows: float
    parent_rows: float | None
    values: int
    stored: bool
    visits: float = 0.0
    families: int = 0
    looked_for: LookedFor = NOTHING
    together: int = 1


@dataclass(frozen=True)
class Width:
    """The grouping keys and statistics that every base node carries along, as the same statement computes them all."""

    keys: int
    measures: int


def width_of(base: Collection[Node] | Collection[Wanted]) -> Width:
    """The width of the rows of base nodes: the dimensions and slices of all of them, and their statistics."""
    times = {(node.clock, node.tree) for node in base}
    keys = keys_for([node.dimensions for node in base]) + len(times)
    kept = {statistic for node in base for statistic in (node.closed if isinstance(node, Wanted) else node.statistics)}
    return Width(min(MOST_KEYS, keys), len(kept))


def amounts_of_node(load: Load, facts: Facts, width: Width, kernel: str = SPARK) -> dict[str, float]:
    """The amounts that a node asks of a tick whose base nodes are computed by a kernel."""
    amounts: dict[str, float] = {}
    if load.parent_rows is None and kernel == DUCKDB:
        amounts = _amounts_of_lines(load, facts)
    elif load.parent_rows is None:
        # Of what only some rows are in, a row is held against every predicate, in a job of its own.
        sought = load.looked_for
        own = {"job": 1, "read": facts.rows, "test": facts.rows * sought.effort} if sought.matches else {}
        amounts = {
            "group": facts.rows,
            "key": facts.rows * width.keys,
            "measure": facts.rows * width.measures,
            "out": load.rows * (width.keys + width.measures),
            "set": 1,
            **own,
        }
    else:
        amounts = {"merge": 1, "derive": load.parent_rows * load.values}
    if load.stored:
        amounts |= {"node": 1, "store": load.rows * load.values}
    if load.visits or load.families:
        amounts |= {"visit": load.visits, "family": load.families}
    return amounts


def _amounts_of_lines(load: Load, facts: Facts) -> dict[str, float]:
    """The amounts that a base node asks of a pass: its share of the statement, and its own part of the answer."""
    sought, rows, found = load.looked_for, facts.rows, facts.keeping * load.looked_for.looking.kept
    statement: dict[str, float] = {"line": 1, "term": load.values, "put": rows * (1 + load.values)}
    if sought.matches:
        looking = sought.looking
        statement = {
            "line": sought.statements,
            "term": sought.statements * load.values,
            "branch": looking.groups + looking.computed + sought.listed,
            "seek": rows * looking.operands * TESTS_OF_CODES,
            "look": rows * (looking.groups + LOOKS_AT_WORD * looking.words),
            "compare": rows * (looking.effort + sought.compared + CONDITIONS_FOUND * found),
            "put": rows * facts.keeping * sought.kept * (1 + load.values),
        }
    shared = {name: amount / load.together for name, amount in statement.items()}
    return {**shared, "part": 1, "hand": load.rows * load.values}


# What nodes have in common that a pass makes by the same statement.
Likeness = tuple[object, ...]


def likeness(node: Node | Wanted, slicing: Slicing | None, statistics: Iterable[Statistic]) -> Likeness:
    """What a statement of a pass depends on; base nodes that are alike in it differ in their readers and matches."""
    dimensions = frozenset(dimension for dimension in node.dimensions if not dimension.matches)
    # What one clock has for moments, another has for batches; a tree's name is of no account.
    return node.clock.sliced, slicing, dimensions, frozenset(statistics)


def in_statements(
    base: Mapping[str, tuple[Likeness, Collection[Match]]]
) -> dict[str, tuple[LookedFor, int]]:
    """For each base node what the statement looks for that makes it, and how many nodes it makes."""
    nodes: dict[tuple[Likeness, bool], list[str]] = {}
    for name, (like, matches) in base.items():
        nodes.setdefault((like, bool(matches)), []).append(name)
    made = {}
    # A pass looks for equal predicates once, whatever the trees of their nodes.
    distinct = [{match.number: match for name in names for match in base[name][1]}.values() for names in nodes.values()]
    for names, sought in zip(nodes.values(), _looked_for_together(distinct), strict=True):
        made.update(dict.fromkeys(names, (sought, len(names))))
    return made


def _looked_for_together(statements: Sequence[Collection[Match]]) -> list[LookedFor]:
    """What the matches of each statement cost: a row is looked up in those of all statements at once."""
    sought = [looked_for(matches) if matches else NOTHING for matches in statements]
    if sum(each.looked_up > 0 for each in sought) < 2:
        return sought
    found = [match for matches in statements for match in looked_up(matches)]
    whole = looking(found)
    return [replace(each, looking=whole.part(each.looked_up / len(found))) for each in sought]


def amounts_of_rows(
    facts: Facts, tests: float, jobs: int, kernel: str = SPARK, columns: int = 0
) -> dict[str, float]:
    """The amounts of a tick whatever its nodes are: its files, its jobs, the rows that each reads, all tests of rows.

    A pass reads them once, with the columns that any node needs.
    """
    if kernel == DUCKDB:
        carried = {"begin": min(1, jobs), "take": facts.rows, "carry": facts.rows * columns, "column": columns}
        return {"tick": 1, "file": facts.files, **carried, "seek": facts.rows * tests}
    return {"tick": 1, "file": facts.files, "job": jobs, "read": facts.rows * jobs, "test": facts.rows * tests}


def of_files(amounts: Mapping[str, float]) -> dict[str, float]:
    """The amounts of a tick whose files a pass read by itself."""
    others = {name: amount for name, amount in amounts.items() if name not in ("begin", "take", "carry")}
    return {**others, "fetch": amounts.get("take", 0.0), "load": amounts.get("carry", 0.0)}


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
    made: Mapping[str, tuple[LookedFor, int]] | None = None,
) -> dict[str, dict[str, float]]:
    """What each node of a network asks of a tick by a kernel; the stream's own part is under the empty name.

    Nodes have as many partial rows as the facts let expect, or as were measured. made: what `made_by_pass` says, where
    somebody knows it.
    """
    estimates = estimates_for(network, facts)
    rows = {node.id: _rows(network, node, estimates) for node in network.nodes} if measured is None else measured
    width = width_of(network.base)
    if kernel != DUCKDB:
        made = {}
    elif made is None:
        made = made_by_pass(network)
    amounts = {
        node.id: amounts_of_node(
            Load(
                rows[node.id],
                None if node.parent is None else rows[node.parent],
                len(node.dimensions) + len(node.statistics),
                bool(node.readers),
                sum(visits(window, rows[node.id]) for window in eager.get(node.id, ())),
                families.get(node.id, 0),
                *made.get(node.id, (network.looked_for[node.matches] if node.matches else NOTHING, 1)),
            ),
            facts,
            width,
            kernel,
        )
        for node in network.nodes
    }
    jobs = sum(not job.nodes[0].matches for job in jobs_of(network))
    return {"": amounts_of_rows(facts, tests_of(network, kernel), jobs, kernel, len(network.columns)), **amounts}


def made_by_pass(network: Network) -> dict[str, tuple[LookedFor, int]]:
    """For each base node what the statement of a pass looks for that makes it, and how many nodes it makes."""
    matches = dict(network.matches)
    return in_statements(
        {
            node.id: (likeness(node, node.slicing, node.statistics), matches.get(node.matches or "", ()))
            for node in network.base
        }
    )


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


def tests_of(network: Network, kernel: str = SPARK) -> float:
    """How many comparisons a row meets before it is grouped, in all jobs: each tests it for its own nodes."""
    cuts = {name: len(points) for name, points in network.cuts}
    slicings = {node.tree: node.slicing for node in network.base if node.clock.sliced}
    lots = [network.base] if kernel == DUCKDB else [job.nodes for job in jobs_of(network)]
    return sum(tests_for(nodes, slicings, cuts, kernel) for nodes in lots)


def tests_for(
    nodes: Collection[Node] | Collection[Wanted],
    slicings: Mapping[str, Slicing | None],
    cuts: Mapping[str, int],
    kernel: str = SPARK,
) -> float:
    """How many comparisons a row meets in a job, or in a pass, that computes these nodes.

    Trees of equal slices are a single column of a pass.
    """
    dimensions = {dimension for node in nodes for dimension in node.dimensions}
    of_trees = [slicings[tree] for tree in {node.tree for node in nodes if node.clock.sliced}]
    sliced = set(of_trees) if kernel == DUCKDB else of_trees
    slices = sum(tests_of_slicing(slicing) for slicing in sliced if slicing is not None)
    cells = sum(tests_of_cuts(cuts.get(dimension.name, 0)) for dimension in dimensions if dimension.cells)
    return slices + cells + sum(map(is_truth, dimensions))


def _rows(network: Network, node: Node, estimates: Estimates) -> float:
    names = frozenset(dimension.name for dimension in node.dimensions if not dimension.matches)
    length = None if node.slicing is None else node.slicing.mean_length()
    if node.matches is not None:
        return estimates.matched_rows(estimates.mask(names), length, network.looked_for[node.matches])
    return estimates.rows(names, length)

