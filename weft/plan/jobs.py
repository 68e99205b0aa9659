"""Which base nodes are computed in which Spark job: all in one, as far as that goes.

Statistics that Spark cannot keep in a hash aggregate go into a job of their own: a single one of them would turn the
others into a sort. And Spark's grouping sets have at most 64 keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.aggregates.statistics import Statistic, hashable
from weft.plan.network import Network, Node

MOST_KEYS = 60


@dataclass(frozen=True)
class Job:
    """Base nodes that are computed together, and the statistics of theirs that are."""

    nodes: tuple[Node, ...]
    statistics: tuple[Statistic, ...]


def jobs_of(network: Network) -> tuple[Job, ...]:
    """The jobs of a tick; none for a network without nodes."""
    jobs = []
    for nodes in _chunks(network.base):
        plain = {one for node in nodes for one in node.statistics if hashable(one)}
        jobs.append(Job(nodes, _ordered(plain)))
    for nodes in _chunks(network.base):
        sorting = {one for node in nodes for one in node.statistics if not hashable(one)}
        if sorting:
            needy = tuple(node for node in nodes if sorting.intersection(node.statistics))
            jobs.append(Job(needy, _ordered(sorting)))
    return tuple(jobs)


def keys_of(node: Node) -> set[str]:
    """The grouping keys of a base node: its dimensions, and its slice or whether it has a time."""
    return {f"time {node.running} {node.tree}", *(one.name for one in node.dimensions)}


def _chunks(base: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """The nodes in as few lots as their keys fit into, first come, first served."""
    lots: list[tuple[set[str], list[Node]]] = []
    for node in base:
        keys = keys_of(node)
        found = next((lot for lot in lots if len(lot[0] | keys) <= MOST_KEYS), None)
        if found is None:
            found = (set(), [])
            lots.append(found)
        found[0].update(keys)
        found[1].append(node)
    return [tuple(nodes) for _, nodes in lots]


def _ordered(statistics: set[Statistic]) -> tuple[Statistic, ...]:
    return tuple(sorted(statistics, key=lambda one: one.name))
