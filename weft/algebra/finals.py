"""Expressions over the result of a group: which parts only Spark can compute, and whether it can do so ahead."""

from __future__ import annotations

from collections.abc import Collection

from weft.algebra.expressions import Aggregate, Expression, Slot, WindowPart, transform, walk
from weft.algebra.functions import is_portable

HINT = "Over aggregates: arithmetic, comparisons, CASE, numeric casts and the numeric functions listed in docs/sql.md."


def carried_parts(expression: Expression, groups: Collection[Expression]) -> frozenset[Expression] | None:
    """The parts over group keys alone that only Spark can compute; None where such a part needs an aggregate.

    Spark computes them once a row, beside the keys. They are functions of the keys, so they make no group smaller.
    """
    if is_portable(expression):
        return frozenset()
    carried: set[Expression] = set()

    def visit(node: Expression) -> Expression | None:
        if node in groups or isinstance(node, Aggregate):
            return Slot("known", node.type)
        if is_portable(node) or any(isinstance(part, Aggregate | WindowPart) for part in walk(node)):
            return None
        carried.add(node)
        return Slot("known", node.type)

    return frozenset(carried) if is_portable(transform(expression, visit)) else None
