"""Counting common edges as the paper does it: by comparing, or by probing a bitmap, and in which order.

`find_common` does the work of Section 8 step by step, for trees as small as its examples. The optimizer has its rates
from elsewhere (`Pricing`), so `ProbingWork` only adds up the steps that the counting would have taken: tests hold the
sums to the steps that `find_common` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import lcm

from weft.algebra.windows import MICROSECOND, Sliding, micros
from weft.weave.edges import SECOND, Weavable, members, progressions
from weft.weave.operations import Operations
from weft.weave.pricing import ONE, Bundle, Pricing

WORD = 64


def find_common(
    left: Weavable,
    right: Weavable,
    *,
    edge_bitmap: bool = True,
    probing_order: bool = True,
    operations: Operations | None = None,
) -> tuple[timedelta, ...]:
    """The common edges of two trees in their composite slide.

    >>> s = lambda n: timedelta(seconds=n)
    >>> five, three = Sliding(range=s(12), slide=s(5)), Sliding(range=s(3), slide=s(3))
    >>> [edge.seconds for edge in find_common(five, three)]
    [12, 15]
    """
    counted = operations or Operations()
    probed, probing = tuple(members(left)), tuple(members(right))
    slide = lcm(*(micros(window.slide) for window in (*probed, *probing)))
    if probing_order and len(_moments(probing, slide)) > len(_moments(probed, slide)):
        probed, probing = probing, probed
    common = _probe(probed, probing, slide, counted) if edge_bitmap else _compare(probed, probing, slide, counted)
    return tuple((moment or slide) * MICROSECOND for moment in sorted(common, key=lambda moment: moment or slide))


def _moments(windows: Sequence[Sliding], slide: int) -> set[int]:
    """The edges of a tree in [0, slide)."""
    return {moment for step, residue in progressions(windows) for moment in range(residue, slide, step)}


def _compare(probed: Sequence[Sliding], probing: Sequence[Sliding], slide: int, counted: Operations) -> set[int]:
    """Compare every edge of every window with both fragments of every window on the other side (Example 4)."""
    common: set[int] = set()
    for window in probing:
        for moment in _moments([window], slide):
            for other in probed:
                step, start = micros(other.slide), micros(other.start)
                counted.comparisons += 2
                if (moment - start) % step == 0 or (moment - start - micros(other.range)) % step == 0:
                    common.add(moment)
    return common


def _probe(probed: Sequence[Sliding], probing: Sequence[Sliding], slide: int, counted: Operations) -> set[int]:
    """Look up every edge of a tree in the bitmap of the other tree, which repeats after its own composite slide."""
    period = lcm(*(micros(window.slide) for window in probed))
    held = _moments(probed, period)
    common: set[int] = set()
    for moment in _moments(probing, slide):
        counted.probes += 1
        if moment % period in held:
            common.add(moment)
    return common


@dataclass(frozen=True)
class Size:
    """A tree as far as counting cares: composite slide, edges in it, the same by query, and queries."""

    slide: int
    edges: int
    listed: int
    queries: int


class ProbingWork:
    """Adds up what counting common edges takes while a plan is searched."""

    def __init__(
        self, pricing: Pricing, operations: Operations, *, edge_bitmap: bool = True, probing_order: bool = True
    ) -> None:
        self._pricing = pricing
        self.operations = operations
        self._edge_bitmap = edge_bitmap
        self._probing_order = probing_order
        self._sizes: dict[frozenset[int], Size] = {}

    def size(self, bundle: Bundle) -> Size:
        size = self._sizes.get(bundle.strands)
        if size is None:
            windows = [self._pricing.windows[index] for index in self._pricing.window_indexes(bundle)]
            slide = lcm(*(micros(window.slide) for window in windows))
            edges = round_to_whole(bundle.rate * slide, ONE * SECOND)
            listed = sum(slide // step for window in windows for step, _ in window.progressions())
            size = self._sizes[bundle.strands] = Size(slide, edges, listed, len(windows))
        return size

    def evaluated(self, left: Bundle, right: Bundle) -> None:
        """Count the computation of the gain of two trees."""
        self.operations.evaluations += 1
        probed, probing, slide = self._roles(left, right)
        if self._edge_bitmap:
            self.operations.probes += probing.edges * (slide // probing.slide)
        else:
            self.operations.comparisons += 2 * probed.queries * probing.listed * (slide // probing.slide)

    def merged(self, left: Bundle, right: Bundle) -> None:
        """Count a merge of two trees: the edges of the probing tree are put into the bitmap of the probed tree."""
        self.operations.merges += 1
        if self._edge_bitmap:
            _, probing, slide = self._roles(left, right)
            self.operations.hashed += probing.edges * (slide // probing.slide)
            self.operations.copied += -(-slide // (WORD * max(1, self._pricing.unit)))

    def _roles(self, left: Bundle, right: Bundle) -> tuple[Size, Size, int]:
        """The tree that is probed, the tree that probes, and the composite slide of both."""
        probed, probing = self.size(left), self.size(right)
        slide = lcm(probed.slide, probing.slide)
        if self._probing_order and probing.edges * probed.slide > probed.edges * probing.slide:
            probed, probing = probing, probed
        return probed, probing, slide


def round_to_whole(part: int, whole: int) -> int:
    """Division to the nearest whole number.

    >>> round_to_whole(7, 2), round_to_whole(-1, 4)
    (4, 0)
    """
    return (2 * part + whole) // (2 * whole)
