"""How large an expression is once it is written out; the bound is checked before anything walks the tree.

A few words of SQL stand for more than they say: nullif(a, b) holds a twice, BETWEEN its value twice, CASE a WHEN its
operand once for each WHEN, IN a truth value once for each value in its list, and an alias all that it names. Nested,
they double again and again: thirty such words are a billion parts. Nodes are shared while they are bound, so that costs
nothing there, but whoever prints, compares or orders them walks a tree. Sizes add up from the bottom, with a single
look at each node.
"""

from __future__ import annotations

from weft.algebra.expressions import Call, Column, Expression, Literal, children
from weft.algebra.types import BOOLEAN
from weft.errors import SqlError

# Twice the parts that a text may have before it is written out: room for casts and for a usual BETWEEN.
MAX_WRITTEN = 16_384
# Long names and strings are repeated as well: this many letters count as a further part.
LETTERS_PER_PART = 32


def size(expression: Expression) -> int:
    """How many parts a tree has; a part that two parents share counts twice. The node stores the answer."""
    parts: int | None = expression.__dict__.get("_size")
    if parts is None:
        own = 1 + _letters(expression) // LETTERS_PER_PART
        parts = own + sum(map(size, children(expression))) + _repeats(expression)
        object.__setattr__(expression, "_size", parts)
    return parts


def check_written(parts: int) -> None:
    """Refuse an expression or a query with too many parts."""
    if parts > MAX_WRITTEN:
        raise SqlError("too-large", f"the query has more than {MAX_WRITTEN} parts once it is written out",
                       hint="nullif, BETWEEN, CASE x WHEN and aliases repeat what they hold: nest them less, or split "
                            "the query.")


def _letters(expression: Expression) -> int:
    if isinstance(expression, Column):
        return len(expression.name)
    return len(expression.value) if isinstance(expression, Literal) and isinstance(expression.value, str) else 0


def _repeats(expression: Expression) -> int:
    """The parts that only the canonical form shows: IN over truth values, or of a constant, is an OR of comparisons."""
    if not isinstance(expression, Call) or expression.function != "in":
        return 0
    operand, *values = expression.arguments
    return size(operand) * (len(values) - 1) if operand.type == BOOLEAN or isinstance(operand, Literal) else 0
