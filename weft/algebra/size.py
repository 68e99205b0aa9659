"""What a query becomes once it is written out has a bound, known before anything walks it.

Some words stand for more than they say: nullif(a, b) holds a twice, BETWEEN its value twice, CASE a WHEN its operand
once for each WHEN, IN a truth value once for each in its list, and an alias all that it names. Nested, they double
again and again: thirty of them are a billion parts. Nodes are shared while they are bound, so that costs nothing there,
but whoever prints, compares or orders them walks a tree. Sizes add up from the bottom, one look at each node.
"""

from __future__ import annotations

from weft.algebra.expressions import Call, Column, Expression, Literal, children
from weft.algebra.types import BOOLEAN
from weft.errors import SqlError

# Twice the parts that a text may have before it is written out: room for casts and for a usual BETWEEN.
MAX_WRITTEN = 16_384
# Long names and strings are repeated as well: so many letters count as one part more.
LETTERS = 32


def size(expression: Expression) -> int:
    """How many parts a tree has; one that stands in two places counts twice. Kept with the node."""
    kept: int | None = expression.__dict__.get("_size")
    if kept is None:
        kept = 1 + _letters(expression) // LETTERS + sum(map(size, children(expression))) + _repeats(expression)
        object.__setattr__(expression, "_size", kept)
    return kept


def check_written(parts: int) -> None:
    """Refuse what has too many parts."""
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
