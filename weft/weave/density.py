"""How dense the union of arithmetic progressions is: exact where that is cheap, else between two bounds.

Counting the members in a composite period is hopeless as soon as steps have few factors in common. Four rules make
most sets small enough all the same, and none of them loses anything:

    contained   a progression inside another counts for nothing
    common unit steps and distances may be divided by what divides all of them
    coprime     sets whose steps share no factor are independent: what both miss is the product of what each misses
    split       members are told apart by their remainder by a factor; only remainders that a step with this factor
                asks for need looking at, all others see the set without these steps

What remains within `LONGEST_PERIOD` is counted in a bitmap. A set that would take more than `BRANCHES` of these is
bounded instead: its densest part is counted, the rest is added by inequalities that need only its pairs. Time and
memory are bounded by the constants below, whatever the steps are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd

from weft.weave.progressions import Progression, bitmap, bounded_lcm, by_step, common, needed, scaled, total

# A bitmap of 64 KiB. The composite slide of all slides from 2 to 15 is 360,360.
LONGEST_PERIOD = 1 << 19
# How many bitmaps an exact count may take.
BRANCHES = 256
# How often a set is split before its parts are bounded; each part is bounded better than the whole.
BOUNDED_BRANCHES = 8
# The bitmap of the densest part when the rest is bounded: it is read once for every pair.
SHORT_PERIOD = 1 << 16
# Finding factors is quadratic in the number of different steps.
MOST_STEPS = 96
# So many of the rest are looked at in pairs, the densest first.
MOST_PAIRED = 96


class _TooWide(Exception):
    """An exact count would take too many branches."""


@dataclass(frozen=True)
class Density:
    """`value` is the best guess, and the truth is from `low` to `high`; all three are equal where it is exact."""

    low: Fraction
    value: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def error(self) -> Fraction:
        """How far off the value can be at most."""
        return max(self.high - self.value, self.value - self.low)

    def scaled_by(self, factor: Fraction) -> Density:
        return Density(self.low * factor, self.value * factor, self.high * factor)

    def plus(self, other: Density) -> Density:
        return Density(self.low + other.low, self.value + other.value, self.high + other.high)

    def either(self, other: Density) -> Density:
        """The density of the union with an independent set."""
        return Density(
            1 - (1 - self.low) * (1 - other.low),
            1 - (1 - self.value) * (1 - other.value),
            1 - (1 - self.high) * (1 - other.high),
        )


def exactly(value: Fraction) -> Density:
    return Density(value, value, value)


EMPTY = exactly(Fraction(0))


def density(progressions: Iterable[Progression], *, branches: int = BRANCHES) -> Density:
    """The share of all whole numbers that is in any of the progressions.

    >>> density([(9, 0), (9, 3), (6, 0), (6, 4)]).value
    Fraction(4, 9)
    """
    return _of_needed(needed(progressions), branches)


@lru_cache(maxsize=1024)
def _of_needed(progressions: tuple[Progression, ...], branches: int) -> Density:
    union = EMPTY
    for part in _independent_parts(progressions):
        try:
            exact_or_not = _of_part(part, branches, exact=True)
        except _TooWide:
            exact_or_not = _of_part(part, BOUNDED_BRANCHES, exact=False)
        union = union.either(exact_or_not)
    return union


def _of_parts(progressions: tuple[Progression, ...], branches: int, exact: bool) -> Density:
    union = EMPTY
    for part in _independent_parts(progressions):
        union = union.either(_of_part(part, branches, exact))
    return union


def _independent_parts(progressions: tuple[Progression, ...]) -> list[tuple[Progression, ...]]:
    """Split progressions into parts whose steps have no factor in common with the steps of another part."""
    steps = sorted(by_step(progressions))
    if len(steps) > MOST_STEPS:
        return [progressions]
    products: list[int] = []
    for step in steps:
        touching = [product for product in products if gcd(product, step) > 1]
        products = [product for product in products if gcd(product, step) == 1]
        for product in touching:
            step *= product  # noqa: PLW2901 - the step stands for its whole part from here on
        products.append(step)
    parts: dict[int, list[Progression]] = {}
    for progression in progressions:
        owner = next(product for product in products if product % progression[0] == 0)
        parts.setdefault(owner, []).append(progression)
    return [tuple(part) for part in parts.values()]


def _of_part(part: tuple[Progression, ...], branches: int, exact: bool) -> Density:
    """The density of a part within this many branches; past them, _TooWide if it has to be exact, else bounds."""
    unit, part = scaled(part)
    if unit > 1:
        return _of_parts(needed(part), branches, exact).scaled_by(Fraction(1, unit))
    steps = by_step(part)
    if len(steps) == 1:
        return exactly(Fraction(len(part), part[0][0]))
    period = bounded_lcm(steps, LONGEST_PERIOD)
    if period:
        return exactly(Fraction(bitmap(part, period).bit_count(), period))
    factor = _cheapest_factor(part, steps) if len(steps) <= MOST_STEPS else 0
    remainders = {residue % factor for step, residue in part if step % factor == 0} if factor else set()
    if factor and len(remainders) < branches:
        return _split(part, factor, remainders, branches // (len(remainders) + 1), exact)
    if exact:
        raise _TooWide
    return bounds(part)


def _split(part: tuple[Progression, ...], factor: int, remainders: set[int], branches: int, exact: bool) -> Density:
    """Add up the densities of all remainders by the factor: a member is factor * n + remainder, and n is left over."""
    free = tuple((step, residue) for step, residue in part if step % factor)
    unseen = Fraction(factor - len(remainders), factor)
    sum_of_remainders = _of_parts(needed(free), branches, exact).scaled_by(unseen) if unseen else EMPTY
    for remainder in sorted(remainders):
        inside = [
            (step // factor, (residue - remainder) // factor % (step // factor))
            for step, residue in part
            if step % factor == 0 and residue % factor == remainder
        ]
        beside = [(step, (residue - remainder) * pow(factor, -1, step) % step) for step, residue in free]
        seen = _of_parts(needed([*inside, *beside]), branches, exact)
        sum_of_remainders = sum_of_remainders.plus(seen.scaled_by(Fraction(1, factor)))
    return sum_of_remainders


def _cheapest_factor(part: tuple[Progression, ...], steps: Iterable[int]) -> int:
    """The factor that leaves the fewest remainders to look at; of these, the largest.

    Every step is a multiple of a factor or has no factor in common with it; so a factor may be raised to the power that
    all its steps have, and a slide of a million microseconds is split once and not six times.
    """

    def price(factor: int) -> tuple[int, int]:
        return len({residue % factor for step, residue in part if step % factor == 0}), -factor

    return min((_raised(factor, steps) for factor in coprime_base(steps)), key=price)


def _raised(factor: int, steps: Iterable[int]) -> int:
    power = factor
    multiples = [step for step in steps if step % factor == 0]
    while all(step % (power * factor) == 0 for step in multiples):
        power *= factor
    return power


def coprime_base(numbers: Iterable[int]) -> list[int]:
    """Numbers without common factors, of whose powers all the numbers are products.

    >>> sorted(coprime_base([12, 18, 35]))
    [2, 3, 35]
    """
    base: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for index, known in enumerate(base):
            shared = gcd(number, known)
            if shared > 1:
                del base[index]
                waiting += [part for part in (shared, number // shared, known // shared) if part > 1]
                break
        else:
            base.append(number)
    return base


def bounds(part: tuple[Progression, ...]) -> Density:
    """Count the densest part that has a short period, and bound what the rest adds by its sum and its pairs.

    With S1 the sum and S2 the sum of all pairs, k events fill at most S1 - 2 S2 / k, and at least the bound of Dawson
    and Sankoff: 2 S1 / (m + 1) - 2 S2 / (m (m + 1)) for any whole m. The guess between the bounds takes the events as
    independent.
    """
    period, counted, rest = _densest(part)
    bits = bitmap(counted, period)
    base = Fraction(bits.bit_count(), period)
    combs: dict[Progression, Fraction] = {}

    def outside(progression: Progression) -> Fraction:
        """The density of a progression's members that the bitmap does not hold."""
        step, residue = progression
        shared = gcd(step, period)
        key = (shared, residue % shared)
        if key not in combs:
            held = (bits & bitmap([key], period)).bit_count()
            combs[key] = 1 - Fraction(held * shared, period)
        return combs[key] / step

    added = [outside(progression) for progression in rest]
    most = min(total(added), 1 - base)
    least = max(added, default=Fraction(0))
    paired = rest[:MOST_PAIRED]
    sum_of_paired = total(added[:MOST_PAIRED])
    meetings = (common(left, right) for index, left in enumerate(paired) for right in paired[:index])
    sum_of_pairs = total(outside(both) for both in meetings if both)
    if sum_of_paired:
        depth = 1 + int(2 * sum_of_pairs / sum_of_paired)
        least = max(least, 2 * (sum_of_paired * depth - sum_of_pairs) / (depth * (depth + 1)))
    if paired and len(paired) == len(rest):
        most = min(most, sum_of_paired - 2 * sum_of_pairs / len(paired))
    guess = _independent(added, 1 - base)
    return Density(base + least, base + min(max(guess, least), most), base + most)


def _densest(part: tuple[Progression, ...]) -> tuple[int, list[Progression], list[Progression]]:
    """Choose the progressions to count: small steps first, as long as their common period is short."""
    period, counted, rest = 1, [], []
    for progression in part:
        longer = bounded_lcm((period, progression[0]), SHORT_PERIOD)
        if longer:
            period = longer
            counted.append(progression)
        else:
            rest.append(progression)
    return period, counted, rest


# Guesses need no more digits than this; exact products of thousands of fractions would be pages long.
DIGITS = 1 << 64


def _independent(parts: list[Fraction], room: Fraction) -> Fraction:
    """How much of the room is filled by parts that fall into it independently of each other."""
    if not room:
        return Fraction(0)
    left = DIGITS
    for part in parts:
        left -= int(left * part / room)
    return room * Fraction(DIGITS - left, DIGITS)
