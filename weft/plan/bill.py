"""Bills: what each node costs a tick, and which share of it each query pays.

A node's cost is shared by all queries that need it: that read the node itself, or a node that is derived from it.
What the stream costs in itself, reading its rows, is shared by all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from weft.plan.network import Network
from weft.plan.prices import SPARK, Costs


@dataclass(frozen=True)
class Bill:
    """The seconds of a tick by node, base nodes by a kernel; the stream's own part is under the empty name."""

    network: Network
    nodes: Mapping[str, float]
    kernel: str = SPARK

    @property
    def total(self) -> float:
        return sum(self.nodes.values())

    @cached_property
    def users(self) -> Mapping[str, frozenset[str]]:
        """The queries that need each node."""
        users = {node.id: set(node.readers) for node in self.network.nodes}
        for node in reversed(self.network.nodes):
            if node.parent is not None:
                users[node.parent] |= users[node.id]
        everybody = frozenset(name for node in self.network.nodes for name in node.readers)
        return {"": everybody, **{name: frozenset(queries) for name, queries in users.items()}}

    def share(self, query: str) -> float:
        """The seconds of a tick that a query pays."""
        return sum(
            seconds / len(self.users[node]) for node, seconds in self.nodes.items() if query in self.users[node]
        )


def bill_of(
    network: Network, amounts: Mapping[str, Mapping[str, float]], costs: Costs, kernel: str = SPARK
) -> Bill:
    """The bill for what a tick does that a kernel computes from rows."""
    return Bill(network, {node: costs.price(part) for node, part in amounts.items()}, kernel)


def seconds_text(seconds: float) -> str:
    """A duration as a person says it.

    >>> seconds_text(0.0004), seconds_text(0.25), seconds_text(2)
    ('0.4 ms', '250 ms', '2.0 s')
    """
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
