"""Which base nodes are computed in which Spark job: all in one, as far as that goes.

Statistics that Spark cannot keep in a hash aggregate go into a job of their own: a single one of them would turn the
others into a sort. And Spark's grouping sets have at most 64 keys. Where the rows of a job find no room in the driver,
base nodes are computed one after the other. Every row carries all keys of a job to each of its
base nodes, so truths that go to the same nodes travel in one number.
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
    """Base nodes that are computed together, and the statistics of theirs that are."""

    nodes: tuple[Node, ...]
    statistics: tuple[Statistic, ...]


def jobs_of(network: Network, *, apart: bool = False) -> tuple[Job, ...]:
    """The jobs of a tick, with `apart` one for each base node; none for a network without nodes."""
    jobs = []
    lots = [(node,) for node in network.base] if apart else _chunks(network.base)
    for nodes in lots:
        plain = {one for node in nodes for one in node.statistics if hashable(one)}
        jobs.append(Job(nodes, _ordered(plain)))
    for nodes in lots:
        sorting = {one for node in nodes for one in node.statistics if not hashable(one)}
        if sorting:
            needy = tuple(node for node in nodes if sorting.intersection(node.statistics))
            jobs.append(Job(needy, _ordered(sorting)))
    return tuple(jobs)


def _keys_of(node: Node) -> set[str]:
    """The grouping keys of a base node: its dimensions, and its slice or whether it has a time."""
    return {f"time {node.clock} {node.tree}", *(one.name for one in node.dimensions)}


def packs_of(sets: Iterable[Collection[Dimension]]) -> tuple[tuple[Dimension, ...], ...]:
    """The truths that are in the same ones of these dimension sets, two or more at a time."""
    homes: dict[Dimension, list[int]] = {}
    for place, dimensions in enumerate(sets):
        for one in filter(is_truth, dimensions):
            homes.setdefault(one, []).append(place)
    lots: dict[tuple[int, ...], list[Dimension]] = {}
    for one, places in homes.items():
        lots.setdefault(tuple(places), []).append(one)
    packs = []
    for lot in lots.values():
        ordered = sorted(lot, key=lambda one: one.name)
        packs += [tuple(ordered[at : at + MOST_PACKED]) for at in range(0, len(ordered), MOST_PACKED)]
    return tuple(pack for pack in packs if len(pack) > 1)


def keys_for(sets: Collection[Collection[Dimension]]) -> int:
    """How many grouping keys these dimension sets take in one job."""
    spared = sum(len(pack) - 1 for pack in packs_of(sets))
    return len({one for dimensions in sets for one in dimensions}) - spared


def _chunks(base: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """The nodes in as few lots as their keys fit into, first come, first served."""
    lots: list[tuple[set[str], list[Node]]] = []
    for node in base:
        keys = _keys_of(node)
        found = next((lot for lot in lots if len(lot[0]) + len(keys - lot[0]) <= MOST_KEYS), None)
        if found is None:
            found = (set(), [])
            lots.append(found)
        found[0].update(keys)
        found[1].append(node)
    return [tuple(nodes) for _, nodes in lots]


def _ordered(statistics: set[Statistic]) -> tuple[Statistic, ...]:
    return tuple(sorted(statistics, key=lambda one: one.name))
