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
from weft.plan.match import LookedFor

Names = frozenset[str]

# What is assumed of a stream that never ran, and of a dimension that was never counted.
ASSUMED_ROWS = 100_000
ASSUMED_SPAN = 60_000_000
ASSUMED_GROUPS = 100
# A truth that was never counted: most rows of a stream are on the same side of most predicates.
ASSUMED_TRUTH_KINDS = 1.4
# Matches keep what is guessed, as long as nobody counted.
UNKNOWN_KEEPING = 1.0
# More groups than any tick has rows.
COUNTLESS = 1e15
# How much a new count weighs against what was known before.
WEIGHT = 0.5
MOST_COUNTS = 2_000
# So many groups cost a node no more than what it costs in any case.
FEW_GROUPS = 100


@dataclass(frozen=True)
class Facts:
    """Rows and microseconds of event time in a tick, and how many kinds of groups there are by dimension set.

    files: how many a pass reads in a tick, as far as a pass reads files. keeping: how many rows matches keep over what
    is guessed from their parts.
    """

    rows: float = ASSUMED_ROWS
    span: float = ASSUMED_SPAN
    groups: Mapping[Names, float] = field(default_factory=dict)
    ticks: int = 0
    files: float = 0.0
    keeping: float = UNKNOWN_KEEPING

    def definition(self) -> dict[str, Any]:
        """As plain JSON values, for the catalog."""
        groups = {" ".join(sorted(names)): round(kinds, 1) for names, kinds in self.groups.items()}
        counts = {"rows": round(self.rows, 1), "files": round(self.files, 1), "ticks": self.ticks}
        return {**counts, "span": round(self.span), "groups": groups, "keeping": self.keeping}

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Facts:
        groups = {frozenset(names.split()): kinds for names, kinds in definition["groups"].items()}
        # A state of before has no files, and does not know what matches keep.
        files, keeping = definition.get("files", 0.0), definition.get("keeping", UNKNOWN_KEEPING)
        return cls(definition["rows"], definition["span"], groups, definition["ticks"], files, keeping)

    def learned(
        self, rows: int, span: int, seen: Mapping[Names, float], files: int = 0, kept: float | None = None
    ) -> Facts:
        """The facts after another tick, given the groups that it had, and what matches kept over what was guessed.

        An empty tick teaches nothing.
        """
        if not rows:
            return self
        known = dict(self.groups)
        for names, count in seen.items():
            kinds = max(1.0, kinds_behind(count, rows))
            # The set that was counted last goes to the end, and is forgotten last.
            before = known.pop(names, kinds)
            known[names] = before ** (1 - WEIGHT) * kinds**WEIGHT
        keeping = self.keeping
        if kept is not None:
            keeping = kept if keeping == UNKNOWN_KEEPING else keeping ** (1 - WEIGHT) * kept**WEIGHT
        if not self.ticks:
            return Facts(rows, max(span, 1), known, 1, files, keeping)
        for names in list(known)[: max(0, len(known) - MOST_COUNTS)]:
            del known[names]
        return Facts(
            self.rows + WEIGHT * (rows - self.rows),
            max(1, self.span + WEIGHT * (span - self.span)),
            known,
            self.ticks + 1,
            self.files + WEIGHT * (files - self.files) if files else self.files,
            keeping,
        )

    def drift(self, other: Facts, sets: Iterable[Names]) -> float:
        """The factor by which the most changed of rows, pace and groups differs.

        Groups are those that a tick is expected to have: where nearly every row is a group of its own, how many groups
        there are beyond the rows is a guess that changes with every tick. A few groups more or less change no plan.
        """
        pairs = [(self.rows, other.rows), (self.rows / self.span, other.rows / other.span)]
        counted = (names for names in sets if names in self.groups and names in other.groups)
        rows = min(self.rows, other.rows)
        few = min(FEW_GROUPS, rows / 4)
        pairs += [
            (few + occupied(self.groups[names], rows), few + occupied(other.groups[names], rows)) for names in counted
        ]
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
    """The number of kinds of groups of dimension sets, known or guessed; every set is worked out once.

    A set of names is a number inside, a bit for each name: a search asks for the unions of thousands of pairs.
    """

    def __init__(self, facts: Facts, dimensions: Iterable[Dimension], cuts: Mapping[str, int]) -> None:
        self.facts = facts
        self._bits: dict[str, int] = {}
        # By bit: the most kinds there can be of each name, and how many there are where nobody counted.
        self._most: list[float] = []
        self._unlimited = 0
        self._typical: list[float] = []
        for dimension in dimensions:
            most = _most(dimension, cuts)
            typical = ASSUMED_TRUTH_KINDS if is_truth(dimension) else most or ASSUMED_GROUPS
            self._add(dimension.name, most or COUNTLESS, typical)
        self._counted = Counted((self.mask(names), names, kinds) for names, kinds in facts.groups.items())
        self._kinds: dict[int, float] = {}
        self._rows: dict[float | None, RowsIn] = {}

    def mask(self, names: Iterable[str]) -> int:
        """The names as a number: that of a union is the numbers of its parts, joined by `|`."""
        mask = 0
        for name in names:
            bit = self._bits.get(name)
            mask |= self._add(name, COUNTLESS, ASSUMED_GROUPS) if bit is None else bit
        return mask

    def _add(self, name: str, most: float, typical: float) -> int:
        bit = self._bits.get(name)
        if bit is None:
            bit = self._bits[name] = 1 << len(self._bits)
            self._most.append(most)
            self._unlimited |= bit if most >= COUNTLESS else 0
            self._typical.append(typical)
        return bit

    def kinds(self, names: Names) -> float:
        """How many groups there would be if the stream went on for ever."""
        return self.kinds_of(self.mask(names))

    def rows(self, names: Names, slice_length: float | None) -> float:
        """How many partial rows a tick makes by these dimensions, in slices of that length, or without slices."""
        return self.rows_in(slice_length)[self.mask(names)]

    def matched_rows(self, mask: int, slice_length: float | None, sought: LookedFor) -> float:
        """How many partial rows a node makes that holds just the rows that match, by its other dimensions."""
        slices = 1.0 if slice_length is None else self.facts.span / slice_length + 1
        kept = self.facts.rows / slices * sought.kept * self.facts.keeping
        return slices * occupied(self.kinds_of(mask) * sought.matches, kept)

    def rows_in(self, slice_length: float | None) -> RowsIn:
        """The rows of masks in slices of that length."""
        rows = self._rows.get(slice_length)
        if rows is None:
            rows = self._rows[slice_length] = RowsIn(self, slice_length)
        return rows

    def kinds_of(self, mask: int) -> float:
        """The kinds of the names of a mask."""
        kinds = self._kinds.get(mask)
        if kinds is None:
            kinds = self._kinds[mask] = self._guess(mask)
        return kinds

    def _guess(self, mask: int) -> float:
        counted = self._counted.of(mask)
        if counted is not None:
            return max(1.0, counted)
        rest, guess, bits = mask, 1.0, places(mask)
        for _, part, kinds in self._counted.within(mask, bits):
            if part & rest == part:
                rest ^= part
                guess *= kinds
            if not rest or guess > COUNTLESS:
                break
        guess = min(guess * math.prod(self._typical[place] for place in bits if rest >> place & 1), COUNTLESS)
        if not mask & self._unlimited:
            guess = min(guess, math.prod(self._most[place] for place in bits))
        return max(1.0, self._counted.bounded(mask, bits, guess))


class RowsIn(dict[int, float]):
    """The partial rows of a tick in slices of a length, or without slices, by mask, each worked out once."""

    def __init__(self, estimates: Estimates, slice_length: float | None) -> None:
        super().__init__()
        self._estimates, facts = estimates, estimates.facts
        # A tick begins and ends within slices.
        self._slices = 1.0 if slice_length is None else facts.span / slice_length + 1
        self._a_slice = facts.rows / self._slices

    def __missing__(self, mask: int) -> float:
        rows = self[mask] = self._slices * occupied(self._estimates.kinds_of(mask), self._a_slice)
        return rows


class Counted:
    """The dimension sets that were counted, those within or around a set are found without a look at all."""

    def __init__(self, counts: Iterable[tuple[int, Names, float]]) -> None:
        ordered = sorted(
            ((mask, names, kinds) for mask, names, kinds in counts if mask),
            key=lambda counted: (-len(counted[1]), counted[2], sorted(counted[1])),
        )
        self._known = {mask: kinds for mask, _, kinds in ordered}
        # Each set under the lowest of its bits, the widest first; and under all of them, the fewest kinds first.
        self._under: dict[int, list[tuple[int, int, float]]] = {}
        self._around: dict[int, list[tuple[float, int]]] = {}
        for rank, (mask, _, kinds) in enumerate(ordered):
            bits = places(mask)
            self._under.setdefault(bits[0], []).append((rank, mask, kinds))
            for place in bits:
                self._around.setdefault(place, []).append((kinds, mask))
        for around in self._around.values():
            around.sort()

    def of(self, mask: int) -> float | None:
        """The kinds of this very set."""
        return self._known.get(mask)

    def within(self, mask: int, bits: Iterable[int]) -> list[tuple[int, int, float]]:
        """The sets that are part of another, whose bits these are: the widest first, then those of the fewest kinds."""
        others, under = ~mask, self._under
        return sorted(
            counted for place in bits if place in under for counted in under[place] if not counted[1] & others
        )

    def bounded(self, mask: int, bits: Iterable[int], guess: float) -> float:
        """The guess, or the kinds of a set around this set where those are fewer."""
        around = min((self._around.get(place, []) for place in bits), key=len, default=[])
        for kinds, wider in around:
            if kinds >= guess:
                break
            if not mask & ~wider:
                return kinds
        return guess


def places(mask: int) -> list[int]:
    """The places of the bits of a mask.

    >>> places(0b1011)
    [0, 1, 3]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


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
