"""No case is left out of both `make test` and `make stress`."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.few import ParameterSet, few, few_combinations


def kept(cases: list[Any]) -> list[Any]:
    return [case for case in cases if not (isinstance(case, ParameterSet) and "slow" in {mark.name for mark in case.marks})]


def values(cases: list[Any]) -> list[Any]:
    """All cases as they were before some of them were marked."""
    return [(case.values if len(case.values) > 1 else case.values[0]) if isinstance(case, ParameterSet) else case for case in cases]


@pytest.mark.parametrize(("keep", "expected"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9]), (10, [*range(10)])])
def test_so_many_cases_are_kept_from_the_first_to_the_last(keep: int, expected: list[int]) -> None:
    cases = few(range(10), keep)
    assert values(cases) == [*range(10)] and kept(cases) == expected


def test_these_cases_are_kept_and_must_be_there() -> None:
    cases = few([("a", 1), ("b", 2), ("c", 3)], [("b", 2)])
    assert values(cases) == [("a", 1), ("b", 2), ("c", 3)] and kept(cases) == [("b", 2)]
    with pytest.raises(AssertionError, match="no cases"):
        few(range(3), (2, 7))
    with pytest.raises(AssertionError, match="none of the cases"):
        few(range(3), 0)


def test_a_case_keeps_its_marks_and_its_name() -> None:
    _, slow = few([0, pytest.param(1, marks=pytest.mark.timeout(5), id="one")], 1)
    assert (slow.id, {mark.name for mark in slow.marks}) == ("one", {"timeout", "slow"})


@pytest.mark.parametrize(("lengths", "every"), [((5, 5, 3), 3), ((4, 10), 5), ((5, 4), 4), ((2, 2), 2)])
def test_of_combinations_every_so_many_are_kept(lengths: tuple[int, ...], every: int) -> None:
    axes = [[f"{name}{place}" for place in range(length)] for name, length in zip("abc", lengths, strict=False)]
    cases = few_combinations(*axes, every=every)
    assert values(cases) == [*product(*axes)]
    assert len(kept(cases)) == len(cases) // every
    # The other axes are long enough for every value of the first.
    assert {case[0] for case in kept(cases)} == set(axes[0])
