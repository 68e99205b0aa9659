"""Bind an aggregate call, with FILTER, WITHIN GROUP or IGNORE NULLS around it, to an Aggregate of the catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from weft.algebra.coercion import implicit
from weft.algebra.expressions import Expression, Literal, conjunction
from weft.algebra.functions import function_named
from weft.algebra.literals import TRUE
from weft.algebra.types import BOOLEAN
from weft.errors import SqlError
from weft.sql.guard import position_of

if TYPE_CHECKING:
    from weft.sql.expression_binder import ExpressionBinder


def bind_aggregate(binder: ExpressionBinder, node: exp.Expr, condition: exp.Expr | None) -> Expression:
    """The aggregate that a call and what stands around it describe; `condition` is the condition of FILTER."""
    call, order, ignores_nulls = node, None, False
    while isinstance(call, exp.WithinGroup | exp.IgnoreNulls):
        order = call.expression if isinstance(call, exp.WithinGroup) else order
        ignores_nulls = ignores_nulls or isinstance(call, exp.IgnoreNulls)
        call = call.this
    if not isinstance(call, exp.Anonymous) or not binder.is_aggregate(call.name.lower()):
        if isinstance(call, exp.Anonymous):
            function_named(call.name, binder.aggregates.names() if binder.aggregates else ())
        raise SqlError("unsupported-clause", "FILTER, WITHIN GROUP and IGNORE NULLS belong to an aggregate")
    _check_allowed(binder, call.name.lower())
    inner = replace(binder, in_aggregate=True)
    name, arguments, distinct = _arguments(inner, call, order)
    if ignores_nulls:
        arguments = (*arguments, TRUE)
    conditions = [] if condition is None else [implicit(inner.bind(condition), BOOLEAN)]
    if name == "count_if":
        if len(arguments) != 1 or distinct:
            raise SqlError("wrong-type", "count_if takes one condition", position=position_of(binder.sql, call))
        conditions.insert(0, implicit(arguments[0], BOOLEAN))
        name, arguments = "count", ()
    elif name == "count" and not distinct and len(arguments) == 1 and _is_constant(arguments[0]):
        arguments = ()  # count(1) counts rows
    assert binder.aggregates is not None
    try:
        bound = binder.aggregates.bind(name, arguments, distinct)
    except SqlError as error:
        error.position = error.position or position_of(binder.sql, call)
        raise
    return replace(bound, where=conjunction(tuple(conditions)))


def _check_allowed(binder: ExpressionBinder, name: str) -> None:
    """Refuse an aggregate inside another, or in a clause that is evaluated for each row."""
    if binder.in_aggregate:
        raise SqlError("nested-aggregate", f"{name} stands inside another aggregate",
                       hint="Aggregate once; compute with the results outside.")
    if binder.row_clause:
        raise SqlError("misplaced-aggregate", f"{name} is an aggregate and not allowed in {binder.row_clause}",
                       hint="Use HAVING to filter by aggregates." if binder.row_clause == "WHERE" else "")


def _is_constant(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is not None


def _arguments(binder: ExpressionBinder, call: exp.Anonymous,
               order: exp.Expr | None) -> tuple[str, tuple[Expression, ...], bool]:
    """The name, the arguments and DISTINCT of a call; the key of WITHIN GROUP comes first."""
    name, nodes, distinct = call.name.lower(), call.expressions, False
    if nodes and isinstance(nodes[0], exp.Distinct):
        nodes, distinct = [*nodes[0].expressions, *nodes[1:]], True
    if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
        if name != "count" or distinct:
            raise SqlError("unsupported-clause", f"{name}(*) is not supported", hint="Only count(*) counts rows.")
        return name, (), False
    arguments = tuple(map(binder.bind, nodes))
    if order is not None:
        keys = order.expressions
        if len(keys) != 1 or keys[0].args.get("desc"):
            raise SqlError("unsupported-clause", "WITHIN GROUP takes one ascending key",
                           hint="Use 1 - p instead of DESC.")
        arguments = (binder.bind(keys[0].this), *arguments)
        name = "percentile" if name == "percentile_cont" else name
    elif name == "percentile_cont":
        raise SqlError("syntax-error", "percentile_cont needs WITHIN GROUP (ORDER BY ...)",
                       hint="Or use percentile(x, p).")
    return name, arguments, distinct
