"""Cells that merge: which cuts nobody reads any more, and which cells rows fall to without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from weft.backend.interface import Cells
from weft.plan.dimensions import Cut
from weft.plan.layout import Layout
from weft.plan.network import Node

# The cuts of every dimension with cells, by their text.
Cuts = Mapping[str, Mapping[str, Cut]]


def without_cuts(layout: Layout, read: Cuts) -> Layout:
    """The layout without the cuts that nobody reads."""
    if not layout.cuts:
        return layout
    cuts = ((name, frozenset(points & read.get(name, {}).keys())) for name, points in layout.cuts)
    return replace(layout, cuts=tuple(cuts))


def cells_of(node: Node, layout: Layout, read: Cuts) -> tuple[Cells, ...]:
    """The cells that rows of a layout have, dimension by dimension; `read` has the values of its cuts."""
    texts = dict(layout.cuts)
    return tuple(
        Cells(
            dimension.name,
            dimension.type,
            tuple(sorted(read[dimension.name][text] for text in texts.get(dimension.name, ()))),
            dimension.matches,
        )
        for dimension in node.dimensions
        if dimension.cells or dimension.matches
    )
