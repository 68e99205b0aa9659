r"""A regular expression is one that Python and Java read alike, and no string makes it run away.

A matcher that fails goes back to every place where it had a choice. What that can cost is bounded here before a row is
seen: each repetition counts by how many ways there are to end it, ways multiply where two repetitions can take the same
characters with nothing between them that parts the two, and they add up where something does:

    \d+\.\d+\.\d+    a dot ends \d+ in one way only: the ways of the three add up
    .*a.*b.*c        all can take everything: the ways multiply, and 1,000 characters have a billion

Each way costs as many steps as the text that follows can match before it fails: a word stops at once nearly everywhere,
a{900} and aaaa… do not where there are many a. So that counts as well.

Everything is an upper bound: what is optional counts in its ways, and parts nothing from what comes after.

Java's matcher calls itself for each turn of a repetition whose turns can differ in length, and an overflow of its stack
ends the whole Java process. So a group that repeats without end has a body of one length, counted in Java's characters,
of which 🧵 has two; and the calls that all the rest can nest are counted as parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.algebra.characters import Alphabet
from weft.algebra.patterns import MAX_PATTERN, bad_pattern
from weft.errors import SqlError

MAX_GROUPS = 20
# At 2,000, some patterns take half a megabyte of Java's stack, where a thread has one.
MAX_PARTS = 1000
# In bits: a repetition without end has as many ways as a string of a thousand characters has places; so has the search
# for where to begin, unless the pattern begins with ^. At most the cube of the length, then, times a few choices.
ENDLESS = 10.0
ENOUGH = 1 << int(ENDLESS)
MAX_WAYS = 3 * ENDLESS + 4

# Escapes, classes, flags, groups, alternatives, repetitions, and everything else a character at a time.
ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[ims]+\)|\(\?(?::|=|!|<=|<!)|\(|\)|\|"
                  r"|[*+?][+?]?|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}[+?]?|.", re.DOTALL)
SAFE_ESCAPE = re.compile(r"\\[dDwWsSbBntrfA.^$*+?()\[\]{}|\\/\-_ ,:;=<>!@#%&~\"'`]")
# What may stand in a class, where Java reads [a[b]] and [a&&b] as sets of sets and Python does not.
IN_CLASS = re.compile(r"(?:\\[dDwWsSntrf.^$*+?()\[\]{}|\\/\-]|[^\\\[])*+")
SETS = re.compile(r"&&|--|~~|\|\|")
NOWHERE = frozenset({"^", "$", "\\b", "\\B", "\\A"})
COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
FOREVER = ("a repeated group holds a repetition or an alternative, which can take forever",
           "Repeat a single character or class, as in [a-z]+.")
UNEVEN = ("a repeated group can have several lengths, which can exhaust the stack",
          "Say how often it may repeat, as in {1,100}, and use classes that take only ASCII, as in [ -~].")


@dataclass(frozen=True)
class Part:
    """One thing to match: the characters it takes, as bits; in how many ways, in bits; whether it must be there;
    whether all that it matches has one length; how many calls of Java's matcher it may nest; and how many characters
    it must see before what follows can fail.
    """

    takes: int
    ways: float = 0.0
    needed: bool = True
    fixed: bool = True
    size: int = 1
    length: int = 1


@dataclass(frozen=True)
class Group:
    """What stands between two parentheses: alternatives, and whether none of them need be there."""

    alternatives: tuple[Sequence[Part | Group], ...]
    optional: bool = False

    @property
    def loose(self) -> bool:
        """Whether it can match one string in several ways; repeated without end, that is exponential."""
        return self.optional or len(self.alternatives) > 1 or any(
            one.loose if isinstance(one, Group) else one.ways for one in self.alternatives[0])

    @property
    def fixed(self) -> bool:
        """Whether all that it matches has one length: Java repeats that in a loop, and all else by calling itself."""
        return not self.optional and len(self.alternatives) == 1 and all(one.fixed for one in self.alternatives[0])

    @property
    def size(self) -> int:
        return 1 + sum(one.size for parts in self.alternatives for one in parts)

    @property
    def length(self) -> int:
        return max(sum(one.length for one in parts) for parts in self.alternatives)

    @property
    def takes(self) -> int:
        """Every character that something in it takes."""
        found = 0
        for parts in self.alternatives:
            for one in parts:
                found |= one.takes
        return found


def check_regex(pattern: str) -> int:
    """Refuse a regular expression that is invalid or may run away; answers how many groups it has."""
    if len(pattern) > MAX_PATTERN:
        raise bad_pattern(f"the pattern has more than {MAX_PATTERN} characters")
    items = ITEM.findall(pattern)
    for item in items:
        _check_item(item)
    _check_nesting(items)
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(f"the pattern is not valid: {error}") from None
    found = _Reading(pattern, items, compiled.flags).group()
    if found.size > MAX_PARTS:
        raise too_many_parts()
    begins = 0.0 if _anchored(items, compiled.flags, found) else ENDLESS
    if begins + _ways(found) > MAX_WAYS:
        raise bad_pattern("the pattern can match a string in too many ways, which can take forever",
                          "Begin it with ^, or put between two repetitions what neither takes, as in \\d+\\.\\d+.")
    return compiled.groups


def _check_item(item: str) -> None:
    if item.startswith("\\") and not SAFE_ESCAPE.fullmatch(item):
        raise bad_pattern(f"the escape {item} is not supported", "Use [a-z], \\d, \\w, \\s or the character itself.")
    if item == "{":
        raise bad_pattern("a { that starts no repetition must be written \\{")
    if item.startswith("["):
        inside = item[1:-1]
        if not item.endswith("]") or len(item) < 3 or inside == "^":
            raise bad_pattern("a character class is not closed")
        if not IN_CLASS.fullmatch(inside) or SETS.search(inside):
            raise bad_pattern("a character class holds [, && or an escape that is not supported", "Escape [ as \\[.")


def _check_nesting(items: Sequence[str]) -> None:
    depth = 0
    for before, item in zip(("", *items), items, strict=False):
        if item == ")":
            if not depth:
                raise bad_pattern("the pattern closes a group that it did not open")
            depth -= 1
        elif _opens(item):
            depth += 1
            if depth > MAX_GROUPS:
                raise bad_pattern(f"the pattern nests more than {MAX_GROUPS} groups")
        elif _opens(before) and _quantifier(item):
            # Python takes some forms of (?...) that Java does not, or means something else by them.
            raise bad_pattern("a group that begins with ? is not supported", "Use (?:...) or a plain group.")


def _opens(item: str) -> bool:
    return item.startswith("(") and not item.endswith(")")


def _quantifier(item: str) -> bool:
    return item[0] in "*+?" or (item[0] == "{" and len(item) > 1)


class _Reading:
    """One pass over the items of a pattern that is known to be whole."""

    def __init__(self, pattern: str, items: Sequence[str], flags: int) -> None:
        self._alphabet = Alphabet(pattern, flags)
        self._items: Iterator[str] = iter(items)
        self._next = next(self._items, None)

    def group(self) -> Group:
        """Alternatives up to the parenthesis that closes them, or to the end."""
        alternatives: list[Sequence[Part | Group]] = []
        parts: list[Part | Group] = []
        while self._next not in (None, ")"):
            item = self._take()
            if item == "|":
                alternatives.append(parts)
                parts = []
            elif not (item.startswith("(?") and item.endswith(")")):
                parts += self._repeated(item)
        return Group((*alternatives, parts))

    def _take(self) -> str:
        item = self._next
        assert item is not None
        self._next = next(self._items, None)
        return item

    def _repeated(self, item: str) -> Sequence[Part | Group]:
        """The parts of an item together with the repetition behind it."""
        group = None
        if _opens(item):
            group = self.group()
            self._take()  # the parenthesis that closes it
        least, most, count = self._count()
        if group is None:
            return [self._single(item, least, most, count)]
        looks = item not in ("(", "(?:")
        if count and (looks or (group.fixed and not group.length)):
            # Java goes round as often as it says, at one place; nested, the counts multiply.
            raise bad_pattern("what takes no characters is repeated", "Leave the repetition out: once is enough.")
        if not looks:
            return _repeat_group(group, least, most)
        if _ways(group) >= ENDLESS:
            raise bad_pattern("what a pattern looks ahead or behind for repeats without end",
                              "Repeat less there, as in {0,100}.")
        return [replace(group, optional=True)]  # it takes no characters, so it parts nothing

    def _single(self, item: str, least: int, most: int | None, count: str) -> Part:
        """A character or a class with its repetition; Java never gives back what a possessive one took."""
        if item in NOWHERE:
            return Part(0, needed=False, length=0)
        takes = self._alphabet.takes(item)
        uneven = bool(takes & self._alphabet.astral and takes & ~self._alphabet.astral)
        ways, length = _bits(least, most), least
        if self._next is None:
            ways = 0.0  # nothing stands behind it that could fail and send the matcher back into it
        elif len(count) > 1 and count.endswith("+"):
            ways, length = 0.0, ENOUGH if most is None else most
        nested = 1
        if uneven and most is not None and count.startswith("{") and count.endswith("}"):
            # Java runs .* and .{2,} in a loop, but calls itself in .{2,9} where a character is longer than the last.
            nested = 1 + (most - least) // 4  # a turn of a group takes four times the stack of a turn here
        return Part(takes, ways, least > 0, fixed=least == most and not uneven, size=nested,
                    length=min(length, ENOUGH))

    def _count(self) -> tuple[int, int | None, str]:
        """How often the item before is repeated, and the words for it."""
        if self._next is None or not _quantifier(self._next):
            return 1, 1, ""
        item = self._take()
        if item[0] in COUNTS:
            return *COUNTS[item[0]], item
        least, comma, most = item[1:].rstrip("}+?").partition(",")
        return int(least), (int(most) if most else None) if comma else int(least), item


def _bits(least: int, most: int | None) -> float:
    """The ways to end a repetition, in bits."""
    return ENDLESS if most is None else math.log2(most - least + 1)


def too_many_parts() -> SqlError:
    """The refusal of a pattern that is too large once its repetitions are written out."""
    return bad_pattern(f"the pattern has more than {MAX_PARTS} parts", "Repeat a group less often.")


def _repeat_group(group: Group, least: int, most: int | None) -> Sequence[Part | Group]:
    if least == most == 1:
        return [group]
    if most is None and not group.fixed:
        raise bad_pattern(*(FOREVER if group.loose else UNEVEN))
    size = group.size if group.fixed and least != most else (most or 0) * (group.size + 1)
    if size > MAX_PARTS:
        raise too_many_parts()
    if least != most and not group.loose:
        length = min(least * group.length, ENOUGH)
        return [Part(group.takes, _bits(least, most), needed=False, fixed=False, size=size, length=length)]
    assert most is not None  # what repeats without end is fixed, and so not loose
    return [*([group] * least), *([replace(group, optional=True)] * (most - least))]


def _ways(group: Group) -> float:
    """The most ways, in bits, in which one string can be matched: choices, and splits between repetitions."""
    return _choices(group) + _splits([group], {})[1]


def _choices(group: Group) -> float:
    inside = sum(_choices(one) for parts in group.alternatives for one in parts if isinstance(one, Group))
    return inside + math.log2(len(group.alternatives)) + group.optional


def _splits(parts: Sequence[Part | Group], before: Mapping[int, float]) -> tuple[dict[int, float], float]:
    """The repetitions that may still be given more or less after the parts, and the most ways of all, in bits.

    Repetitions stand by what they take, with the ways up to and including them; `before` are those ahead of the parts.
    """
    open_, most = dict(before), 0.0
    flat = list(_flat(parts))
    begins = True
    for at, one in enumerate(flat):
        if isinstance(one, Group):
            begins = True
            after: dict[int, float] = dict(open_) if one.optional else {}
            for inside in one.alternatives:
                left, found = _splits(inside, open_)
                after = {takes: max(left.get(takes, 0.0), after.get(takes, 0.0)) for takes in {*left, *after}}
                most = max(most, found)
            open_ = after
            continue
        if one.needed:
            open_ = {takes: ways for takes, ways in open_.items() if takes & one.takes}
        if not one.ways and not (begins and one.length):
            continue
        ahead = max((found for takes, found in open_.items() if takes & one.takes), default=0.0)
        if begins and ahead:
            most = max(most, ahead + _steps(flat[at:]))
        begins = bool(one.ways) or (begins and not one.needed)
        if one.ways:
            open_[one.takes] = max(one.ways + ahead, open_.get(one.takes, 0.0))
            most = max(most, one.ways + ahead)
    return open_, most


def _flat(parts: Sequence[Part | Group]) -> Iterator[Part | Group]:
    """The parts with what stands in a group that is always there and has no alternatives."""
    for one in parts:
        if isinstance(one, Group) and not one.optional and len(one.alternatives) == 1:
            yield from _flat(one.alternatives[0])
        else:
            yield one


def _steps(parts: Sequence[Part | Group]) -> float:
    """How many characters the parts up to the next repetition look at before they fail, on an average and in bits.

    Where one is looked at from several places, each of them is one where the first part fits, and so does a part that
    stands where it does: there are never more such places than parts that take what the first one takes.
    """
    first, places = parts[0].takes, 1
    for one in parts:
        if one.takes & first:
            places += one.length
        if isinstance(one, Part) and one.ways:
            break
    return math.log2(min(places, ENOUGH))


def _anchored(items: Sequence[str], flags: int, found: Group) -> bool:
    first = next((item for item in items if not (item.startswith("(?") and item.endswith(")"))), "")
    return first in ("^", "\\A") and len(found.alternatives) == 1 and not flags & re.MULTILINE
