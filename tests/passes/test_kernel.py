"""The kernel of a process, which passes of all its streams take in turn."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from weft.passes.codes import Operand
from weft.passes.index import Predicates
from weft.passes.kernel import PassKernel
from weft.passes.work import FOUND, NUMBER, ROWS, Line, Lookup, Pass, Share
from weft.segments.kept import MOMENT

COUNT = Line(f"SELECT {NUMBER}, count(*) AS n FROM {FOUND} GROUP BY 1", (Share("node"),))


def pass_with(columns: str, line: Line = COUNT) -> Pass:
    """A pass that looks rows up for `moment = 1`."""
    own = (np.array([part], np.int64) for part in (0, 0, 2, 2))
    lookup = Lookup((Operand(MOMENT, (1,)),), Predicates(1, (4,), *own), np.array([7]), np.array([0]))
    return Pass({}, {}, (), (), (("computed", columns),), lookup, (line,))


def test_a_pass_that_fails_on_its_way_leaves_the_next_pass_alone() -> None:
    """It may have made some of its tables, under names that the next pass has too."""
    kernel, rows = PassKernel(1), pa.table({MOMENT: pa.array([1, 2], pa.int64())})
    try:
        with pytest.raises(duckdb.ConversionException):
            kernel.run(pass_with("CAST('no number' AS BIGINT)"), rows)
        with pytest.raises(duckdb.ConversionException):
            kernel.run(pass_with("1", Line(f"SELECT CAST('no number' AS BIGINT) FROM {ROWS}", (Share("node"),))), rows)
        (part,) = kernel.run(pass_with("1"), rows).partials["node"]
        assert part.to_pylist() == [{NUMBER: 7, "n": 1}]
    finally:
        kernel.close()
