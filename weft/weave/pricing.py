"""Prices of trees while a plan is searched: the same costs as a plan has, in whole numbers, and fast.

Windows with the same edges are a strand: sharing them adds no edge, so no plan is worse for keeping them together
(moved to whichever of two trees has fewer edges, a window costs less there and adds nothing). The search decides
about strands. Prices are fixed-point numbers with 64 binary digits after the point, so sums and differences are exact
and a plan does not depend on the order in which prices were added up.

Where edges come from, in order of preference:

    counted     the composite slide of all windows is short: a strand is a bitmap over it, a tree the union of bitmaps,
                and a price the count of its bits. Exact, some microseconds
    derived     it is not, and strands are few: prices come from `density`. Exact where that is cheap, milliseconds
    sampled     it is not, and strands are many: bitmaps over a stretch of time that is long enough to show how often
                edges coincide. Strands alone are exact; the error of a tree is that of a sample
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd

from weft.algebra.windows import Sliding, micros
from weft.weave.density import LONGEST_PERIOD, density
from weft.weave.edges import SECOND
from weft.weave.plans import Rate, as_fraction
from weft.weave.progressions import Progression, bitmap, bounded_lcm, repeat_bits

POINT = 64
ONE = 1 << POINT
# A stretch of time that is sampled: its length in units, and where it begins. All windows without an offset have an
# edge at the epoch, so a stretch that began there would not be like any other.
STRETCH = 1 << 17
ORIGIN = 0x9E3779B97F4A7C15
# Strands that may have prices from `density`.
MOST_DERIVED = 16
# Units of time to sample in, longest first; the first is taken in which all strands but one in so many are whole.
SAMPLED_UNITS = (3_600_000_000, 60_000_000, *(10**exponent for exponent in range(6, -1, -1)))
ODD_STRANDS = 20
# Remembered prices without a bitmap; forgotten all at once, so that a long-lived search stays small.
MOST_REMEMBERED = 1 << 16


@dataclass
class Strand:
    """Windows with the same edges, by index, and how many final aggregations they make on every fragment."""

    progressions: frozenset[Progression]
    window_indexes: list[int] = field(default_factory=list)
    overlap: int = 0


@dataclass(frozen=True, slots=True)
class Bundle:
    """Strands in a tree: fragments a second and final aggregations on each, both with the point.

    The rest is what it was computed from: a bitmap, of which universe, and the edges and edge rates of all strands,
    each by itself.
    """

    strands: frozenset[int]
    rate: int
    overlap: int
    bits: int = 0
    listed: int = 0
    summed: int = 0
    universe: int = 0


class Pricing:
    """The strands of a set of windows, and the price of any tree made of them."""

    def __init__(self, windows: Iterable[Sliding] = (), *, rate: Rate, twins: bool = True) -> None:
        """`twins=False` makes a strand of every window, also where edges are the same."""
        self.rate = as_fraction(rate)
        self.row_cost = int(self.rate * ONE)
        self.windows: list[Sliding] = []
        self.strands: list[Strand] = []
        self.strand_of: list[int] = []
        self._twins = twins
        # the slide, the first residue and the second residue, if there is any
        self._classes: list[tuple[int, int, int | None]] = []
        self._known: dict[frozenset[Progression], int] = {}
        self._rates: dict[frozenset[int], int] = {}
        # the universe: the unit of time and the length of bitmaps, 0 where there are none
        self.unit, self.period, self.universe, self.sampled = 0, 1, 0, False
        self._bits: dict[int, int] = {}
        for window in windows:
            self.add(window)

    def add(self, window: Sliding) -> int:
        """Add a window; its strand."""
        index = len(self.windows)
        self.windows.append(window)
        edges = window.progressions()
        number = self._known.get(edges) if self._twins else None
        if number is None:
            number = len(self.strands)
            self.strands.append(Strand(edges))
            self._known[edges] = number
            (step, first), *more = sorted(edges)
            self._classes.append((step, first, more[0][1] if more else None))
            self._extend(edges)
        strand = self.strands[number]
        strand.window_indexes.append(index)
        strand.overlap += overlap_of(window)
        self.strand_of.append(number)
        return number

    def drop(self, index: int) -> int:
        """Take a window out; its strand, which may have none left."""
        strand = self.strands[self.strand_of[index]]
        strand.window_indexes.remove(index)
        strand.overlap -= overlap_of(self.windows[index])
        return self.strand_of[index]

    def _extend(self, edges: frozenset[Progression]) -> None:
        """Widen the universe to hold these edges; bitmaps of the old universe are made anew when they are asked for."""
        count, before = len(self.strands), (self.unit, self.period, self.sampled)
        if self.period and not self.sampled:
            self.unit = gcd(self.unit, *(part for progression in edges for part in progression))
            known = before[1] * before[0] // self.unit or 1
            self.period = bounded_lcm((known, *(step // self.unit for step, _ in edges)), LONGEST_PERIOD)
        # the unit of a sample is chosen anew only now and then, so that a stream of new windows costs little
        if count & (count - 1) == 0 if self.sampled else not self.period and count > MOST_DERIVED:
            self._sample()
        if (self.unit, self.period, self.sampled) != before:
            self.universe += 1
            self._bits.clear()

    def _sample(self) -> None:
        """From now on bitmaps show a stretch of time, in the longest unit that suits nearly all strands."""
        units = [gcd(*(part for edges in strand.progressions for part in edges)) for strand in self.strands]
        odd = len(units) // ODD_STRANDS
        self.sampled, self.period = True, STRETCH
        self.unit = next(unit for unit in SAMPLED_UNITS if sum(own % unit > 0 for own in units) <= odd)

    def bundle(self, strands: Iterable[int]) -> Bundle:
        """A tree of these strands."""
        chosen = frozenset(strands)
        overlap = sum(self.strands[strand].overlap for strand in chosen)
        if not self.period:
            return Bundle(chosen, self._derived(chosen), overlap, universe=self.universe)
        bits = listed = summed = 0
        for strand in chosen:
            own = self._bitmap(strand)
            bits |= own
            if self.sampled:
                listed += own.bit_count()
                summed += self._own_rate(strand)
        return Bundle(chosen, self._counted(bits, listed, summed), overlap, bits, listed, summed, self.universe)

    def current(self, bundle: Bundle) -> Bundle:
        """The same tree in the universe of now."""
        return bundle if bundle.universe == self.universe else self.bundle(bundle.strands)

    def joint_rate(self, left: Bundle, right: Bundle) -> int:
        """Fragments a second of the merged tree of both."""
        if not self.period:
            return self._derived(left.strands | right.strands)
        left, right = self.current(left), self.current(right)
        return self._counted(left.bits | right.bits, left.listed + right.listed, left.summed + right.summed)

    def join(self, left: Bundle, right: Bundle) -> Bundle:
        """The merged tree of both."""
        strands, overlap = left.strands | right.strands, left.overlap + right.overlap
        if not self.period:
            return Bundle(strands, self._derived(strands), overlap, universe=self.universe)
        left, right = self.current(left), self.current(right)
        bits, listed, summed = left.bits | right.bits, left.listed + right.listed, left.summed + right.summed
        return Bundle(strands, self._counted(bits, listed, summed), overlap, bits, listed, summed, self.universe)

    def common_rates(self, strand: int, others: Iterable[int]) -> list[float]:
        """Common edges a second of a strand with others, in closed form: half a microsecond each.

        Two progressions meet when their distance is a multiple of what their steps share, and then once every common
        multiple of the steps.
        """
        step, first, second = self._classes[strand]
        scale = SECOND / step
        rates = []
        for length, start, end in map(self._classes.__getitem__, others):
            shared = gcd(step, length)
            meetings = int((first - start) % shared == 0)
            if end is not None:
                meetings += (first - end) % shared == 0
            if second is not None:
                meetings += (second - start) % shared == 0
                if end is not None:
                    meetings += (second - end) % shared == 0
            rates.append(meetings * scale * shared / length)
        return rates

    def cost(self, bundle: Bundle) -> int:
        """Aggregations a second of a tree (Eq. 1)."""
        return self.row_cost + (bundle.rate * bundle.overlap >> POINT)

    def gain(self, left: Bundle, right: Bundle) -> int:
        """What merging two trees saves (Eq. 5)."""
        joint = self.joint_rate(left, right) * (left.overlap + right.overlap)
        return self.row_cost + (left.rate * left.overlap + right.rate * right.overlap - joint >> POINT)

    def most_gain(self, left: Bundle, right: Bundle) -> int:
        """A bound on the gain that costs next to nothing: no tree has fewer edges than its parts."""
        lower, higher = (left, right) if left.rate < right.rate else (right, left)
        return self.row_cost - ((higher.rate - lower.rate) * lower.overlap >> POINT)

    def window_indexes(self, bundle: Bundle) -> list[int]:
        """The windows of a tree, by index."""
        return [index for strand in bundle.strands for index in self.strands[strand].window_indexes]

    def _bitmap(self, strand: int) -> int:
        bits = self._bits.get(strand)
        if bits is None:
            edges = self.strands[strand].progressions
            if not self.sampled:
                bits = bitmap([(step // self.unit, residue // self.unit) for step, residue in edges], self.period)
            elif any(part % self.unit for progression in edges for part in progression):
                # an odd strand is taken to have no edge in common with any other
                bits = 0
            else:
                bits = sum(stretch(step // self.unit, residue // self.unit) for step, residue in edges)
            self._bits[strand] = bits
        return bits

    def _own_rate(self, strand: int) -> int:
        edges = self.strands[strand].progressions
        return len(edges) * ONE * SECOND // next(iter(edges))[0]

    def _counted(self, bits: int, listed: int, summed: int) -> int:
        """Edges a second of a bitmap; in a sample, of all edges of all strands as many as differ there."""
        if self.sampled:
            return summed * bits.bit_count() // listed if listed else summed
        return bits.bit_count() * ONE * SECOND // (self.period * self.unit)

    def _derived(self, strands: frozenset[int]) -> int:
        rate = self._rates.get(strands)
        if rate is None:
            if len(self._rates) >= MOST_REMEMBERED:
                self._rates.clear()
            edges = {progression for strand in strands for progression in self.strands[strand].progressions}
            value = density(edges).value * SECOND
            rate = self._rates[strands] = value.numerator * ONE // value.denominator
        return rate


def stretch(step: int, residue: int) -> int:
    """The members of a progression in the sampled stretch, as a bitmap."""
    first = (residue - ORIGIN) % step
    turns = -(-(STRETCH - first) // step) if first < STRETCH else 0
    return repeat_bits(1, step, turns) << first


def overlap_of(window: Sliding) -> int:
    """A window's final aggregations on every fragment, with the point."""
    return micros(window.range) * ONE // micros(window.slide)


def total_cost(pricing: Pricing, bundles: Sequence[Bundle]) -> int:
    """Aggregations a second of a plan (Eq. 3)."""
    return sum(map(pricing.cost, bundles))


def as_number(price: int) -> Fraction:
    """A price without the point."""
    return Fraction(price, ONE)
