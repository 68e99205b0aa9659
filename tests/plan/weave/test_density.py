"""Densities against counting, exact ones and bounds; and no set takes long or much memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import lcm
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.weave.density import _of_needed, bounds, coprime_base, density
from weft.weave.progressions import Progression, bitmap, common, needed, scaled

PROGRESSIONS = st.lists(
    st.integers(1, 18).flatmap(lambda step: st.tuples(st.just(step), st.integers(0, step - 1))), min_size=1, max_size=5
)


def counted(progressions: list[Progression]) -> Fraction:
    period = lcm(*(step for step, _ in progressions))
    hit = bytearray(period)
    for step, residue in progressions:
        hit[residue::step] = b"\1" * len(hit[residue::step])
    return Fraction(sum(hit), period)


@given(PROGRESSIONS)
def test_density_is_what_counting_gives(progressions: list[Progression]) -> None:
    found = density(progressions)
    assert found.exact and found.value == counted(progressions)


@contextmanager
def short_periods() -> Iterator[None]:
    """No bitmap is longer than 8, so that small sets have to be split."""
    density_module = "weft.weave.density"
    _of_needed.cache_clear()
    with patch(f"{density_module}.LONGEST_PERIOD", 8), patch(f"{density_module}.SHORT_PERIOD", 8):
        yield
    _of_needed.cache_clear()


@given(PROGRESSIONS)
def test_splitting_gives_what_counting_gives(progressions: list[Progression]) -> None:
    with short_periods():
        found = density(progressions, branches=10**9)
    assert found.exact and found.value == counted(progressions)


@given(PROGRESSIONS, st.integers(1, 4))
def test_the_truth_is_within_the_bounds(progressions: list[Progression], branches: int) -> None:
    truth = counted(progressions)
    with short_periods():
        both = (bounds(needed(progressions)), density(progressions, branches=branches))
    for found in both:
        assert found.low <= truth <= found.high
        assert found.low <= found.value <= found.high
        assert abs(found.value - truth) <= found.error


def test_bounds_are_not_vacuous() -> None:
    with short_periods():
        found = bounds(((7, 0), (9, 1), (11, 2), (13, 5)))
    assert not found.exact and found.error < Fraction(1, 20)


@given(PROGRESSIONS)
def test_what_is_not_needed_adds_nothing(progressions: list[Progression]) -> None:
    kept = list(needed(progressions))
    assert set(kept) <= set(progressions)
    assert counted(kept) == counted(progressions)
    assert not any(common(one, other) == one for one in kept for other in kept if one != other)


@given(PROGRESSIONS)
def test_scaling_keeps_the_density(progressions: list[Progression]) -> None:
    unit, smaller = scaled(tuple(progressions))
    assert counted(list(smaller)) == unit * counted(progressions)


@given(*[st.integers(1, 40).flatmap(lambda step: st.tuples(st.just(step), st.integers(0, step - 1)))] * 2)
def test_common_members_are_those_of_both(one: Progression, other: Progression) -> None:
    period = lcm(one[0], other[0])
    both = bitmap([one], period) & bitmap([other], period)
    found = common(one, other)
    assert both == (bitmap([found], period) if found else 0)


@given(st.lists(st.integers(1, 10**6), max_size=8))
def test_a_coprime_base_has_no_common_factors_and_makes_all(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(lcm(one, other) == one * other for place, one in enumerate(base) for other in base[:place])
    for number in numbers:
        left = number
        for factor in base:
            while left % factor == 0:
                left //= factor
        assert left == 1


def test_all_slides_from_5_to_24_are_exact_although_their_composite_slide_is_over_five_billion() -> None:
    slides = range(5, 25)
    assert lcm(*slides) > 5_000_000_000
    found = density([(slide, 0) for slide in slides])
    assert found.exact
    # every whole number that no slide divides, by an independent way: inclusion and exclusion over the lcm's divisors
    assert found.value == inclusion_exclusion(list(slides))


def inclusion_exclusion(slides: list[int]) -> Fraction:
    """Sums over all sets of slides, kept by their least common multiple."""
    signs: dict[int, int] = {}
    for slide in slides:
        longer = {slide: 1}
        for multiple, sign in signs.items():
            longer[lcm(multiple, slide)] = longer.get(lcm(multiple, slide), 0) - sign
        for multiple, sign in longer.items():
            signs[multiple] = signs.get(multiple, 0) + sign
    return sum((Fraction(sign, multiple) for multiple, sign in signs.items()), Fraction(0))


@pytest.mark.parametrize("slides,count", [((5, 100_000), 1_000), ((90_000, 4_000_000), 100), ((2, 500), 400)])
def test_hopeless_sets_are_bounded_in_little_memory(slides: tuple[int, int], count: int) -> None:
    random = Random(count)
    steps = [random.randint(*slides) for _ in range(count)]
    progressions = [(step, residue) for step in steps for residue in (0, random.randrange(step))]
    tracemalloc.start()
    found = density(progressions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < found.low <= found.value <= found.high <= 1
    assert peak < 30_000_000
    # sampled where all meet as they do anywhere: the guess is near, and the truth within the bounds
    origin = random.randrange(10**30)
    stretch = bytearray(1 << 20)
    for step, residue in progressions:
        first = (residue - origin) % step
        stretch[first::step] = b"\1" * len(stretch[first::step])
    seen = sum(stretch) / len(stretch)
    assert abs(seen - float(found.value)) < 0.05 * seen + 1e-3
    assert float(found.low) < seen + 2e-3 and seen - 2e-3 < float(found.high)
