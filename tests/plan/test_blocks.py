"""The cover of a window: it tiles the window, uses only blocks that are there, and is short."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.blocks import blocks_in
from weft.plan.blocks import FAN_OUT, cover, due_blocks, span

LEVELS = st.lists(st.integers(-500, 3000), min_size=0, max_size=5)


@given(st.integers(-1000, 1000), st.integers(1, 20_000), st.integers(1, 9), LEVELS, st.integers(-2000, 30_000))
def test_the_pieces_tile_the_window(start: int, length: int, unit: int, heights: list[int], sealed: int) -> None:
    pieces = cover(start, start + length, unit=unit, heights=heights, sealed=sealed)
    assert pieces[0].start == start and pieces[-1].end == start + length
    assert all(one.end == two.start for one, two in zip(pieces, pieces[1:], strict=False))
    for piece in pieces:
        if piece.level:
            assert piece.start % span(unit, piece.level) == 0 == piece.end % span(unit, piece.level)
            assert piece.end <= sealed and piece.start >= heights[piece.level - 1]


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_long_window_reads_logarithmically_many_blocks(start: int, length: int) -> None:
    levels = 12
    pieces = cover(start, start + length, unit=1, heights=[-(2**40)] * levels, sealed=2**40)
    slices = sum(piece.end - piece.start for piece in pieces if piece.level == 0)
    bound = 2 * (FAN_OUT - 1) * (math.log(length, FAN_OUT) + 1)
    assert slices + blocks_in(pieces, unit=1) <= bound


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 5000), st.lists(st.integers(1, 700), min_size=1, max_size=30))
def test_sealing_step_by_step_builds_every_block_once(level: int, unit: int, height: int, steps: list[int]) -> None:
    sealed, built = height, []
    for step in steps:
        due = due_blocks(level, unit=unit, height=height, sealed=sealed, new_sealed=sealed + step)
        if due is not None:
            built += list(range(due[0], due[1], span(unit, level)))
        sealed += step
    length = span(unit, level)
    first = -(-height // length) * length
    assert built == list(range(first, sealed // length * length, length))
