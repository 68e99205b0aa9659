"""Facts: what was learned of a stream by running it, and what the facts say of nodes that do not exist yet.

Groups are counted by sketches over the partial rows that every tick makes anyway. Of a dimension set that no node has,
the counts of its parts are multiplied: too many rather than too few, so that no union is made that may not pay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.plan.dimensions import Dimension

Names = frozenset[str]

# What is assumed of a stream that never ran, and of a dimension that was never counted.
ASSUMED_ROWS = 100_000
ASSUMED_SPAN = 60_000_000
ASSUMED_GROUPS = 100
# A truth that was never counted: most rows of a stream are on the same side of most predicates.
ASSUMED_TRUTH_KINDS = 1.4
# More groups than any tick has rows.
COUNTLESS = 1e15
# How much a new count weighs against what was known before.
WEIGHT = 0.5
MOST_COUNTS = 2_000


@dataclass(frozen=True)
class Facts:
    """Rows and microseconds of event time in a tick, and how many kinds of groups there are by dimension set."""

    rows: float = ASSUMED_ROWS
    span: float = ASSUMED_SPAN
    groups: Mapping[Names, float] = field(default_factory=dict)
    ticks: int = 0

    def definition(self) -> dict[str, Any]:
        """As plain JSON values, for the catalog."""
        groups = {" ".join(sorted(names)): round(kinds, 1) for names, kinds in self.groups.items()}
        return {"rows": round(self.rows, 1), "span": round(self.span), "ticks": self.ticks, "groups": groups}

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Facts:
        groups = {frozenset(names.split()): kinds for names, kinds in definition["groups"].items()}
        return cls(definition["rows"], definition["span"], groups, definition["ticks"])

    def learned(self, rows: int, span: int, seen: Mapping[Names, float]) -> Facts:
        """The facts after another tick, given the groups that it had; an empty tick teaches nothing."""
        if not rows:
            return self
        known = dict(self.groups)
        for names, count in seen.items():
            kinds = max(1.0, kinds_behind(count, rows))
            # The set that was counted last goes to the end, and is forgotten last.
            before = known.pop(names, kinds)
            known[names] = before ** (1 - WEIGHT) * kinds**WEIGHT
        if not self.ticks:
            return Facts(rows, max(span, 1), known, 1)
        for names in list(known)[: max(0, len(known) - MOST_COUNTS)]:
            del known[names]
        return Facts(
            self.rows + WEIGHT * (rows - self.rows),
            max(1, self.span + WEIGHT * (span - self.span)),
            known,
            self.ticks + 1,
        )

    def drift(self, other: Facts, sets: Iterable[Names]) -> float:
        """The factor by which the most changed of rows, pace and groups differs."""
        pairs = [(self.rows, other.rows), (self.rows / self.span, other.rows / other.span)]
        counted = (names for names in sets if names in self.groups and names in other.groups)
        pairs += [(self.groups[names], other.groups[names]) for names in counted]
        return max(max(a, b, 1e-9) / max(min(a, b), 1e-9) for a, b in pairs)


def occupied(kinds: float, rows: float) -> float:
    """How many different kinds are expected among these rows, if all kinds are equally likely.

    >>> round(occupied(10, 1000)), round(occupied(1e9, 1000))
    (10, 1000)
    """
    if kinds <= 0 or rows <= 0:
        return 0.0
    return kinds * -math.expm1(-rows / kinds)


def kinds_behind(seen: float, rows: float) -> float:
    """How many kinds there are if `seen` of them were among these rows: the inverse of `occupied`.

    >>> round(kinds_behind(occupied(5_000, 10_000), 10_000))
    5000
    """
    if seen >= 0.999 * rows:
        return COUNTLESS
    low, high = max(seen, 1e-9), COUNTLESS
    for _ in range(80):
        middle = math.sqrt(low * high)
        if occupied(middle, rows) < seen:
            low = middle
        else:
            high = middle
    return low


def truth_kinds(share: float) -> float:
    """How many groups a truth tells apart that holds for this share of the rows: e to its entropy, 1 to 2.

    >>> truth_kinds(0.5), truth_kinds(1.0), round(truth_kinds(0.01), 2)
    (2.0, 1.0, 1.06)
    """
    return math.exp(-sum(part * math.log(part) for part in (share, 1 - share) if part > 0))


class Estimates:
    """The number of kinds of groups of dimension sets, known or guessed; every set is worked out once."""

    def __init__(self, facts: Facts, dimensions: Iterable[Dimension], cuts: Mapping[str, int]) -> None:
        self.facts = facts
        self._most = {dimension.name: _most(dimension, cuts) for dimension in dimensions}
        self._typical = {
            dimension.name: ASSUMED_TRUTH_KINDS if is_truth(dimension) else self._most[dimension.name] or ASSUMED_GROUPS
            for dimension in dimensions
        }
        self._known = facts.groups
        self._kinds: dict[Names, float] = {}

    def kinds(self, names: Names) -> float:
        """How many groups there would be if the stream went on for ever."""
        kinds = self._kinds.get(names)
        if kinds is None:
            kinds = self._kinds[names] = self._guess(names)
        return kinds

    def rows(self, names: Names, slice_length: float | None) -> float:
        """How many partial rows a tick makes by these dimensions, in slices of that length, or without slices."""
        kinds, facts = self.kinds(names), self.facts
        if slice_length is None:
            return occupied(kinds, facts.rows)
        # A tick begins and ends within slices.
        slices = facts.span / slice_length + 1
        return slices * occupied(kinds, facts.rows / slices)

    def _guess(self, names: Names) -> float:
        if names in self._known:
            return max(1.0, self._known[names])
        rest, guess = set(names), 1.0
        parts = [known for known in self._known if known < names]
        for part in sorted(parts, key=lambda known: (-len(known), self._known[known], sorted(known))):
            if part and part <= rest:
                rest -= part
                guess *= self._known[part]
        for name in rest:
            guess *= self._typical.get(name, ASSUMED_GROUPS)
        wider = [self._known[known] for known in self._known if names < known]
        most = math.prod(self._most.get(name) or COUNTLESS for name in names)
        return max(1.0, min([guess, most, COUNTLESS, *wider]))


def _most(dimension: Dimension, cuts: Mapping[str, int]) -> float | None:
    """The most kinds that a dimension can have, where its type says so; NULL is a kind too."""
    if dimension.matches:
        return cuts.get(dimension.name, 1)
    if dimension.cells:
        return cuts.get(dimension.name, 1) + 2
    return 3 if is_truth(dimension) else None


def is_truth(dimension: Dimension) -> bool:
    """Whether a dimension is only true, false or unknown."""
    return dimension.type.name == "boolean" and not dimension.cells
