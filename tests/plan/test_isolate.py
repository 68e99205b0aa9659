"""Halving finds exactly the queries that fail, in few trials."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from weft.plan.isolate import find_culprits


@given(st.integers(0, 200), st.sets(st.integers(0, 199), max_size=5))
def test_all_culprits_are_found_and_nobody_else(count: int, guilty: set[int]) -> None:
    names = [f"q{number}" for number in range(count)]
    bad = {f"q{number}": f"reason {number}" for number in guilty if number < count}
    trials = 0

    def trial(some: Sequence[str]) -> str:
        nonlocal trials
        trials += 1
        return next((bad[name] for name in some if name in bad), "")

    assert find_culprits(names, trial) == bad
    assert trials <= 1 + 2 * len(bad) * (count.bit_length() + 1)
