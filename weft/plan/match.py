"""Matches: predicates that are evaluated whole, and what is kept of the rows that they keep."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import prod

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Call, Expression, Literal, Slot, conjuncts, identity, text, transform, walk
from weft.algebra.safety import can_fail
from weft.plan.dimensions import Dimension

# The hexadecimal digits of the number of a match: it fits 63 bits.
MATCH_DIGITS = 15
# The share of rows that a part of a predicate keeps where nobody counted, by its function.
SHARES = {"=": 0.05, "in": 0.15, "<": 0.3, "<=": 0.3, "like": 0.15}
SHARE = 0.5


@dataclass(frozen=True)
class Match:
    """A predicate that is evaluated whole, and what is kept of the rows that it keeps, under a number of its own.

    Predicates that are equal and want the same statistics are one match.
    """

    dimension: Dimension
    where: Expression
    statistics: tuple[Statistic, ...]

    def __hash__(self) -> int:
        return self.number

    @cached_property
    def number(self) -> int:
        """The number that stands in partial rows: the same in every process."""
        _, _, digits = identity("match", text(self.where), *(kept.name for kept in self.statistics)).partition("_")
        return int(digits[:MATCH_DIGITS], 16)

    @cached_property
    def lifted(self) -> tuple[Lifted, ...]:
        """The parts of the predicate, each without its constants; what could fail is a single part, as parts may guard
        each other."""
        return (Lifted(self.where, self.where),) if can_fail(self.where) else tuple(map(lifted, conjuncts(self.where)))

    @cached_property
    def shape(self) -> tuple[str, ...]:
        """What matches have in common that are looked for together: they differ in constants only."""
        return (*(text(part.shape) for part in self.lifted), *(kept.name for kept in self.statistics))


    @cached_property
    def share(self) -> float:
        """The share of the rows that the predicate keeps, as a guess from the kinds of its parts."""
        return prod(SHARES.get(part.whole.function, SHARE) if isinstance(part.whole, Call) else SHARE
                    for part in self.lifted)

    @property
    def is_found_by_value(self) -> bool:
        """Whether a row meets it by a value, however many others are of its shape."""
        equal = (part for part in self.lifted if isinstance(part.whole, Call) and part.whole.function == "=")
        return any(part.constants for part in equal)


@dataclass(frozen=True)
class LookedFor:
    """What matches cost together: their number, the shapes that they are of, the matches that a row is held against
    one by one, and how many of them keep a row on average."""

    matches: int = 0
    shapes: int = 0
    compared: int = 0
    kept: float = 0.0


def looked_for(matches: Collection[Match]) -> LookedFor:
    """What these matches cost together."""
    shapes = {match.shape for match in matches}
    compared = sum(not match.is_found_by_value for match in matches)
    return LookedFor(len(matches), len(shapes), compared, sum(match.share for match in matches))


@dataclass(frozen=True)
class Lifted:
    """A part of a predicate as a shape over slots `p0`, `p1` ... and the constants that stood there."""

    whole: Expression
    shape: Expression
    constants: tuple[Literal, ...] = ()


def lifted(part: Expression) -> Lifted:
    """Take the constants out of a comparison of something else with a constant; leave everything else as it is."""
    if isinstance(part, Call) and part.function in ("=", "<", "<="):
        constants = [side for side in part.arguments if isinstance(side, Literal) and side.value is not None]
        others = [side for side in part.arguments if not isinstance(side, Literal)]
        if len(constants) == len(others) == 1:
            slot = Slot("p0", constants[0].type)
            sides = tuple(slot if side is constants[0] else side for side in part.arguments)
            return Lifted(part, Call(part.function, sides, part.type), (constants[0],))
    return Lifted(part, part)


def numbered(shape: Expression, number: int) -> Expression:
    """The shape over a slot with another number."""
    if not any(isinstance(node, Slot) for node in walk(shape)):
        return shape
    return transform(shape, lambda node: Slot(f"p{number}", node.type) if isinstance(node, Slot) else None)
