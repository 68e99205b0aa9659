"""Where the keys of a TOML text stand: tomllib gives values without lines, an error needs its line.

The text has been parsed by tomllib before, so this only has to find keys in TOML that is known to be whole. Keys inside
an inline table have the position of the key that holds the table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import Position

Keys = tuple[str, ...]

_KEY = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))\s*')
_SPACES = re.compile(r"[ \t]*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)


@dataclass(frozen=True)
class KeyPositions:
    """The offsets of all keys and of their values; a table's value is its own key."""

    text: str
    keys: Mapping[Keys, int]
    values: Mapping[Keys, int]

    def key(self, *keys: str) -> Position:
        """Where a key stands, or the nearest table around it that is there.

        >>> find_positions("[streams.a]\\nsource = 'rate'").key("streams", "a", "path")
        Position(line=1, column=1)
        """
        return position_in(self.text, self.keys[self._nearest(keys)]) if self.keys else Position(1, 1)

    def within(self, position: Position | None, *keys: str) -> Position:
        """Where in the file a position of a text value stands.

        >>> find_positions("sql = 'SELECT x'").within(Position(1, 8), "sql")
        Position(line=1, column=15)
        """
        start = self.values.get(keys)
        if start is None or position is None:
            return self.key(*keys)
        mark = self.text[start : start + 3]
        opened = start + (3 if mark in ('"""', "'''") else 1)
        if mark in ('"""', "'''") and self.text[opened : opened + 1] == "\n":
            opened += 1  # TOML leaves out a newline right after the quotes
        first = position_in(self.text, opened)
        column = position.column + (first.column - 1 if position.line == 1 else 0)
        return Position(first.line + position.line - 1, column)

    def _nearest(self, keys: Keys) -> Keys:
        while keys and keys not in self.keys:
            # `[a.b]` makes a table `a` that has no line of its own.
            inner = next((path for path in self.keys if path[: len(keys)] == keys), None)
            if inner is not None:
                return inner
            keys = keys[:-1]
        return keys if keys else next(iter(self.keys))


def find_positions(text: str) -> KeyPositions:
    """The positions of all keys of a valid TOML text.

    >>> sorted(find_positions("a = 1\\n[b]\\nc.d = [\\n 'x = 1',\\n]\\ne = 2").keys)
    [('a',), ('b',), ('b', 'c', 'd'), ('b', 'e')]
    """
    keys: dict[Keys, int] = {}
    values: dict[Keys, int] = {}
    table: Keys = ()
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        elif text[at] == "[":
            table, _ = _keys(text, at + (2 if text.startswith("[[", at) else 1))
            keys.setdefault(table, at)
            at = _line_end(text, at)
        else:
            path, after = _keys(text, at)
            keys.setdefault((*table, *path), at)
            start = _after_spaces(text, after + 1)
            values[(*table, *path)] = start
            at = _value_end(text, start)
    return KeyPositions(text, keys, values)


def deep_position(text: str, most: int) -> Position | None:
    """Where lists and inline tables begin to stand in more than so many others; None where they never do.

    >>> deep_position("a = '[[['\\nb = [[1]]", 1)
    Position(line=2, column=6)
    """
    depth, at = 0, 0
    while at < len(text):
        if text[at] in "\"'" and (match := _STRING.match(text, at)):
            at = match.end()
            continue
        if text[at] == "#":
            at = _line_end(text, at)
            continue
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
        if depth > most:
            return position_in(text, at)
        at += 1
    return None


def position_in(text: str, offset: int) -> Position:
    """The line and the column of an offset."""
    start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - start + 1)


def _after_spaces(text: str, at: int) -> int:
    spaces = _SPACES.match(text, at)
    return spaces.end() if spaces else at


def _keys(text: str, at: int) -> tuple[Keys, int]:
    """A dotted key and where it ends."""
    parts: list[str] = []
    while match := _KEY.match(text, at):
        name = next(name for name in match.groups() if name is not None)
        # Only in double quotes a backslash means something else than itself.
        parts.append(name if match[1] is None or "\\" not in name else tomllib.loads(f'key = "{name}"')["key"])
        at = match.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(parts), at


def _value_end(text: str, at: int) -> int:
    """The end of the line that a value ends on."""
    depth = 0
    while at < len(text):
        if text[at] in "\"'" and (match := _STRING.match(text, at)):
            at = match.end()
            continue
        if text[at] == "#":
            at = _line_end(text, at)
            continue
        if text[at] == "\n" and depth == 0:
            return at
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
