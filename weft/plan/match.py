"""Matches: predicates that are evaluated whole, and what is kept of the rows that they keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from math import prod

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Call, Column, Expression, identity, text, walk
from weft.algebra.safety import can_fail
from weft.plan.dimensions import Dimension
from weft.plan.ranges import Values, is_point, ranges_of

# The hexadecimal digits of the number of a match: it fits 63 bits.
MATCH_DIGITS = 15
# The share of rows that a part of a predicate keeps where nobody counted, by its function.
SHARES = {"=": 0.05, "in": 0.15, "<": 0.3, "<=": 0.3, "like": 0.15}
SHARE = 0.5
# A pass looks up so many matches of a node, or more, all together; so many of the others it lists in a statement.
LEAST_LOOKED_UP, MOST_LISTED = 4, 400
# A row is looked up in so many predicates at once; so few with the same leading operand wait together for every row.
WORD, LEAST_LED = 64, 16


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
    def ranges(self) -> Mapping[Expression, Values]:
        """What it asks of each operand; nothing where it can fail on a row, as its parts may guard each other."""
        return {} if can_fail(self.where) else ranges_of(self.where)

    @cached_property
    def operands(self) -> Mapping[str, float]:
        """The operands by whose values it is looked up, and the functions that each of them calls for a row."""
        return {text(each): 0.0 if isinstance(each, Column) else effort_of(each) for each in self.ranges}

    @cached_property
    def leading(self) -> tuple[str, float]:
        """The operand by whose value it is found, and the share of the rows that it waits for there, as a guess."""
        shares = map(_share_of_values, self.ranges.values())
        return min(zip(self.operands, shares, strict=True), key=lambda known: known[1])

    @cached_property
    def share(self) -> float:
        """The share of the rows that the predicate keeps, as a guess from the kinds of its parts."""
        return share_of(self.where)

    @cached_property
    def effort(self) -> float:
        """How many conditions a row is held against until it is known whether the predicate keeps it."""
        return effort_of(self.where)


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


def _share_of_values(values: Values) -> float:
    """The share of the rows whose value is one of these."""
    shares = (SHARES["="] if is_point(span) else SHARES["<"] ** (2 - span.count(None)) for span in values.spans)
    return min(1.0, sum(shares) + (SHARES["="] if values.null else 0.0))


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


def looked_up(matches: Iterable[Match]) -> tuple[Match, ...]:
    """The matches that a pass looks up together: those that cannot fail on a row, unless they are few."""
    ranged = tuple(match for match in matches if match.ranges)
    return ranged if len(ranged) >= LEAST_LOOKED_UP else ()


@dataclass(frozen=True)
class Looking:
    """What it costs to look rows up for matches, all at once: how many these are, and the operands that are coded.

    computed: how many operands are no columns, and effort: the functions that these call for a row. groups and words:
    in how many of them a row is looked up. kept: how many of the matches keep a row on average.
    """

    matches: float = 0
    operands: float = 0
    computed: float = 0
    effort: float = 0.0
    groups: float = 0
    words: float = 0.0
    kept: float = 0.0

    def part(self, share: float) -> Looking:
        """The part of it that a share of the matches has."""
        return Looking(*(share * amount for amount in astuple(self)))


@dataclass(frozen=True)
class LookedFor:
    """What the matches of a statement cost together.

    effort: the conditions that a row is held against, and kept: how many matches keep a row on average. A pass looks up
    some of them, and lists the others: then a row is held against the conditions that are compared.
    """

    matches: int = 0
    listed: int = 0
    effort: float = 0.0
    compared: float = 0.0
    kept: float = 0.0
    looked_up: int = 0
    looking: Looking = Looking()

    @property
    def statements(self) -> int:
        """How many statements read what was found of them, or look for them."""
        return (self.looked_up > 0) - (-self.listed // MOST_LISTED)


def looked_for(matches: Collection[Match]) -> LookedFor:
    """What these matches cost together."""
    found = looked_up(matches)
    listed = [match for match in matches if not match.ranges] if found else matches
    return LookedFor(
        len(matches),
        len(listed),
        sum(match.effort for match in matches),
        sum(match.effort for match in listed),
        sum(match.share for match in matches),
        len(found),
        looking(found),
    )


def looking(matches: Collection[Match]) -> Looking:
    """What looking rows up for all of these matches at once costs."""
    efforts: dict[str, float] = {}
    for match in matches:
        efforts.update(match.operands)
    led = Counter(match.leading[0] for match in matches)
    few = [operand for operand, count in led.items() if count < LEAST_LED]
    groups = len(led) - len(few) + bool(few)
    waiting = sum(match.leading[1] if led[match.leading[0]] >= LEAST_LED else 1.0 for match in matches)
    computed, effort = sum(map(bool, efforts.values())), sum(efforts.values())
    kept = sum(match.share for match in matches)
    return Looking(len(matches), len(efforts), computed, effort, groups, waiting / WORD, kept)
