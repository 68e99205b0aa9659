"""When rows arrived, for partial rows of kept rows: behind which watermark, or with which tick.

A tick knows that of all its rows at once. Kept rows are of many ticks, so their arrival is one more dimension of a
pass, and afterwards the lateness of their slice, or the tick of their total, as if each tick had made them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.algebra.expressions import Column
from weft.algebra.types import BIGINT
from weft.plan.dimensions import Dimension
from weft.plan.network import Network, Node
from weft.segments import kept
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema

BEHIND, TICK = Dimension(Column(kept.LATE, BIGINT)), Dimension(Column(kept.TICK, BIGINT))


def with_arrival(network: Network) -> Network:
    """The network whose base nodes tell rows apart by when they arrived, too."""

    def told_apart(node: Node) -> Node:
        beside = BEHIND if node.clock.sliced else TICK
        return replace(node, dimensions=(*node.dimensions, beside)) if node.parent is None else node

    return replace(network, nodes=tuple(map(told_apart, network.nodes)))


def as_of_ticks(part: pa.Table, node: Node) -> pa.Table:
    """Partial rows of a node whose pass told rows apart by their arrival, as the node stores them."""
    schema = row_schema(node.dimensions, node.statistics)
    if node.clock.sliced:
        start, late = part[START], _lateness(part, node)
    else:
        start, late = part[TICK.name], pa.repeat(pa.scalar(ON_TIME, pa.int64()), part.num_rows)
    fixed = {START: start, LATE: late, LEVEL: pa.repeat(pa.scalar(0, pa.int8()), part.num_rows)}
    columns = [fixed[name] if name in fixed else part[name] for name in schema.names]
    return conform(pa.table(columns, names=schema.names), schema)


def _lateness(part: pa.Table, node: Node) -> pa.Array:
    """Behind which watermark each row's slice was late: a slice is late once the watermark has passed its end."""
    assert node.slicing is not None
    starts, behind = part[START].to_numpy(), part[BEHIND.name].to_numpy()
    known, where = np.unique(starts, return_inverse=True)
    ends = np.array([node.slicing.next_edge(int(start)) for start in known], np.int64)
    return pa.array(np.where(ends[where] <= behind, behind, ON_TIME) if len(starts) else behind, pa.int64())
