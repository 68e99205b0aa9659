"""The tables of a configuration, read key by key.

Keeps: a wrong key or type becomes a note with its position and reading goes on, so that a run shows all that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from weft.config.positions import KeyPositions, Keys
from weft.errors import Problem, WeftError

# Options of Spark have a few parts; more would be a name that nothing reads.
MAX_PARTS = 32
MAX_WHOLE = 2**63
KINDS = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}


class Notes:
    """The problems of a file, as far as it has been read."""

    def __init__(self, file: str, positions: KeyPositions) -> None:
        self.file, self.positions = file, positions
        self.problems: list[Problem] = []

    def add(self, keys: Keys, code: str, message: str, hint: str = "") -> None:
        """Note something about a key."""
        self.problems.append(Problem(self.file, self.positions.key(*keys), code, message, hint))

    def error(self, keys: Keys, error: WeftError, *, inside: bool = False) -> None:
        """Note what was refused about a key's value; with `inside`, at its position within that text."""
        position = self.positions.within(error.position, *keys) if inside else self.positions.key(*keys)
        self.problems.append(Problem(self.file, position, error.code, error.message, error.hint))


@dataclass(frozen=True)
class Table:
    """A table and the keys that lead to it."""

    notes: Notes
    keys: Keys
    content: Mapping[str, Any]

    def only(self, known: Iterable[str]) -> None:
        """Note every key that is not known, with known keys that look like it."""
        names = tuple(known)
        for key in self.content:
            if key not in names:
                near = get_close_matches(key, names, n=2)
                hint = f"Did you mean {' or '.join(near)}?" if near else f"Known keys: {', '.join(names)}."
                where = f" in [{'.'.join(self.keys)}]" if self.keys else ""
                self.notes.add((*self.keys, key), "unknown-key", f"unknown key {key!r}{where}", hint)

    def text(self, key: str, *, default: str = "", required: bool = False) -> str:
        """The text of a key; the default where the key is missing or holds no text."""
        if key not in self.content:
            if required:
                self.notes.add(self.keys, "missing-key", f"[{'.'.join(self.keys)}] needs {key}",
                               f'Add a line: {key} = "...".')
            return default
        return self._typed(key, str) or default

    def flag(self, key: str) -> bool:
        """The truth of a key; false where it is missing or no truth."""
        return bool(self._typed(key, bool)) if key in self.content else False

    def texts(self, key: str) -> list[str]:
        """A list of texts, or a single text on its own."""
        value = self.content.get(key, [])
        if isinstance(value, str):
            return [value]
        texts = (self._typed(key, list) or []) if key in self.content else []
        if not all(isinstance(value, str) for value in texts):
            self.notes.add((*self.keys, key), "bad-type", f"{key} must hold texts only", f'Write {key} = ["..."].')
        return [value for value in texts if isinstance(value, str)]

    def table(self, key: str) -> Table:
        """The table of a key; empty where there is no such key."""
        return Table(self.notes, (*self.keys, key), (self._typed(key, dict) or {}) if key in self.content else {})

    def tables(self, key: str, *, also_text: bool = False) -> dict[str, Table]:
        """The tables in a table, by name; with `also_text` a text may stand for a table."""
        outer, tables = self.table(key), {}
        for name, value in outer.content.items():
            if isinstance(value, dict):
                tables[name] = Table(self.notes, (*outer.keys, name), value)
            elif also_text and isinstance(value, str):
                tables[name] = Table(self.notes, (*outer.keys, name), {})
            else:
                wanted = "a text or a table" if also_text else "a table"
                self.notes.add((*outer.keys, name), "bad-type", f"{key}.{name} must be {wanted}, not {_kind(value)}",
                               f"Write [{key}.{name}] and its keys below.")
        return tables

    def _typed(self, key: str, kind: type) -> Any:
        value = self.content[key]
        if isinstance(value, kind):
            return value
        quotable = kind is str and not isinstance(value, dict | list) and not _huge(value)
        self.notes.add((*self.keys, key), "bad-type", f"{key} must be {KINDS[kind]}, not {_kind(value)}",
                       f'Put it in quotes: {key} = "{value}".' if quotable else "")
        return None


def flatten(table: Table, depth: int = 1) -> dict[str, str]:
    """Nested tables as dotted keys with texts as values: `a.b = 1` is {"a.b": "1"}."""
    flat: dict[str, str] = {}
    for key, value in table.content.items():
        keys = (*table.keys, key)
        if isinstance(value, dict) and depth == MAX_PARTS:
            table.notes.add(keys, "too-deep", f"a key has more than {MAX_PARTS} parts", "Use fewer dots.")
        elif isinstance(value, dict):
            inner = flatten(Table(table.notes, keys, value), depth + 1)
            flat |= {f"{key}.{name}": text for name, text in inner.items()}
        elif isinstance(value, bool):
            flat[key] = str(value).lower()
        elif _huge(value):
            table.notes.add(keys, "bad-type", f"{key} is a number of more than 64 bits", "Put it in quotes.")
        elif isinstance(value, str | int | float):
            flat[key] = str(value)
        else:
            table.notes.add(keys, "bad-type", f"{key} must be a text or a number, not {_kind(value)}")
    return flat


def _huge(value: object) -> bool:
    """Whether it is a number that TOML does not promise, and that Python may refuse to write out."""
    return isinstance(value, int) and not -MAX_WHOLE <= value < MAX_WHOLE


def _kind(value: object) -> str:
    return next((words for kind, words in KINDS.items() if type(value) is kind), "a moment")
