"""Which base nodes are computed in which Spark job: all in the same job, as far as that goes.

Statistics that Spark cannot keep in a hash aggregate go into a job of their own: a single such statistic would turn
the others into a sort. And Spark's grouping sets have at most 64 keys. Where the rows of a job find no room in the
driver, base nodes are computed in turn. Every row carries all keys of a job to each of its
base nodes, so truths that go to the same nodes travel in a single number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from weft.aggregates.statistics import Statistic, hashable
from weft.plan.dimensions import Dimension
from weft.plan.facts import is_truth
from weft.plan.network import Network, Node

MOST_KEYS = 60
# A truth is true, false or unknown, which takes two bits of 64; the sign stays out of it.
MOST_PACKED = 31


@dataclass(frozen=True)
class Job:
    """Base nodes that are computed together, and which of their statistics are."""

    nodes: tuple[Node, ...]
    statistics: tuple[Statistic, ...]


def jobs_of(network: Network, *, apart: bool = False) -> tuple[Job, ...]:
    """The jobs of a tick, with `apart` a job for each base node; none for a network without nodes.

    The first counts every row: nodes that hold just the rows that match come last, each in a job of its own.
    """
    jobs = []
    whole = tuple(node for node in (*network.base, *network.counters) if not node.matches)
    lots = [(node,) for node in whole] if apart else _chunks(whole)
    lots += [(node,) for node in network.base if node.matches]
    for nodes in lots:
        plain = {statistic for node in nodes for statistic in node.statistics if hashable(statistic)}
        jobs.append(Job(nodes, _ordered(plain)))
    for nodes in lots:
        sorting = {statistic for node in nodes for statistic in node.statistics if not hashable(statistic)}
        if sorting:
            needy = tuple(node for node in nodes if sorting.intersection(node.statistics))
            jobs.append(Job(needy, _ordered(sorting)))
    return tuple(jobs)


def _keys_of(node: Node) -> set[str]:
    """The grouping keys of a base node: its dimensions, and its slice or whether it has a time."""
    return {f"time {node.clock} {node.tree}", *(dimension.name for dimension in node.keys)}


def packs_of(sets: Iterable[Collection[Dimension]]) -> tuple[tuple[Dimension, ...], ...]:
    """The truths that are in exactly the same dimension sets, two or more at a time."""
    homes: dict[Dimension, list[int]] = {}
    for index, dimensions in enumerate(sets):
        for truth in filter(is_truth, dimensions):
            homes.setdefault(truth, []).append(index)
    lots: dict[tuple[int, ...], list[Dimension]] = {}
    for truth, homes_of_truth in homes.items():
        lots.setdefault(tuple(homes_of_truth), []).append(truth)
    packs = []
    for lot in lots.values():
        ordered = sorted(lot, key=lambda truth: truth.name)
        packs += [tuple(ordered[at : at + MOST_PACKED]) for at in range(0, len(ordered), MOST_PACKED)]
    return tuple(pack for pack in packs if len(pack) > 1)


def keys_for(sets: Collection[Collection[Dimension]]) -> int:
    """How many grouping keys these dimension sets take in a job."""
    spared = sum(len(pack) - 1 for pack in packs_of(sets))
    return len({dimension for dimensions in sets for dimension in dimensions if not dimension.ticks}) - spared


def _chunks(base: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """The nodes in as few lots as their keys fit into, first come, first served."""
    lots: list[tuple[set[str], list[Node]]] = []
    for node in base:
        keys = _keys_of(node)
        roomy = next((lot for lot in lots if len(lot[0]) + len(keys - lot[0]) <= MOST_KEYS), None)
        if roomy is None:
            roomy = (set(), [])
            lots.append(roomy)
        roomy[0].update(keys)
        roomy[1].append(node)
    return [tuple(nodes) for _, nodes in lots]


def _ordered(statistics: set[Statistic]) -> tuple[Statistic, ...]:
    return tuple(sorted(statistics, key=lambda statistic: statistic.name))
