"""A network as plain values: what the catalog says of nodes, and of each version of a stream's plan."""

from __future__ import annotations

from typing import Any

from weft.algebra.expressions import text
from weft.plan.network import Network, Node


def describe_node(node: Node) -> dict[str, Any]:
    """What a node is: its dimension set with canonical group expressions, its columns, and what it is computed from."""
    return {
        "running": node.running,
        "dimensions": [one.name for one in node.dimensions],
        "expressions": [text(one.expression) for one in node.dimensions],
        "statistics": [str(one) for one in node.statistics],
        "parent": node.parent,
    }


def describe_network(network: Network) -> dict[str, Any]:
    """All that is computed, parents first, and what is only kept; the same as long as queries share what is there."""
    return {
        "nodes": [
            {
                "id": node.id,
                **describe_node(node),
                "tree": node.tree,
                "windows": [str(one) for one in node.windows],
                "stored": bool(node.readers),
            }
            for node in network.nodes
        ],
        "retired": sorted(node.id for node in network.retired),
    }
