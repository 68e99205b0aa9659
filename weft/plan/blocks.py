"""Blocks: closed slices merged ahead of time, so that a long window reads O(log n) of them.

Time is cut into aligned spans of `unit * FAN_OUT**level`. A block of a level holds, for every group, the merged rows of
all slices that start in its span; slices themselves are level 0. A window is covered by the largest blocks that lie
inside it, with slices at both ragged ends: at most 2 * (FAN_OUT - 1) blocks a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FAN_OUT = 4
MAX_LEVEL = 12


@dataclass(frozen=True)
class Piece:
    """The blocks of a level that start in [start, end)."""

    level: int
    start: int
    end: int


def span(unit: int, level: int) -> int:
    """How long a block of this level is."""
    return int(unit * FAN_OUT**level)


def floor_to(moment: int, length: int) -> int:
    """The last multiple of a length at or before a moment."""
    return moment // length * length


def ceil_to(moment: int, length: int) -> int:
    """The first multiple of a length at or after a moment."""
    return -(-moment // length) * length


def useful_levels(unit: int, longest_range: int) -> int:
    """The highest level whose blocks can lie inside a window this long.

    >>> useful_levels(5, 19), useful_levels(5, 20), useful_levels(5, 100)
    (0, 1, 2)
    """
    level = 0
    while level < MAX_LEVEL and span(unit, level + 1) <= longest_range:
        level += 1
    return level


def cover(start: int, end: int, *, unit: int, heights: Sequence[int], sealed: int) -> tuple[Piece, ...]:
    """The pieces of [start, end), oldest first.

    `heights[level - 1]` is the moment from which blocks of a level are there; none is there after `sealed`.

    >>> [(piece.level, piece.start, piece.end) for piece in cover(3, 35, unit=1, heights=(0, 0), sealed=40)]
    [(0, 3, 4), (1, 4, 16), (2, 16, 32), (0, 32, 35)]
    """
    closed = max(start, min(end, sealed))
    pieces = list(_cover(start, closed, unit, heights, len(heights)))
    if closed < end:
        pieces.append(Piece(0, closed, end))
    return tuple(pieces)


def _cover(start: int, end: int, unit: int, heights: Sequence[int], level: int) -> Iterator[Piece]:
    if start >= end:
        return
    if level == 0:
        yield Piece(0, start, end)
        return
    length = span(unit, level)
    first, last = ceil_to(max(start, heights[level - 1]), length), floor_to(end, length)
    if first >= last:
        yield from _cover(start, end, unit, heights, level - 1)
        return
    yield from _cover(start, first, unit, heights, level - 1)
    yield Piece(level, first, last)
    yield from _cover(last, end, unit, heights, level - 1)


def due_blocks(level: int, *, unit: int, height: int, sealed: int, new_sealed: int) -> tuple[int, int] | None:
    """The spans of a level that end in (sealed, new_sealed], as [from, to): the spans that sealing completes."""
    length = span(unit, level)
    first = max(ceil_to(height, length), floor_to(max(sealed, height), length))
    last = floor_to(new_sealed, length)
    return (first, last) if first < last else None
