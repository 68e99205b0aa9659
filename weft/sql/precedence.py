"""Refuse a text without parentheses that Spark would group in another way than the parser does.

sqlglot and Spark agree on how tightly operators bind except in corners: `a < b IN (1, 2)`, `a || b + c`, `a = b < c`.
A tree in which every operand binds at least as tightly as Spark's grammar asks is the only tree that grammar allows, so
it is enough to look at each node and its operands once.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from weft.errors import SqlError
from weft.sql.guard import position_of

# Marks the parentheses that stand in the text.
WRITTEN = "written"

# Spark's grammar, loosest first (SqlBaseParser.g4: booleanExpression, predicate, valueExpression).
OR, AND, NOT, PREDICATE, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, ADD, MULTIPLY, UNARY, ATOM = range(13)

LEVELS: dict[type[exp.Expr], int] = {
    exp.Or: OR, exp.And: AND, exp.Not: NOT,
    exp.Between: PREDICATE, exp.In: PREDICATE, exp.Like: PREDICATE, exp.ILike: PREDICATE, exp.RegexpLike: PREDICATE,
    exp.Is: PREDICATE, exp.NullSafeNEQ: PREDICATE,
    exp.EQ: COMPARISON, exp.NEQ: COMPARISON, exp.LT: COMPARISON, exp.LTE: COMPARISON, exp.GT: COMPARISON,
    exp.GTE: COMPARISON, exp.NullSafeEQ: COMPARISON,
    exp.BitwiseOr: BIT_OR, exp.BitwiseXor: BIT_XOR, exp.BitwiseAnd: BIT_AND,
    exp.BitwiseLeftShift: SHIFT, exp.BitwiseRightShift: SHIFT,
    exp.Add: ADD, exp.Sub: ADD, exp.DPipe: ADD,
    exp.Mul: MULTIPLY, exp.Div: MULTIPLY, exp.Mod: MULTIPLY, exp.IntDiv: MULTIPLY,
    exp.Neg: UNARY, exp.BitwiseNot: UNARY,
}


def check_precedence(sql: str, nodes: Iterable[exp.Expr]) -> None:
    """Refuse the nodes of a tree that Spark's grammar would not build from the same words."""
    for node in nodes:
        level = LEVELS.get(type(node))
        if level is None:
            continue
        # Operators group to the left, so an operand of the same level may stand on the left only. Predicates do not
        # chain at all, and take operands from comparisons upward. IN (...) has parentheses of its own.
        left = COMPARISON if level == PREDICATE else level
        right = left if level in (PREDICATE, UNARY, NOT) else level + 1
        for key, least in (("this", left), ("expression", right), ("low", right), ("high", right)):
            operand = node.args.get(key)
            while isinstance(operand, exp.Paren) and WRITTEN not in operand.meta:
                operand = operand.this
            if isinstance(operand, exp.Expr) and LEVELS.get(type(operand), ATOM) < least:
                raise SqlError("syntax-error", "it is not clear here which operator comes first",
                               hint="Add parentheses.", position=position_of(sql, operand))
