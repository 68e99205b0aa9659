"""Edges of windows and of trees of windows: where fragments end, how many a second, how many are common to two trees.

Every function takes windows, trees (anything that iterates over windows), or several of either: the edges of a tree
are the union of its windows' edges. A window with range r and slide s has an edge at every multiple of s and, where r
is not whole slides, at every r mod s after such an edge (paired windows: at most two fragments a slide).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from fractions import Fraction
from math import lcm

from weft.algebra.windows import MICROSECOND, Sliding, micros
from weft.weave.density import Density, density
from weft.weave.progressions import Progression, total

Weavable = Sliding | Iterable[Sliding]

SECOND = 1_000_000
# More edges than this are of no use to a reader, and would not fit the memory of a careful process.
MOST_EDGES = 1 << 20


def members(*woven: Weavable) -> Iterator[Sliding]:
    """The single windows of windows and trees."""
    for weavable in woven:
        if isinstance(weavable, Sliding):
            yield weavable
        else:
            yield from weavable


def progressions(*woven: Weavable) -> frozenset[Progression]:
    """All edges as arithmetic progressions, in microseconds."""
    return frozenset(progression for window in members(*woven) for progression in window.progressions())


def composite_slide(*woven: Weavable) -> timedelta:
    """The least common multiple of all slides; an OverflowError where it is longer than any duration.

    >>> s = lambda n: timedelta(seconds=n)
    >>> composite_slide(Sliding(range=s(12), slide=s(9)), Sliding(range=s(10), slide=s(6))) == s(18)
    True
    """
    return lcm(*(micros(window.slide) for window in members(*woven))) * MICROSECOND


def edges(*woven: Weavable) -> tuple[timedelta, ...]:
    """The edges of a composite slide, the end of the slide included and its beginning not.

    >>> [edge.seconds for edge in edges(Sliding(range=timedelta(seconds=12), slide=timedelta(seconds=9)))]
    [3, 9]
    """
    windows = tuple(members(*woven))
    period = lcm(*(micros(window.slide) for window in windows))
    of_windows = progressions(windows)
    if sum(period // step for step, _ in of_windows) > MOST_EDGES:
        raise ValueError(f"the composite slide has more than {MOST_EDGES:,} edges; edge_rate() counts them unlisted")
    moments = {residue + turn * step for step, residue in of_windows for turn in range(period // step)}
    return tuple((moment or period) * MICROSECOND for moment in sorted(moments, key=lambda moment: moment or period))


def edge_rate_bounds(*woven: Weavable) -> Density:
    """Edges a second, with the bounds of the error where it is not exact."""
    return density(progressions(*woven)).scaled_by(Fraction(SECOND))


def edge_rate(*woven: Weavable) -> Fraction:
    """Edges a second: exact where that is cheap, else the guess of `edge_rate_bounds`.

    >>> edge_rate(Sliding(range=timedelta(seconds=12), slide=timedelta(seconds=9)))
    Fraction(2, 9)
    """
    return edge_rate_bounds(*woven).value


def overlap_factor(*woven: Weavable) -> Fraction:
    """Final aggregations on every fragment: the sum of range over slide (Eq. 2).

    >>> overlap_factor(Sliding(range=timedelta(seconds=10), slide=timedelta(seconds=4)))
    Fraction(5, 2)
    """
    # summed by slide first, so that a thousand windows of ten slides cost ten additions of fractions
    ranges: dict[int, int] = {}
    for window in members(*woven):
        slide = micros(window.slide)
        ranges[slide] = ranges.get(slide, 0) + micros(window.range)
    return total(Fraction(length, slide) for slide, length in ranges.items())


def weaveability(left: Weavable, right: Weavable) -> Fraction:
    """Common edges over all edges of two windows or trees (Eq. 4): 1 when sharing adds no edge to either.

    >>> s = lambda n: timedelta(seconds=n)
    >>> weaveability(Sliding(range=s(12), slide=s(9)), Sliding(range=s(10), slide=s(6)))
    Fraction(1, 4)
    """
    left_windows, right_windows = tuple(members(left)), tuple(members(right))
    together = edge_rate(left_windows, right_windows)
    return (edge_rate(left_windows) + edge_rate(right_windows) - together) / together
