"""Expressions over the columns of rows as DuckDB's SQL, where DuckDB computes them exactly as Spark does.

What merges partial rows (weft/backend/operators.py) has rules for the operators that results are made of; here are
rules for what predicates and group-bys are made of besides. Every rule gives Spark's value for every row, or fails
where Spark fails, or there is none: what is not here is a column that Spark computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign

from weft.algebra.expressions import Call, Cast, Column, Expression, Literal, Slot, transform, walk
from weft.backend.operators import RULES
from weft.backend.renderer import Renderer, Rule

# What is nearer to zero is a zero as a float.
LEAST_FLOAT = 1e-44
_ESCAPED = "ESCAPE '\\'"


def _like(renderer: Renderer, call: Call) -> str:
    """Write LIKE; a pattern with an escape at its end, which Spark refuses and DuckDB too, never gets here."""
    value, pattern = call.arguments
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise TypeError("a pattern that is no constant is not portable")
    return f"({renderer.sql(value)} LIKE {renderer.sql(pattern)} {_ESCAPED})"


def _form(form: str) -> Rule:
    """The rule of a function that is written as a form over its arguments."""
    return lambda renderer, call: form.format(*map(renderer.sql, call.arguments))


def _of_day(part: str) -> Rule:
    """The rule of a part of a date."""
    return _form(f"CAST({part}({{0}}) AS INTEGER)")


def _of_moment(part: str) -> Rule:
    """The rule of a part of a moment, which is in UTC in Spark and here."""
    return _form(f"CAST({part}(make_timestamp(epoch_us({{0}}))) AS INTEGER)")


ROW_RULES: dict[str, Rule] = {
    **RULES,
    "like": _like,
    "unix_micros": _form("epoch_us({0})"),
    "startswith": _form("starts_with({0}, {1})"),
    "endswith": _form("ends_with({0}, {1})"),
    "contains": _form("contains({0}, {1})"),
    "isnan": _form("coalesce(isnan({0}), false)"),
    "negative_zero": _form("({0} = 0 AND signbit({0}))"),
    "datediff": _form("CAST({0} - {1} AS INTEGER)"),
    **{part: _of_day(part) for part in ("year", "quarter", "month", "day", "dayofyear")},
    **{part: _of_moment(part) for part in ("hour", "minute", "second")},
}


def row_sql(
    expression: Expression, columns: Mapping[str, str], slots: Mapping[str, str] | None = None
) -> str:
    """The expression over rows as DuckDB's SQL, which fails where Spark's fails.

    `columns` holds the SQL of columns, `slots` of slots. Raises TypeError for what only Spark computes as Spark does.

    >>> from weft.algebra.expressions import Literal
    >>> from weft.algebra.types import BIGINT, BOOLEAN
    >>> row_sql(Call("<", (Literal(5, BIGINT), Column("a b", BIGINT)), BOOLEAN), {"a b": "k0"})
    '(CAST(5 AS BIGINT) < k0)'
    """
    if any(map(_is_zero_below, walk(expression))):
        raise TypeError(f"DuckDB may take {expression} for the same expression with the other zero")
    names = {f"weft column {name}": sql for name, sql in columns.items()}

    def slot(part: Expression) -> Expression | None:
        return Slot(f"weft column {part.name}", part.type) if isinstance(part, Column) else None

    return Renderer({**names, **(slots or {})}, ROW_RULES).sql(transform(expression, slot))


def _is_zero_below(part: Expression) -> bool:
    """Whether a part is the constant -0.0, or may come to it: DuckDB computes `f(-0.0, x)` and `f(0.0, x)` as one."""
    if not part.type.is_fractional or any(isinstance(inner, Column | Slot) for inner in walk(part)):
        return False
    while isinstance(part, Cast):
        part = part.operand
    if isinstance(part, Literal) and isinstance(part.value, float):
        return -LEAST_FLOAT < part.value <= 0 and copysign(1, part.value) < 0
    return not isinstance(part, Literal) or isinstance(part.value, str)
