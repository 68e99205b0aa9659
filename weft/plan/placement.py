"""Placements: the two things about a query that the optimizer may choose, and may choose anew while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.algebra.windows import Window

FILLED = "filled "
"""How the trees are called whose nodes are computed from kept rows; the batch follows before which these rows came."""


@dataclass(frozen=True)
class Placement:
    """Where a query's partial rows are kept.

    tree: the queries of a tree share its slicing. matches: the part of its predicate that its groups cannot answer is
    evaluated whole, and only rows that it keeps are aggregated, in place of the values and cells that other predicates
    could use too. truths: the same as a dimension that is true or false, as older versions placed queries.
    """

    tree: str = ""
    matches: bool = False
    truths: bool = False

    def of(self, window: Window) -> Placement:
        """The placement of a query with this window: totals have no slices, so they belong to no tree.

        What is computed from kept rows is apart from what ticks add to, totals too.
        """
        return self if window.clock.sliced or self.tree.startswith(FILLED) else replace(self, tree="")

    def definition(self) -> dict[str, Any]:
        """As plain JSON values, for the catalog; nothing for what is so by default."""
        forms = {"matches": self.matches, "truths": self.truths}
        return {**({"tree": self.tree} if self.tree else {}), **{form: True for form, is_so in forms.items() if is_so}}

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Placement:
        return cls(definition.get("tree", ""), definition.get("matches", False), definition.get("truths", False))


AT_HOME = Placement()


@dataclass(frozen=True)
class Moved:
    """A placement that a query had, until which batch, and the moment from which on it can have no rows there.

    filling: it was registered with that batch, and its rows of before are still to be computed from kept rows.
    """

    placement: Placement
    until: int
    moment: int
    filling: bool = False

    def definition(self) -> dict[str, Any]:
        filling = {"filling": True} if self.filling else {}
        return {**self.placement.definition(), "until": self.until, "moment": self.moment, **filling}

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Moved:
        filling = definition.get("filling", False)
        return cls(Placement.from_definition(definition), definition["until"], definition["moment"], filling)
