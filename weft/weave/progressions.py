"""Arithmetic progressions: the edges of a window are a progression, or two where its range is not whole slides.

A set of progressions stands for the union of their members. Everything here is exact; bitmaps are integers, a bit
for each moment, so that union, intersection and counting run at the speed of long-number arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd

# Step and residue.
Progression = tuple[int, int]


def needed(progressions: Iterable[Progression]) -> tuple[Progression, ...]:
    """The progressions that are not contained in another, in order of their steps.

    >>> needed([(4, 0), (12, 8), (12, 9), (4, 0)])
    ((4, 0), (12, 9))
    """
    residues = by_step(progressions)
    minimal: dict[int, set[int]] = {}
    for step in sorted(residues):
        left = residues[step]
        for finer, held in minimal.items():
            if step % finer == 0:
                left = {residue for residue in left if residue % finer not in held}
        if left:
            minimal[step] = left
    return tuple((step, residue) for step in minimal for residue in sorted(minimal[step]))


def by_step(progressions: Iterable[Progression]) -> dict[int, set[int]]:
    """The residues of every step."""
    residues: dict[int, set[int]] = {}
    for step, residue in progressions:
        residues.setdefault(step, set()).add(residue)
    return residues


def scaled(progressions: tuple[Progression, ...]) -> tuple[int, tuple[Progression, ...]]:
    """The largest unit in which steps and distances are whole, and the same progressions in that unit, moved to zero.

    >>> scaled(((6, 1), (10, 3)))
    (2, ((3, 0), (5, 1)))
    """
    origin = progressions[0][1]
    unit = gcd(*(part for step, residue in progressions for part in (step, residue - origin)))
    return unit, tuple((step // unit, (residue - origin) // unit % (step // unit)) for step, residue in progressions)


def common(left: Progression, right: Progression) -> Progression | None:
    """The members of both, again a progression, or None where they never meet.

    >>> common((9, 3), (6, 0)), common((4, 0), (6, 1))
    ((18, 12), None)
    """
    (step, residue), (length, start) = left, right
    shared = gcd(step, length)
    if (start - residue) % shared:
        return None
    turns = (start - residue) // shared * pow(step // shared, -1, length // shared) % (length // shared)
    joint = step // shared * length
    return joint, (residue + step * turns) % joint


def bounded_lcm(numbers: Iterable[int], limit: int) -> int:
    """The least common multiple, or zero when it is over the limit: it is not computed to its end then.

    >>> bounded_lcm([4, 6], 100), bounded_lcm(range(5, 25), 10**9)
    (12, 0)
    """
    product = 1
    for number in numbers:
        product = product // gcd(product, number) * number
        if product > limit:
            return 0
    return product


def repeat_bits(bits: int, width: int, times: int) -> int:
    """Repeat a bitmap of this width `times` times.

    >>> bin(repeat_bits(0b101, 3, 3))
    '0b101101101'
    """
    result, filled = 0, 0
    while times:
        if times & 1:
            result |= bits << filled
            filled += width
        times >>= 1
        if times:
            bits |= bits << width
            width *= 2
    return result


def bitmap(progressions: Iterable[Progression], period: int) -> int:
    """A bit for every moment of a period, set where a member is; every step divides the period.

    >>> bin(bitmap([(3, 0), (2, 1)], 6))
    '0b101011'
    """
    bits = 0
    for step, residues in by_step(progressions).items():
        bits |= repeat_bits(sum(1 << residue for residue in residues), step, period // step)
    return bits


def total(parts: Iterable[Fraction]) -> Fraction:
    """The sum of fractions, by halves: in sequence, every step would carry the long denominators of all."""
    left = list(parts) or [Fraction(0)]
    while len(left) > 1:
        left = [sum(left[index : index + 2], Fraction(0)) for index in range(0, len(left), 2)]
    return left[0]
