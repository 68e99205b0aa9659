"""What rows are merged by, as data: a backend writes it as SQL, or works it out itself where rows are few.

Whatever is not of these kinds is a `Term`, SQL and a name, which only a database computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Term = tuple[str, str]
"""A column as SQL, and its name."""


@dataclass(frozen=True)
class Same:
    """A column as it is."""

    name: str

    @property
    def sql(self) -> str:
        return '"' + self.name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Constant:
    """A whole number that all rows have: of 64 bits, or of 8."""

    value: int
    name: str
    tiny: bool = False

    @property
    def sql(self) -> str:
        return f"CAST({self.value} AS {'TINYINT' if self.tiny else 'BIGINT'})"


@dataclass(frozen=True)
class Aligned:
    """A column of whole numbers, each lowered to a multiple of a length, in its own place."""

    name: str
    length: int

    @property
    def sql(self) -> str:
        # The remainder of a negative number is negative in DuckDB.
        return f"({self.name} - (({self.name} % {self.length}) + {self.length}) % {self.length})"


@dataclass(frozen=True)
class Either:
    """A tiny number where a column is before a moment, and another from it on."""

    column: str
    moment: int
    before: int
    after: int
    name: str

    @property
    def sql(self) -> str:
        return f"CAST(CASE WHEN {self.column} < {self.moment} THEN {self.before} ELSE {self.after} END AS TINYINT)"


@dataclass(frozen=True)
class Greatest:
    """The greatest value of a column, which is no key but goes beside the statistics."""

    name: str

    @property
    def sql(self) -> str:
        return f"max({self.name})"


Key = Same | Constant | Aligned | Either | Greatest


def terms(keys: Iterable[Key | Term]) -> list[Term]:
    """The keys as SQL, each with its name."""
    return [key if isinstance(key, tuple) else (key.sql, key.name) for key in keys]
