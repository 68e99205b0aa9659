"""A layout says what the partial rows of a file can answer: which statistics, between which edges, over which cuts.

Queries come and go, so files of a node differ. A file serves a query's part exactly when its layout has all the
statistics, all the cuts, and an edge at every start and end of the query's windows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.algebra.expressions import identity
from weft.plan.needs import Needs, Part
from weft.plan.slices import Slicing


@dataclass(frozen=True)
class Layout:
    """Statistics by name, cuts by dimension as text, and the slicing; None for a node without slices."""

    statistics: frozenset[str]
    cuts: tuple[tuple[str, frozenset[str]], ...]
    slicing: Slicing | None
    # Since which batch rows are here for queries that moved: files from before and after are never merged.
    epoch: int = 0

    @cached_property
    def id(self) -> str:
        return identity("l", json.dumps(self.definition()))

    def misses(self, needs: Needs, part: Part) -> str:
        """Why the file cannot serve this part: empty when it can."""
        if any(statistic.name not in self.statistics for statistic in part.statistics):
            return "statistics"
        if needs.window.clock.sliced and (self.slicing is None or not self.slicing.covers(needs.window)):
            return "edges"
        have = dict(self.cuts)
        if any(not set(map(repr, points)) <= have.get(name, frozenset()) for name, points in needs.cuts):
            return "cuts"
        return ""

    def definition(self) -> dict[str, Any]:
        """As plain JSON values, for the catalog."""
        slicing = self.slicing
        return {
            "statistics": sorted(self.statistics),
            "cuts": {name: sorted(points) for name, points in self.cuts},
            "slicing": slicing and [slicing.progressions, slicing.period, slicing.offset, slicing.table],
            **({"epoch": self.epoch} if self.epoch else {}),
        }

    @classmethod
    def from_definition(cls, definition: dict[str, Any]) -> Layout:
        slicing = definition["slicing"]
        if slicing is not None:
            progressions, period, offset, table = slicing
            slicing = Slicing(tuple((step, residue) for step, residue in progressions), period, offset, tuple(table))
        cuts = tuple(sorted((name, frozenset(points)) for name, points in definition["cuts"].items()))
        return cls(frozenset(definition["statistics"]), cuts, slicing, definition.get("epoch", 0))


@dataclass(frozen=True)
class Held:
    """What planning needs to know of a stored file: its layout and up to where in time it reaches."""

    layout: Layout
    time_to: int


def complete_from(needs: Needs, part: Part, node_complete_from: int, files: Iterable[Held]) -> int:
    """The moment from which on the node holds every row that windows of this part can ask for.

    A window that starts there or later is held in full. Files that cannot serve the part push the moment to their end.
    """
    return max([node_complete_from, *(file.time_to for file in files if file.layout.misses(needs, part))])
