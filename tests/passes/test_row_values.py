"""Which expressions over rows are DuckDB's, and which are left to Spark."""

from __future__ import annotations

import pytest

from weft.algebra.expressions import Call, Cast, Column, Expression, Literal
from weft.algebra.types import DOUBLE, FLOAT, INT
from weft.passes.row_sql import row_sql

X = Column("x", DOUBLE)
ZERO, NEGATIVE_ZERO = Literal(0.0, DOUBLE), Literal(-0.0, DOUBLE)
COMES_TO_IT = (
    NEGATIVE_ZERO,
    Cast(NEGATIVE_ZERO, FLOAT),
    Cast(Literal(-1e-50, DOUBLE), FLOAT),
    Call("negate", (ZERO,), DOUBLE),
    Call("*", (Literal(-1.0, DOUBLE), ZERO), DOUBLE),
)


@pytest.mark.parametrize("constant", COMES_TO_IT, ids=str)
def test_a_zero_below_zero_is_left_to_spark(constant: Expression) -> None:
    """DuckDB would compute greatest(-0.0, x) and greatest(0.0, x) of one statement once."""
    with pytest.raises(TypeError, match="other zero"):
        row_sql(Call("greatest", (constant, X), DOUBLE), {"x": "x"})


@pytest.mark.parametrize(
    "constant",
    [ZERO, Literal(-5.0, DOUBLE), Cast(Literal(-5.0, DOUBLE), FLOAT), Cast(Literal(0, INT), DOUBLE), Literal(None, DOUBLE)],
    ids=str,
)
def test_other_constants_are_duckdbs(constant: Expression) -> None:
    assert row_sql(Call("greatest", (constant, X), DOUBLE), {"x": "x"}).startswith("greatest(")
