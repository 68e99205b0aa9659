"""The index of a file of finished windows finds what a search through all rows finds."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from weft.backend.runs import runs, runs_of
from weft.segments.roll import REQUEST
from weft.segments.rows import END

RUNS = st.lists(st.tuples(st.sampled_from("abcé"), st.integers(-3, 3), st.integers(1, 3)), unique_by=lambda one: one[:2])


@given(RUNS)
def test_every_run_is_found_and_no_other(given: list[tuple[str, int, int]]) -> None:
    """Also where files were put one behind the other, so that a query's windows are in several places."""
    rows = [(request, end) for request, end, length in given for _ in range(length)]
    columns = [pa.array([row[0] for row in rows], pa.string()), pa.array([row[1] for row in rows], pa.int64())]
    index = runs(pa.table(columns, names=[REQUEST, END]))
    lengths = {(request, end): length for request, end, length in given}
    for request in ("a", "b", "c", "é", "other"):
        for first in range(-4, 5):
            for last in range(first, 5):
                wanted = [(request, end) for end in range(first, last + 1) for _ in range(lengths.get((request, end), 0))]
                places = runs_of(index, request, first, last)
                assert [row for begin, length in places for row in rows[begin : begin + length]] == wanted
