"""Slices: the pieces of time between neighbouring edges of all windows that share a tree.

Every window of the tree is a whole number of slices, so a slice's partial rows serve them all. `slicing` picks the
cheapest way to find a row's slice; none of the usual ways costs a row more when windows are added.

    uniform     every multiple of a step is (or may as well be) an edge      1 division
    table       the edges of a composite period, searched by halving       log2(edges) comparisons
    scattered   few progressions that have no short common period            1 division each
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from weft.algebra.windows import Window
from weft.weave.progressions import Progression, bounded_lcm, needed

# A longer table would cost more to ship with every plan than it saves in slices.
MAX_TABLE_EDGES = 4096
# Extra edges only cost partial rows: up to this many times the needed edges, arithmetic beats a table.
UNIFORM_SLACK = 2
# Past this many divisions a row, slices that are finer than needed are the lesser evil...
MAX_SCATTERED = 16
# ...unless they are so much finer that hardly two rows would share a slice: then up to this many divisions are.
FAR_FINER, MOST_SCATTERED = 1_000, 64


@dataclass(frozen=True)
class Slicing:
    """The edges of a tree: `progressions` say what they are, the rest how the slice of a moment is computed.

    uniform: period is the step, table is empty, offset the residue. table: edges within [0, period), shifted by
    offset. scattered: period is zero.
    """

    progressions: tuple[Progression, ...]
    period: int
    offset: int = 0
    table: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        if not self.period:
            return "scattered"
        return "table" if self.table else "uniform"

    def covers(self, window: Window) -> bool:
        """Whether every start and end of the window is an edge."""
        return all(self._covers(progression) for progression in window.progressions())

    def floor(self, moment: int) -> int:
        """The start of the slice that holds this moment."""
        if self.kind == "scattered":
            return max((moment - residue) // step * step + residue for step, residue in self.progressions)
        base = (moment - self.offset) // self.period * self.period + self.offset
        if self.kind == "uniform":
            return base
        return base + self.table[bisect_right(self.table, moment - base) - 1]

    def next_edge(self, moment: int) -> int:
        """The first edge after this moment: the end of the slice that holds it."""
        if self.kind == "scattered":
            return min((moment - residue) // step * step + residue + step for step, residue in self.progressions)
        base = (moment - self.offset) // self.period * self.period + self.offset
        if self.kind == "table":
            later = bisect_right(self.table, moment - base)
            if later < len(self.table):
                return base + self.table[later]
        return base + self.period

    def mean_length(self) -> int:
        """How long a slice is on average, in microseconds, at least 1."""
        if self.kind == "scattered":
            return max(1, round(1 / sum(1 / step for step, _ in self.progressions)))
        return max(1, self.period // max(1, len(self.table)))

    def _covers(self, wanted: Progression) -> bool:
        step, residue = wanted
        if self.kind == "uniform":
            return step % self.period == 0 and (residue - self.offset) % self.period == 0
        return any(step % have == 0 and (residue - at) % have == 0 for have, at in self.progressions)


def slicing(windows: Iterable[Window]) -> Slicing | None:
    """The slicing that serves all these windows, or None for no windows.

    >>> from datetime import timedelta
    >>> from weft.algebra.windows import Sliding
    >>> s = lambda n: timedelta(seconds=n)
    >>> ten, fifteen = Sliding(range=s(20), slide=s(10)), Sliding(range=s(15), slide=s(15))
    >>> slicing([ten]).kind, slicing([ten, fifteen]).period // 1_000_000
    ('uniform', 5)
    """
    progressions = needed({progression for window in windows for progression in window.progressions()})
    if not progressions:
        return None
    offset = progressions[0][1]
    step = gcd(*(part for length, residue in progressions for part in (length, residue - offset)))
    uniform = Slicing(progressions, step, offset % step)
    period = _period(progressions)
    if period:
        edges = _edges(progressions, period, offset)
        if period // step <= UNIFORM_SLACK * len(edges):
            return uniform
        if len(edges) <= MAX_TABLE_EDGES:
            return Slicing(progressions, period, offset, edges)
    return uniform if _fine_enough(progressions, step) else Slicing(progressions, 0)


def _period(progressions: tuple[Progression, ...]) -> int:
    """The period after which all edges repeat, or zero where a table of them would be too long.

    The whole of a period that nobody needs is never computed: of a few hundred slides it has thousands of digits.
    """
    shortest = min(length for length, _ in progressions)
    period = bounded_lcm((length for length, _ in progressions), 2 * MAX_TABLE_EDGES * shortest)
    return period if sum(period // length for length, _ in progressions) <= 2 * MAX_TABLE_EDGES else 0


def _fine_enough(progressions: tuple[Progression, ...], step: int) -> bool:
    """Whether even slices are the better choice where there is no table: how many times finer than needed are they?"""
    finer = 1 / (step * sum(1 / length for length, _ in progressions))
    if finer <= UNIFORM_SLACK or len(progressions) > MOST_SCATTERED:
        return True
    return len(progressions) > MAX_SCATTERED and finer <= FAR_FINER


def _edges(progressions: tuple[Progression, ...], period: int, offset: int) -> tuple[int, ...]:
    """The edges of a period as distances from its beginning, which is an edge itself."""
    return tuple(
        sorted(
            {
                (residue - offset) % step + turn * step
                for step, residue in progressions
                for turn in range(period // step)
            }
        )
    )
