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
# A pass looks for so many matches of a shape, or more, by a table of their constants; so many of these tables make a
# single statement, and so many predicates of no common shape.
LEAST_JOINED, TOGETHER, MOST_LISTED = 4, 16, 400


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
        return share_of(self.where)

    @cached_property
    def effort(self) -> float:
        """How many conditions a row is held against until it is known whether the predicate keeps it."""
        return effort_of(self.where)

    @property
    def is_found_by_value(self) -> bool:
        """Whether a row meets it by a value, however many others are of its shape."""
        equal = (part for part in self.lifted if isinstance(part.whole, Call) and part.whole.function == "=")
        return any(part.constants for part in equal)


def share_of(predicate: Expression) -> float:
    """The share of the rows that a predicate keeps, where nobody counted."""
    match predicate:
        case Call(function="and", arguments=parts):
            return prod(map(share_of, parts))
        case Call(function="or", arguments=parts):
            return 1 - prod(1 - share_of(part) for part in parts)
        case Call(function="not", arguments=(part,)):
            return 1 - share_of(part)
        case Call(function=function):
            return SHARES.get(function, SHARE)
    return SHARE


def effort_of(predicate: Expression) -> float:
    """How many functions are called for a row: a part that is not reached any more is not evaluated."""
    match predicate:
        case Call(function="and" | "or" as function, arguments=parts):
            reached, effort = 1.0, 0.0
            for part in parts:
                effort += reached * effort_of(part)
                reached *= share_of(part) if function == "and" else 1 - share_of(part)
            return effort
        case Call(function="not", arguments=(part,)):
            return effort_of(part)
    return max(1.0, sum(isinstance(node, Call) for node in walk(predicate)))


@dataclass(frozen=True)
class LookedFor:
    """What matches cost together.

    joined: the shapes of those that a pass looks up by their constants, and listed: the number of all others. effort:
    the conditions that a row is held against, and compared: those of them that a pass holds it against. kept: how many
    matches keep a row on average.
    """

    matches: int = 0
    joined: int = 0
    listed: int = 0
    effort: float = 0.0
    compared: float = 0.0
    kept: float = 0.0

    @property
    def statements(self) -> int:
        """How many statements look for them."""
        return -(-self.joined // TOGETHER) - (-self.listed // MOST_LISTED)


def looked_for(matches: Collection[Match]) -> LookedFor:
    """What these matches cost together."""
    shapes: dict[tuple[str, ...], list[Match]] = {}
    for match in matches:
        shapes.setdefault(match.shape, []).append(match)
    joined = [alike for alike in shapes.values() if len(alike) >= LEAST_JOINED]
    listed = [match for alike in shapes.values() if len(alike) < LEAST_JOINED for match in alike]
    compared = [*listed, *(match for alike in joined for match in alike if not match.is_found_by_value)]
    return LookedFor(
        len(matches),
        len(joined),
        len(listed),
        sum(match.effort for match in matches),
        sum(match.effort for match in compared),
        sum(match.share for match in matches),
    )


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
