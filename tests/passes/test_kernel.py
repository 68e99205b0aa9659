"""The kernel of a process, which passes of all its streams take in turn."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from weft.passes.kernel import PassKernel
from weft.passes.work import ROWS, Constants, Line, Pass, Share
from weft.segments.kept import MOMENT

COUNT = Line(f"SELECT count(*) AS n FROM {ROWS} JOIN weft_constants0 ON true", (Share("node"),))


def pass_with(*constants: str) -> Pass:
    tables = tuple(
        Constants(f"weft_constants{number}", ("BIGINT",), ((constant,),)) for number, constant in enumerate(constants)
    )
    return Pass({}, {}, (), (), (), tables, (COUNT,))


def test_a_pass_that_fails_on_its_way_leaves_the_next_pass_alone() -> None:
    """It may have made some of its tables, under names that the next pass has too."""
    kernel, rows = PassKernel(1), pa.table({MOMENT: pa.array([1, 2], pa.int64())})
    try:
        with pytest.raises(duckdb.ConversionException):
            kernel.run(pass_with("1", "'no number'"), rows)
        (part,) = kernel.run(pass_with("1"), rows).partials["node"]
        assert part["n"].to_pylist() == [2]
    finally:
        kernel.close()
