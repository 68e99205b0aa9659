"""Dimensions: what partial rows are grouped by, whether a query groups by it or only filters on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

from weft.algebra.expressions import Call, Expression, Slot, identity, text
from weft.algebra.types import BIGINT, INTEGRAL_BITS, MAX_PRECISION, DataType
from weft.sql.spelling import spelled

Cut = int | float | Decimal
_MATCHES = "m"
# Python computes with 28 digits unless it is told otherwise, even a minus sign.
EXACT = Context(prec=2 * MAX_PRECISION + 4)


@dataclass(frozen=True)
class Dimension:
    """A canonical expression over the columns of a row.

    With `cells` the dimension is not the value itself but the cell it falls in: the greatest cut at or below it. The
    cuts come from the range predicates of all queries on the stream, so they are no part of the dimension's identity.
    With `matches` it is the number of a predicate that keeps the row: a row is in a group for each predicate that keeps
    it, and in none where none does. Its cuts are the numbers of the predicates that are looked for.
    With `ticks` it is the tick that the row came with, which no row says itself.
    """

    expression: Expression
    cells: bool = False
    matches: bool = False
    ticks: bool = False

    # Sets of dimensions are made all the time: the name is worked out once, the tree of the expression is long.
    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def name(self) -> str:
        kind = "c" if self.cells else _MATCHES if self.matches else "t" if self.ticks else "d"
        return identity(kind, text(self.expression), str(self.type))

    @property
    def type(self) -> DataType:
        return self.expression.type

    @property
    def spelled(self) -> str:
        """For people: the expression as they write it, times as times."""
        if self.matches or self.ticks:
            return "matches" if self.matches else "tick"
        if not self.cells:
            return spelled(self.expression)
        ordinal = self.expression
        # Cells of moments and days are cut as whole numbers.
        timed = isinstance(ordinal, Call) and ordinal.function in ("unix_micros", "datediff")
        return f"cells({spelled(ordinal.arguments[0] if timed and isinstance(ordinal, Call) else ordinal)})"

    def __str__(self) -> str:
        return f"cells({text(self.expression)})" if self.cells else text(self.expression)


def matches_beside(names: Iterable[str]) -> Dimension:
    """The dimension of matches of the nodes that are described by these names: no other nodes have it."""
    return Dimension(Slot(identity("nodes", *names), BIGINT), matches=True)


TICK = Dimension(Slot("tick", BIGINT), ticks=True)
"""The tick that a row came with: rows that are selected are told apart by it, so that each is new once."""


def is_sign(dimension: Dimension) -> bool:
    """Whether a dimension only says of another that it is a zero with a sign."""
    return isinstance(dimension.expression, Call) and dimension.expression.function == "negative_zero"


def keeps_rows_of(source: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether a node with the dimensions `source` holds every row, once, that a node with the fewer `wanted` holds."""
    return {name for name in source if is_matches(name)} == {name for name in wanted if is_matches(name)}


def is_matches(name: str) -> bool:
    """Whether a dimension is one of matches, by its name."""
    return name.startswith(f"{_MATCHES}_")


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
