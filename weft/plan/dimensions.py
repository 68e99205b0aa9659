"""Dimensions: what partial rows are grouped by, whether a query groups by it or only filters on it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

from weft.algebra.expressions import Call, Expression, identity, text
from weft.algebra.types import INTEGRAL_BITS, MAX_PRECISION, DataType
from weft.sql.spelling import spelled

Cut = int | float | Decimal
# Python computes with 28 digits unless it is told otherwise, even a minus sign.
EXACT = Context(prec=2 * MAX_PRECISION + 4)


@dataclass(frozen=True)
class Dimension:
    """A canonical expression over the columns of a row.

    With `cells` the dimension is not the value itself but the cell it falls in: the greatest cut at or below it. The
    cuts come from the range predicates of all queries on the stream, so they are no part of the dimension's identity.
    """

    expression: Expression
    cells: bool = False

    # Sets of dimensions are made all the time: the name is worked out once, the tree of the expression is long.
    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def name(self) -> str:
        return identity("c" if self.cells else "d", text(self.expression), str(self.type))

    @property
    def type(self) -> DataType:
        return self.expression.type

    @property
    def spelled(self) -> str:
        """For people: the expression as they write it, times as times."""
        if not self.cells:
            return spelled(self.expression)
        ordinal = self.expression
        # Cells of moments and days are cut as whole numbers.
        timed = isinstance(ordinal, Call) and ordinal.function in ("unix_micros", "datediff")
        return f"cells({spelled(ordinal.arguments[0] if timed and isinstance(ordinal, Call) else ordinal)})"

    def __str__(self) -> str:
        return f"cells({text(self.expression)})" if self.cells else text(self.expression)


def lowest(kind: DataType) -> Cut:
    """The cut below every value of a type: the name of the first cell."""
    if kind.is_integral:
        return -(1 << (INTEGRAL_BITS[kind.name] - 1))
    if kind.is_decimal:
        return highest_decimal(kind).copy_negate()
    return float("-inf")


def highest_decimal(kind: DataType) -> Decimal:
    """The greatest value of a decimal type.

    >>> from weft.algebra.types import decimal
    >>> highest_decimal(decimal(38, 10))
    Decimal('9999999999999999999999999999.9999999999')
    """
    return EXACT.scaleb(Decimal(10**kind.precision - 1), -kind.scale)


def by_name(dimensions: frozenset[Dimension] | set[Dimension]) -> tuple[Dimension, ...]:
    """The dimensions by name: an order that every process agrees on."""
    return tuple(sorted(dimensions, key=lambda dimension: dimension.name))
