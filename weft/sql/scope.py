"""Resolve the names of a query: a column of the stream, the window of the group, or an alias where aliases count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from weft.algebra.expressions import Column, Expression, WindowPart
from weft.algebra.functions import NONDETERMINISTIC, function_named
from weft.algebra.types import DataType
from weft.errors import SqlError
from weft.sql.ddl import unusable_hint


def known_names_hint(word: str, known: Iterable[str]) -> str:
    """A hint with the names that look like a word, or all of them when they are few."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_lower, n=3) or (list(by_lower) if len(by_lower) <= 8 else [])
    return f"Known names: {', '.join(by_lower[name] for name in close)}." if close else ""


@dataclass(frozen=True)
class Scope:
    """Which names there are, in any case of letters; `aliases` come before columns, but not inside aggregates."""

    columns: Mapping[str, DataType]
    qualifiers: frozenset[str] = frozenset()
    windowed: bool = False
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_lower = {name.lower(): Column(name, kind) for name, kind in self.columns.items()}
        object.__setattr__(self, "_columns", by_lower)

    def column(self, name: str) -> Column | None:
        """The column of a name in any case."""
        column: Column | None = self.__dict__["_columns"].get(name.lower())
        return column

    def resolve(self, node: exp.Column, *, aliases: bool) -> Expression:
        """The expression that a name stands for; `aliases` says whether it may be an alias."""
        name = node.name
        qualifier = node.text("table").lower()
        if isinstance(node.this, exp.Star):
            raise SqlError("unsupported-clause", "SELECT * is not supported", hint="Name the columns.")
        if node.text("db"):
            raise self._unknown(".".join(part.name for part in node.parts))
        if qualifier:
            return self._qualified(qualifier, name, aliases=aliases)
        alias = self.aliases.get(name.lower()) if aliases else None
        expression = alias or self.column(name)
        if expression is None and self.windowed and name.lower() == "window":
            expression = self._window(aliases)
        if expression is None:
            if name.lower() in NONDETERMINISTIC:
                function_named(name)
            raise self._unknown(name)
        return expression

    def _qualified(self, qualifier: str, name: str, *, aliases: bool) -> Expression:
        if qualifier in self.qualifiers:
            column = self.column(name)
            if column is None:
                raise self._unknown(name)
            return column
        holder = self.aliases.get(qualifier) if aliases else None
        if holder is None and self.windowed and qualifier == "window":
            holder = self._window(aliases)
        if holder == WindowPart("window"):
            if name.lower() not in ("start", "end"):
                raise SqlError("unknown-column", f"the window has no part {name!r}",
                               hint="It has window.start and window.end.")
            return WindowPart(name.lower())
        raise self._unknown(f"{qualifier}.{name}")

    def _window(self, outside: bool) -> WindowPart:
        if not outside:
            raise SqlError("bad-window", "the window is not aggregated: it is one and the same for all rows of a group",
                           hint="Use window.start or window.end itself.")
        return WindowPart("window")

    def _unknown(self, name: str) -> SqlError:
        last = name.rpartition(".")[2]
        for column, kind in self.unusable.items():
            if column.lower() == last.lower():
                return SqlError("unsupported-type", f"the column {column[:60]!r} is there, but its type {kind[:60]} "
                                "cannot be computed with", hint=unusable_hint(kind))
        hint = known_names_hint(last, [*self.columns, *self.aliases])
        if name.lower() in ("window", "window.start", "window.end"):
            hint = "There is a window where GROUP BY has window(...)."
        return SqlError("unknown-column", f"there is no column {name[:60]!r}", hint=hint)
