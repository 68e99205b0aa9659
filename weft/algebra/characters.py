r"""Which characters an item of a regular expression takes, as a set of bits: a bit for each character that matters.

A literal is looked up and a class is read item by item, so that a thousand items cost no search each. The classes \w,
\d and \s of Java, and (?i), know ASCII only: \W takes é, and (?i)é does not take É.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right

# Every alphabet starts with all characters below this code, so that their code is their index.
DENSE = 0x180
CONTROLS = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\f": "\f"}
CASE_PAIRS = tuple((1 << ord(low)) | (1 << ord(low.upper())) for low in string.ascii_lowercase)


def _bits(characters: str) -> int:
    return sum(1 << ord(character) for character in characters)


CATEGORIES = {"d": _bits(string.digits), "s": _bits(string.whitespace),
              "w": _bits(string.ascii_letters + string.digits + "_")}


class Alphabet:
    """The characters that tell the items of a pattern apart: its own, their neighbours, and a few for all others.

    Of two ranges that meet, one range holds an end of the other, and the alphabet has the ends of all ranges.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        near = {chr(min(max(ord(own) + step, 0), 0x10FFFF)) for own in {*pattern} for step in (-1, 0, 1)}
        cases = {form for letter in near for form in (letter.lower(), letter.upper()) if len(form) == 1}
        self.letters = "".join(sorted({*map(chr, range(DENSE)), *near, *cases, "\u2028", "中", "🧵"}))
        self._indexes = {letter: index for index, letter in enumerate(self.letters)}
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
        return self._either_case(self._single(item))

    def _single(self, item: str) -> int:
        """What a character takes, alone or behind a backslash, or a category."""
        if len(item) == 1:
            return 1 << self._indexes[item]
        category = CATEGORIES.get(item[1].lower())
        if category is not None:
            return category if item[1].islower() else self._all ^ category
        return 1 << self._indexes[_character(item)]

    def _class(self, inside: str) -> int:
        negated = inside[0] == "^"
        parts = re.findall(r"\\.|.", inside[negated:], re.DOTALL)
        taken, at = 0, 0
        while at < len(parts):
            if parts[at + 1 : at + 2] == ["-"] and at + 2 < len(parts):
                taken |= self._range(_character(parts[at]), _character(parts[at + 2]))
                at += 3
            else:
                taken |= self._single(parts[at])
                at += 1
        taken = self._either_case(taken)
        return self._all ^ taken if negated else taken

    def _range(self, low: str, high: str) -> int:
        return (1 << bisect_right(self.letters, high)) - (1 << bisect_left(self.letters, low))

    def _either_case(self, taken: int) -> int:
        """The same characters, with both cases of every letter where the pattern ignores case."""
        for both in CASE_PAIRS if self._folded else ():
            if taken & both:
                taken |= both
        return taken


def _character(item: str) -> str:
    r"""The character that a literal stands for, as in \n, \- or x."""
    return CONTROLS.get(item, item[-1])
