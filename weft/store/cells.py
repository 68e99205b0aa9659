"""Cells that merge: rows of a node as if only those cuts had ever been there that somebody still reads.

Needs: a cell is named by the greatest cut at or below its values, so that without a cut it falls to the one before.
Cost: one look-up for each different cell, whatever the number of rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.layout import Layout
from weft.plan.network import Node
from weft.segments.types import arrow_type

# The cuts of every dimension with cells, by their text.
Cuts = Mapping[str, Mapping[str, Cut]]


def without_cuts(layout: Layout, read: Cuts) -> Layout:
    """The layout without the cuts that nobody reads."""
    if not layout.cuts:
        return layout
    kept = ((name, frozenset(points & read.get(name, {}).keys())) for name, points in layout.cuts)
    return replace(layout, cuts=tuple(kept))


def wider_cells(rows: pa.Table, node: Node, layout: Layout, read: Cuts) -> pa.Table:
    """The rows with the cells of a layout that has some of their cuts; several may be of one group then."""
    for dimension in node.dimensions:
        if dimension.cells:
            names = dict(layout.cuts).get(dimension.name, frozenset())
            place = rows.schema.get_field_index(dimension.name)
            cells = _wider(rows[dimension.name], dimension, sorted(read[dimension.name][name] for name in names))
            rows = rows.set_column(place, rows.schema.field(place), cells)
    return rows


def _wider(cells: pa.ChunkedArray, dimension: Dimension, cuts: list[Cut]) -> pa.Array:
    """The cell of every cell among these cuts; NULL is a cell of its own."""
    known = cells.combine_chunks().dictionary_encode()
    bounds = [lowest(dimension.type), *cuts]
    wider = [bounds[bisect_right(cuts, cell)] for cell in known.dictionary.to_pylist()]
    return pa.array(wider, arrow_type(dimension.type)).take(known.indices)
