"""A canonical expression over slots as DuckDB SQL that gives Spark's value, of the type the expression says, or fails.

Only portable operators have a rule: tests/read/test_differential.py proves them equal to Spark with ANSI rules.
Where DuckDB's own operator differs (remainders, rounding, decimals, casts), what is written differs from the operator.

Errors must agree as well, so what Spark does not evaluate must not be evaluated here. DuckDB leaves the branches of
CASE alone, but evaluates all of AND, OR, IN and COALESCE (it even moves common parts out of them): wherever a later
part may fail, CASE is written instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.algebra.expressions import Expression
from weft.backend.operators import RULES
from weft.backend.renderer import Renderer


def duck_sql(expression: Expression, slots: Mapping[str, str]) -> str:
    """Write an expression as DuckDB SQL; `slots` holds the SQL of slots, a missing slot stands for its own name.

    The window is the slots `window_start` and `window_end`. Raises TypeError for what is not portable.

    >>> from weft.algebra.expressions import Call, Literal, Slot
    >>> from weft.algebra.types import BIGINT
    >>> duck_sql(Call("+", (Slot("a", BIGINT), Literal(1, BIGINT)), BIGINT), {})
    '(+("a" + CAST(1 AS BIGINT)))'
    """
    return Renderer(slots, RULES).sql(expression)
