"""How much state a query can need, known when it is registered: slices times groups, as far as groups can be counted.

Counts what the query alone asks of its nodes. Slices: its windows reach from the newest row, which is ahead of the
watermark by the stream's delay, back over what it keeps and a range. Groups: a dimension has a number of values only
where its expression says so, as a truth, a remainder, or the cells between the query's own thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from math import prod

from weft.algebra.expressions import Call, Case, Expression, Literal
from weft.algebra.types import INTEGRAL_BITS
from weft.algebra.windows import Asked, Running, Sliding
from weft.plan.dimensions import Cut, Dimension, is_sign
from weft.plan.needs import Needs, Part
from weft.plan.slices import slicing

# How many values a part of a moment has; NULL is counted on top. A leap second is not among Spark's.
PARTS_OF_TIME = {
    "quarter": 4,
    "month": 12,
    "day": 31,
    "dayofweek": 7,
    "dayofyear": 366,
    "weekofyear": 53,
    "hour": 24,
    "minute": 60,
    "second": 60,
}
NEVER_NULL = frozenset({"is_null", "<=>"})
SMALL_BITS = 8


@dataclass(frozen=True)
class Bound:
    """The most state that a query can need; None where that is not known. A total without a window is a single slice.

    different: the group expressions whose values nobody can count. unbounded_because: why there is no bound at all,
    however many values these turn out to have.
    """

    slices: int | None
    groups: int | None
    different: tuple[str, ...] = ()
    unbounded_because: str | None = None

    @property
    def rows(self) -> int | None:
        """Partial rows: slices times groups."""
        return None if self.slices is None or self.groups is None else self.slices * self.groups

    def __str__(self) -> str:
        if self.unbounded_because is not None:
            return f"no bound: {self.unbounded_because}"
        slices = _count(self.slices, "slice")
        if self.groups is None:
            return f"at most {slices}, each with a row for every different ({', '.join(self.different)})"
        if self.slices == 1:  # windows meet two at least
            return f"at most {_count(self.groups, 'total')}"
        return f"at most {slices} of {_count(self.groups, 'group')}: {_count(self.rows, 'row')}"


def bound_of(needs: Needs, keep: timedelta | None, delay: int) -> Bound:
    """The bound of a query that keeps closed windows that long, None for ever; `delay` is the stream's, in micros."""
    cuts = dict(needs.cuts)
    counts = [_groups(part, cuts) for part in needs.parts]
    groups = None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    endless = {dimension for part in needs.parts for dimension in part.dimensions if _values(dimension, cuts) is None}
    different = tuple(sorted({dimension.spelled for dimension in endless if not is_sign(dimension)}))
    match needs.window:
        case Running():
            because = f"totals are kept for every ({', '.join(different)}) there ever is" if different else None
            return Bound(1, groups, different, because)
        case Asked() as window:
            reach = window.reach(keep)
            if reach is None:
                return Bound(None, groups, different, "its rows are kept for ever")
            return Bound(sum(slices_over(kept, reach + delay) for kept in window.as_sliced()), groups, different)
        case Sliding() as window:
            reach = window.reach(keep)
            if reach is None:
                return Bound(None, groups, different, "its windows are kept for ever")
            return Bound(slices_over(window, reach + delay), groups, different)


def slices_over(window: Sliding, span: int) -> int:
    """The most slices of a window that a stretch of time of this length can meet, wherever it begins.

    >>> minute = Sliding(range=timedelta(minutes=1), slide=timedelta(minutes=1))
    >>> slices_over(minute, 60_000_000), slices_over(minute, 60_000_001)
    (2, 3)
    """
    edges = slicing([window])
    assert edges is not None
    table = edges.table or (0,)
    gaps = [after - before for before, after in pairwise((*table, edges.period))]
    whole, rest = divmod(span, edges.period)
    # A rest meets an edge of the next turn if there is a rest at all, and both if it is longer than the shorter gap.
    more = 0 if not rest else (2 if len(gaps) == 2 and rest > min(gaps) else 1)
    return whole * len(gaps) + more + 1


def _groups(part: Part, cuts: Mapping[str, frozenset[Cut]]) -> int | None:
    counts = [_values(dimension, cuts) for dimension in part.dimensions]
    return None if None in counts else prod(count for count in counts if count is not None)


def _values(dimension: Dimension, cuts: Mapping[str, frozenset[Cut]]) -> int | None:
    """How many values a dimension can have, NULL among them; None where nobody can know."""
    if dimension.matches or dimension.ticks:
        return 1
    if dimension.cells:
        return len(cuts.get(dimension.name, ())) + 2
    return values_of(dimension.expression)


def values_of(expression: Expression) -> int | None:
    """How many values an expression can have, NULL among them; None where nobody can know."""
    match expression:
        case Literal():
            return 1
        case Case():
            counts = [values_of(value) for _, value in expression.branches]
            counts.append(values_of(expression.otherwise))
            return None if None in counts else sum(count for count in counts if count is not None)
        case Call(function="not"):
            return values_of(expression.arguments[0])
        case Call() if expression.function in NEVER_NULL:
            return 2
        case Call() if expression.function in PARTS_OF_TIME:
            return PARTS_OF_TIME[expression.function] + 1
        case Call(function="%" | "pmod"):
            return _remainders(expression)
    if expression.type.name == "boolean":
        return 3
    if INTEGRAL_BITS.get(expression.type.name, SMALL_BITS + 1) <= SMALL_BITS:
        return (1 << INTEGRAL_BITS[expression.type.name]) + 1
    return None


def _remainders(expression: Call) -> int | None:
    """How many values a remainder can have: with the sign of the dividend all but zero come twice, pmod has no sign."""
    divisor = expression.arguments[1]
    if not isinstance(divisor, Literal) or not isinstance(divisor.value, int) or not divisor.value:
        return None
    size = abs(divisor.value)
    if not expression.arguments[0].type.is_integral:
        return None
    return (2 * size - 1 if expression.function == "%" or divisor.value < 0 else size) + 1


def _count(number: int | None, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"
