"""Where a part of a query is read from: the node made for it, or a finer node that holds it already.

A new query reads what is stored from its first moment, before any tick has made a node of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.algebra.windows import Clock
from weft.plan.dimensions import keeps_rows_of
from weft.plan.layout import Held, complete_from
from weft.plan.needs import Needs, Part


@dataclass(frozen=True)
class Stocked:
    """A node as far as routing cares: what it is grouped by, since when it is complete, and its files."""

    node: str
    clock: Clock
    dimensions: frozenset[str]
    complete_from: int
    files: tuple[Held, ...]


@dataclass(frozen=True)
class Route:
    """The node that answers a part, and the moment from which on its windows are whole."""

    node: str
    complete_from: int


def route(needs: Needs, part: Part, stock: Iterable[Stocked]) -> Route | None:
    """The part's own node where it is stocked; else the node that is complete for longest, then the narrowest."""
    routes = [
        (stocked, Route(stocked.node, complete_from(needs, part, stocked.complete_from, stocked.files)))
        for stocked in stock
        if _holds(needs, part, stocked)
    ]
    own = [candidate for stocked, candidate in routes if stocked.node == part.node]
    if own:
        return own[0]
    best = min(routes, key=lambda pair: (pair[1].complete_from, len(pair[0].dimensions), pair[0].node), default=None)
    return best[1] if best else None


def _holds(needs: Needs, part: Part, stocked: Stocked) -> bool:
    names = {dimension.name for dimension in part.dimensions}
    alike = stocked.clock is needs.window.clock and keeps_rows_of(stocked.dimensions, names)
    return alike and names <= stocked.dimensions
