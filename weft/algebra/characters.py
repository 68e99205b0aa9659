r"""Which characters an item of a regular expression takes, as bits: one for each character that could matter.

A literal is looked up and a class is read item by item, so that a thousand of them cost no search each. The classes \w,
\d and \s of Java, and (?i), are those of ASCII: \W takes é, and (?i)é does not take É.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right

# The first characters of every alphabet are all up to here, so that a character's code is its place.
DENSE = 0x180
CONTROLS = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\f": "\f"}
LETTERS = tuple((1 << ord(low)) | (1 << ord(low.upper())) for low in string.ascii_lowercase)


def _bits(characters: str) -> int:
    return sum(1 << ord(one) for one in characters)


CATEGORIES = {"d": _bits(string.digits), "s": _bits(string.whitespace),
              "w": _bits(string.ascii_letters + string.digits + "_")}


class Alphabet:
    """The characters that tell the items of one pattern apart: those in it, their neighbours, and a few for all others.

    Every range that meets another has an end of one of the two in the other, and the ends are all here.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        near = {chr(min(max(ord(one) + step, 0), 0x10FFFF)) for one in {*pattern} for step in (-1, 0, 1)}
        cases = {form for one in near for form in (one.lower(), one.upper()) if len(form) == 1}
        self.letters = "".join(sorted({*map(chr, range(DENSE)), *near, *cases, "\u2028", "中", "🧵"}))
        self._places = {one: place for place, one in enumerate(self.letters)}
        self._all = (1 << len(self.letters)) - 1
        self._any = self._all if flags & re.DOTALL else self._all ^ _bits("\n")
        self._folded = bool(flags & re.IGNORECASE)
        self.astral = self._range("\U00010000", "\U0010ffff")

    def takes(self, item: str) -> int:
        """The characters that a literal, an escape, a class or a dot takes.

        >>> plain = Alphabet("a-z", 0)
        >>> plain.takes("[^b]") & plain.takes("b"), plain.takes("[a-c]") & plain.takes("b") == plain.takes("b")
        (0, True)
        """
        if item == ".":
            return self._any
        if item[0] == "[" and len(item) > 1:
            return self._class(item[1:-1])
        return self._either_case(self._one(item))

    def _one(self, item: str) -> int:
        """A character, alone or behind a backslash, or a category."""
        if len(item) == 1:
            return 1 << self._places[item]
        category = CATEGORIES.get(item[1].lower())
        if category is not None:
            return category if item[1].islower() else self._all ^ category
        return 1 << self._places[_character(item)]

    def _class(self, inside: str) -> int:
        negated = inside[0] == "^"
        parts = re.findall(r"\\.|.", inside[negated:], re.DOTALL)
        found, at = 0, 0
        while at < len(parts):
            if parts[at + 1 : at + 2] == ["-"] and at + 2 < len(parts):
                found |= self._range(_character(parts[at]), _character(parts[at + 2]))
                at += 3
            else:
                found |= self._one(parts[at])
                at += 1
        found = self._either_case(found)
        return self._all ^ found if negated else found

    def _range(self, low: str, high: str) -> int:
        return (1 << bisect_right(self.letters, high)) - (1 << bisect_left(self.letters, low))

    def _either_case(self, found: int) -> int:
        for both in LETTERS if self._folded else ():
            if found & both:
                found |= both
        return found


def _character(item: str) -> str:
    r"""The character that a literal stands for, as in \n, \- or x."""
    return CONTROLS.get(item, item[-1])
