"""A few cases of a test for `make test`, all the others for `make stress`: no case is left out of both."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest

ParameterSet = type(pytest.param())


def few(cases: Iterable[Any], keep: int | Collection[Any]) -> list[Any]:
    """Mark all cases slow but those to keep: so many of them, the first and the last and others in between, or these."""
    cases = list(cases)
    if isinstance(keep, int):
        spread = {round(number * (len(cases) - 1) / max(1, keep - 1)) for number in range(keep)}
        return _marked(cases, [place in spread for place in range(len(cases))])
    unknown = [case for case in keep if case not in cases]
    assert not unknown, f"no cases: {unknown}"
    return _marked(cases, [case in keep for case in cases])


def few_combinations(*axes: Iterable[Any], every: int) -> list[Any]:
    """Mark all combinations of the axes' values slow but every so many.

    Kept combinations lie on diagonals, so that no value of an axis is left out where the others are long enough.
    """
    values = [list(axis) for axis in axes]
    places = product(*(range(len(axis)) for axis in values))
    return _marked(list(product(*values)), [sum(place) % every == 0 for place in places])


def _marked(cases: list[Any], kept: list[bool]) -> list[Any]:
    assert any(kept), "`make test` has none of the cases"
    return [case if keep else _slow(case) for case, keep in zip(cases, kept, strict=True)]


def _slow(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
