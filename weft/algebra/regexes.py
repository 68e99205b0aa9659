r"""A regular expression is allowed if Python and Java read it alike and no string makes it run away.

What a matcher that goes back to its choices can cost is bounded before a row is seen (weft/algebra/backtracking.py).

Java's matcher calls itself for each turn of a repetition whose turns can differ in length, and an overflow of its stack
ends the whole Java process. So a group that repeats without end has a body of fixed length, counted in Java's
characters, of which 🧵 has two; and the calls that all the rest can nest are counted as parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from weft.algebra.backtracking import ENDLESS, ENOUGH, PatternGroup, PatternPart, ways_to_match
from weft.algebra.characters import Alphabet
from weft.algebra.patterns import MAX_PATTERN, bad_pattern
from weft.errors import SqlError

MAX_GROUPS = 20
# At 2,000 parts, some patterns take half a megabyte of Java's stack, of which a thread has one megabyte.
MAX_PARTS = 1000
# At most the cube of the length of a string, times a few choices.
MAX_WAYS = 3 * ENDLESS + 4

# Escapes, classes, flags, groups, alternatives, repetitions, and everything else a character at a time.
ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[ims]+\)|\(\?(?::|=|!|<=|<!)|\(|\)|\|"
                  r"|[*+?][+?]?|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}[+?]?|.", re.DOTALL)
SAFE_ESCAPE = re.compile(r"\\[dDwWsSbBntrfA.^$*+?()\[\]{}|\\/\-_ ,:;=<>!@#%&~\"'`]")
# What may stand in a class, where Java reads [a[b]] and [a&&b] as sets of sets and Python does not.
IN_CLASS = re.compile(r"(?:\\[dDwWsSntrf.^$*+?()\[\]{}|\\/\-]|[^\\\[])*+")
SETS = re.compile(r"&&|--|~~|\|\|")
ZERO_WIDTH = frozenset({"^", "$", "\\b", "\\B", "\\A"})
COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
FOREVER = ("a repeated group holds a repetition or an alternative, which can take forever",
           "Repeat a single character or class, as in [a-z]+.")
UNEVEN = ("a repeated group can have several lengths, which can exhaust the stack",
          "Say how often it may repeat, as in {1,100}, and use classes that take only ASCII, as in [ -~].")


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
    whole = _Reading(pattern, items, compiled.flags).group()
    if whole.size > MAX_PARTS:
        raise too_many_parts()
    begins = 0.0 if _anchored(items, compiled.flags, whole) else ENDLESS
    if begins + ways_to_match(whole) > MAX_WAYS:
        raise bad_pattern("the pattern can match a string in too many ways, which can take forever",
                          "Begin it with ^, or put between two repetitions what neither takes, as in \\d+\\.\\d+.")
    return compiled.groups


def _check_item(item: str) -> None:
    """Refuse an escape, a brace or a class that Java and Python would read differently."""
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
    """Refuse parentheses that do not match, nest too deep, or open a group of an unknown form."""
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

    def group(self) -> PatternGroup:
        """Alternatives up to the parenthesis that closes them, or to the end."""
        alternatives: list[Sequence[PatternPart | PatternGroup]] = []
        parts: list[PatternPart | PatternGroup] = []
        while self._next not in (None, ")"):
            item = self._take()
            if item == "|":
                alternatives.append(parts)
                parts = []
            elif not (item.startswith("(?") and item.endswith(")")):
                parts += self._repeated(item)
        return PatternGroup((*alternatives, parts))

    def _take(self) -> str:
        item = self._next
        assert item is not None
        self._next = next(self._items, None)
        return item

    def _repeated(self, item: str) -> Sequence[PatternPart | PatternGroup]:
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
            # Java repeats it as often as the count says, without moving on; nested, the counts multiply.
            raise bad_pattern("what takes no characters is repeated", "Leave the repetition out: once is enough.")
        if not looks:
            return _repeat_group(group, least, most)
        if ways_to_match(group) >= ENDLESS:
            raise bad_pattern("what a pattern looks ahead or behind for repeats without end",
                              "Repeat less there, as in {0,100}.")
        return [replace(group, optional=True)]  # it takes no characters, so it separates nothing

    def _single(self, item: str, least: int, most: int | None, count: str) -> PatternPart:
        """A character or a class with its repetition; Java never gives back what a possessive repetition took."""
        if item in ZERO_WIDTH:
            return PatternPart(0, needed=False, length=0)
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
        return PatternPart(takes, ways, least > 0, fixed=least == most and not uneven, size=nested,
                    length=min(length, ENOUGH))

    def _count(self) -> tuple[int, int | None, str]:
        """How often the item before is repeated, at least and at most, and the text that says so."""
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


def _repeat_group(group: PatternGroup, least: int, most: int | None) -> Sequence[PatternPart | PatternGroup]:
    """The parts that a repeated group counts as; refuses a group that cannot be repeated so often."""
    if least == most == 1:
        return [group]
    if most is None and not group.fixed:
        raise bad_pattern(*(FOREVER if group.loose else UNEVEN))
    size = group.size if group.fixed and least != most else (most or 0) * (group.size + 1)
    if size > MAX_PARTS:
        raise too_many_parts()
    if least != most and not group.loose:
        length = min(least * group.length, ENOUGH)
        return [PatternPart(group.takes, _bits(least, most), needed=False, fixed=False, size=size, length=length)]
    assert most is not None  # what repeats without end is fixed, and so not loose
    return [*([group] * least), *([replace(group, optional=True)] * (most - least))]


def _anchored(items: Sequence[str], flags: int, whole: PatternGroup) -> bool:
    """Whether the pattern can match only at the beginning of a string."""
    first = next((item for item in items if not (item.startswith("(?") and item.endswith(")"))), "")
    return first in ("^", "\\A") and len(whole.alternatives) == 1 and not flags & re.MULTILINE
