"""Base nodes that are joined into unions: the two that save most, again and again, until no two save.

All pairs are priced, so a pair must cost next to nothing: dimension sets are numbers (`Estimates.mask`), and a group
keeps its partners in the order of what they save. Nodes of different trees of slices are never joined, so each pair is
of one tree, or has a node of totals.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from weft.algebra.windows import Clock
from weft.plan.facts import Estimates
from weft.plan.finer import Dimensions

# Beyond this many base nodes only the nodes with the fewest rows are joined in pairs: only they can gain.
MOST_JOINED = 200
# Sharing is left, and a union that nobody asked for is made, only if that saves this much of a tick, in seconds: counts
# are guesses until the stream runs.
LEAST_SAVING = 2e-3


@dataclass(slots=True)
class BaseGroup:
    """Base nodes that are derived from their union, which is a member of the group or a node that nobody asked for.

    mask: the dimensions, as `Estimates.mask` says them. values: of the rows of all members together. top: the member
    that is the union itself, if any is, and top_values its own. counts_values: whether all members count values.
    """

    dimensions: Dimensions
    mask: int
    clock: Clock
    tree: str
    members: tuple[str, ...]
    rows: float
    values: int
    top: str | None
    top_values: int
    counts_values: bool

    @property
    def place(self) -> str | None:
        """The tree whose slices it has; None for totals, which have none."""
        return self.tree if self.clock.sliced else None

    @property
    def derived(self) -> int:
        """The values of the members that are made from the union."""
        return self.values - self.top_values


@dataclass(frozen=True)
class Rates:
    """The seconds of a base node for all rows of a tick, of its partial rows, of a derived node, and of its values."""

    base: float
    out: float
    merge: float
    derive: float


# What pricing a pair needs of a group: its number, its mask, what its rows cost, the values of its members, the group.
Line = tuple[int, int, float, int, BaseGroup]


class Joins:
    """Joins base groups, given the length of the slices of each tree."""

    def __init__(self, estimates: Estimates, lengths: Mapping[str, float | None], rates: Rates) -> None:
        self._estimates, self._lengths, self._rates = estimates, lengths, rates
        # The groups that are left, by serial number; and apart for each tree of slices, and for totals under None.
        self._alive: dict[int, BaseGroup] = {}
        self._lines: dict[str | None, dict[int, Line]] = {}
        # The partners of each group that came before it, best last, by what a join saves.
        self._partners: dict[int, list[tuple[float, int]]] = {}
        self._best: list[tuple[float, int, int]] = []

    def join(self, groups: list[BaseGroup]) -> list[BaseGroup]:
        """Join the two groups that save most until no pair saves."""
        groups.sort(key=lambda group: (group.rows, group.members))
        for serial, group in enumerate(groups[:MOST_JOINED]):
            self._add(serial, group)
        serial = len(groups)
        while self._best:
            _, later, earlier = heapq.heappop(self._best)
            if later not in self._alive:
                continue
            if earlier in self._alive:
                joined = self._joined(self._take(later), self._take(earlier))
                self._add(serial, joined)
                serial += 1
            else:
                self._offer(later)
        return [*self._alive.values(), *groups[MOST_JOINED:]]

    def _add(self, serial: int, group: BaseGroup) -> None:
        self._partners[serial] = sorted(self._savings(group))
        self._alive[serial] = group
        rates = self._rates
        # Without a union each member is derived once it is joined; a top is not derived so far.
        cost = group.rows * (rates.out + rates.derive * group.derived) - (0 if group.top is None else rates.merge)
        self._lines.setdefault(group.place, {})[serial] = (serial, group.mask, cost, group.values, group)
        self._offer(serial)

    def _take(self, serial: int) -> BaseGroup:
        group = self._alive.pop(serial)
        del self._lines[group.place][serial]
        return group

    def _offer(self, serial: int) -> None:
        """Note the best partner that is left of a group."""
        partners = self._partners[serial]
        while partners:
            saved, partner = partners.pop()
            if -partner in self._alive:
                heapq.heappush(self._best, (-saved, serial, -partner))
                return

    def _savings(self, group: BaseGroup) -> list[tuple[float, int]]:
        """What joining a group to each of the others would save, where that is enough; serial numbers are negated."""
        if group.place is not None:
            return [pair for place in (group.place, None) for pair in self._savings_at(group, group.place, place)]
        return [pair for place in self._lines for pair in self._savings_at(group, place, place)]

    def _savings_at(self, group: BaseGroup, slices: str | None, place: str | None) -> list[tuple[float, int]]:
        """The savings of joins to the groups of a place, if the union has the slices of a tree."""
        lines = self._lines.get(place, {}).values()
        rates, mask, values = self._rates, group.mask, group.values
        out, derive = rates.out, rates.derive
        rows = self._estimates.rows_in(None if slices is None else self._lengths[slices])
        now = rates.base + group.rows * (out + derive * group.derived) - (0 if group.top is None else rates.merge)
        # Nothing else is done so often: a line of a comprehension takes half the time of anything more readable.
        found = [
            (saved, -serial)
            for serial, other_mask, cost, other_values, _ in lines
            if (saved := now + cost - rows[mask | other_mask] * (out + derive * (values + other_values)))
            > LEAST_SAVING
        ]
        within = {line[0]: line for line in lines if mask | line[1] in (mask, line[1])}
        if not within:
            return found
        found = [pair for pair in found if -pair[1] not in within]
        for serial, other_mask, cost, other_values, other in within.values():
            top = self._top(group, other, mask | other_mask)
            # From value counts only value counts can be derived.
            if top is None or not top.counts_values or group.counts_values and other.counts_values:
                made = values + other_values - (0 if top is None else top.top_values)
                kept = 0 if top is None else rates.merge
                saved = now + cost + kept - rows[mask | other_mask] * (out + derive * made)
                if saved > LEAST_SAVING:
                    found.append((saved, -serial))
        return found

    @staticmethod
    def _top(left: BaseGroup, right: BaseGroup, union: int) -> BaseGroup | None:
        """The group whose top is the union of both."""
        clock = left.clock.joined(right.clock)
        for group in (left, right):
            if group.top is not None and group.mask == union and group.clock is clock:
                return group
        return None

    def _joined(self, left: BaseGroup, right: BaseGroup) -> BaseGroup:
        union, clock = left.mask | right.mask, left.clock.joined(right.clock)
        top = self._top(left, right, union)
        tree = left.tree if left.clock.sliced else right.tree
        return BaseGroup(
            left.dimensions | right.dimensions,
            union,
            clock,
            tree,
            (*left.members, *right.members),
            self._estimates.rows_in(self._lengths[tree] if clock.sliced else None)[union],
            left.values + right.values,
            None if top is None else top.top,
            0 if top is None else top.top_values,
            left.counts_values and right.counts_values,
        )
