"""A network as plain values: what the catalog says of nodes, and of each version of a stream's plan."""

from __future__ import annotations

from typing import Any

from weft.algebra.expressions import text
from weft.plan.network import Network, Node


def describe_node(node: Node) -> dict[str, Any]:
    """Describe a node: its dimension set with canonical group expressions, its columns, and its parent."""
    return {
        "running": not node.clock.sliced,
        "dimensions": [dimension.name for dimension in node.dimensions],
        "expressions": [text(dimension.expression) for dimension in node.dimensions],
        "statistics": [str(statistic) for statistic in node.statistics],
        "parent": node.parent,
    }


def describe_network(network: Network) -> dict[str, Any]:
    """Describe all nodes that are computed, parents first, and the retired nodes, which are only kept.

    Equal for two networks as long as queries share what is there.
    """
    return {
        "nodes": [
            {
                "id": node.id,
                **describe_node(node),
                "tree": node.tree,
                "windows": [str(window) for window in node.windows],
                "stored": bool(node.readers),
            }
            for node in network.nodes
        ],
        "retired": sorted(node.id for node in network.retired),
    }
