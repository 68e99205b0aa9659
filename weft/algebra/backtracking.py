r"""In how many ways a matcher can try to match a string with a pattern, as an upper bound.

A matcher that fails goes back to every choice that it made. What that can cost is bounded here before a row is seen:
each repetition counts by how many ways there are to end it, ways multiply where two repetitions can take the same
characters with nothing between them that separates the two, and they add up where something does:

    \d+\.\d+\.\d+    a dot ends \d+ in a single way: the ways of the three add up
    .*a.*b.*c        all can take everything: the ways multiply, and 1,000 characters have a billion

Each way costs as many steps as the text that follows can match before it fails: a word stops at once nearly everywhere,
a{900} and aaaa… do not where there are many a. So the steps count as well.

Everything is an upper bound: what is optional counts in its ways, and separates nothing from what comes after.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# In bits: a repetition without end has as many ways as a string of a thousand characters has positions; so has the
# search for where to begin, unless the pattern begins with ^.
ENDLESS = 10.0
ENOUGH = 1 << int(ENDLESS)


@dataclass(frozen=True)
class PatternPart:
    """A character or class to match, with its repetition, or a repeated group.

    takes: the set of characters it can match. ways: in how many ways it can match, as a binary logarithm.
    needed: whether it must be there. fixed: whether all that it matches has the same length.
    size: how many calls of Java's matcher it may nest. length: how many characters it must see before what follows it
    can fail.
    """

    takes: int
    ways: float = 0.0
    needed: bool = True
    fixed: bool = True
    size: int = 1
    length: int = 1


@dataclass(frozen=True)
class PatternGroup:
    """What stands between two parentheses: alternatives, and whether all of them may be absent."""

    alternatives: tuple[Sequence[PatternPart | PatternGroup], ...]
    optional: bool = False

    @property
    def loose(self) -> bool:
        """Whether it can match the same string in several ways; repeated without end, that is exponential."""
        return self.optional or len(self.alternatives) > 1 or any(
            part.loose if isinstance(part, PatternGroup) else part.ways for part in self.alternatives[0])

    @property
    def fixed(self) -> bool:
        """Whether all that it matches has the same length: Java repeats that in a loop, all else by calling itself."""
        return not self.optional and len(self.alternatives) == 1 and all(part.fixed for part in self.alternatives[0])

    @property
    def size(self) -> int:
        return 1 + sum(part.size for parts in self.alternatives for part in parts)

    @property
    def length(self) -> int:
        return max(sum(part.length for part in parts) for parts in self.alternatives)

    @property
    def takes(self) -> int:
        """Every character that a part of the group takes."""
        taken = 0
        for parts in self.alternatives:
            for part in parts:
                taken |= part.takes
        return taken


def ways_to_match(group: PatternGroup) -> float:
    """The most ways, in bits, in which a string can be matched: choices, and splits between repetitions."""
    return _choices(group) + _splits([group], {})[1]


def _choices(group: PatternGroup) -> float:
    inside = sum(_choices(part) for parts in group.alternatives for part in parts if isinstance(part, PatternGroup))
    return inside + math.log2(len(group.alternatives)) + group.optional


def _splits(parts: Sequence[PatternPart | PatternGroup], before: Mapping[int, float]) -> tuple[dict[int, float], float]:
    """The repetitions that may still be given more or less after the parts, and the most ways of all, in bits.

    Repetitions are keyed by what they take, with the ways up to and including them; `before` holds the repetitions
    ahead of the parts.
    """
    open_, most = dict(before), 0.0
    flat = list(_flat(parts))
    begins = True
    for at, part in enumerate(flat):
        if isinstance(part, PatternGroup):
            begins = True
            after: dict[int, float] = dict(open_) if part.optional else {}
            for alternative in part.alternatives:
                left, most_inside = _splits(alternative, open_)
                after = {takes: max(left.get(takes, 0.0), after.get(takes, 0.0)) for takes in {*left, *after}}
                most = max(most, most_inside)
            open_ = after
            continue
        if part.needed:
            open_ = {takes: ways for takes, ways in open_.items() if takes & part.takes}
        if not part.ways and not (begins and part.length):
            continue
        ahead = max((ways for takes, ways in open_.items() if takes & part.takes), default=0.0)
        if begins and ahead:
            most = max(most, ahead + _steps(flat[at:]))
        begins = bool(part.ways) or (begins and not part.needed)
        if part.ways:
            open_[part.takes] = max(part.ways + ahead, open_.get(part.takes, 0.0))
            most = max(most, part.ways + ahead)
    return open_, most


def _flat(parts: Sequence[PatternPart | PatternGroup]) -> Iterator[PatternPart | PatternGroup]:
    """The parts, with the content in place of every group that is always there and has a single alternative."""
    for part in parts:
        if isinstance(part, PatternGroup) and not part.optional and len(part.alternatives) == 1:
            yield from _flat(part.alternatives[0])
        else:
            yield part


def _steps(parts: Sequence[PatternPart | PatternGroup]) -> float:
    """How many characters the parts up to the next repetition look at before they fail, on an average and in bits.

    A character is looked at again for every start at which the first part fits. Seen from the earliest of these starts,
    each start is a character that a part takes, and that the first part takes as well. So there are never more starts
    than characters of the parts that can take what the first part takes.
    """
    first, starts = parts[0].takes, 1
    for part in parts:
        if part.takes & first:
            starts += part.length
        if isinstance(part, PatternPart) and part.ways:
            break
    return math.log2(min(starts, ENOUGH))
