"""The canonical query: what one SQL text means, in our own words. Past this point there is no sqlglot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from weft.algebra.expressions import Aggregate, Expression, text
from weft.algebra.types import DataType
from weft.algebra.windows import Window


@dataclass(frozen=True)
class StreamSchema:
    """What a query may know of a stream: its columns in order, and which of them is the event time."""

    name: str
    columns: Mapping[str, DataType]
    event_time: str


class AggregateTypes(Protocol):
    """The aggregate functions that a query may call; the catalog in weft/aggregates is one."""

    def names(self) -> frozenset[str]:
        """Every spelling, in lower case."""
        ...

    def bind(self, function: str, arguments: tuple[Expression, ...], distinct: bool) -> Aggregate:
        """The call by its canonical name with its casts and its type; refuses wrong types without a position."""
        ...

    def over(self, event_time: str) -> AggregateTypes:
        """The same functions for a stream with this event-time column, which first and last go by."""
        ...


@dataclass(frozen=True)
class SelectItem:
    """One column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class OrderItem:
    """One key of ORDER BY; where nulls go is always written out."""

    expression: Expression
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Query:
    """A continuous aggregate query over one stream.

    `groups` are the group expressions without the window, sorted and without repeats. Expressions in `select`,
    `having` and `order` are over group expressions (written out), aggregates and the window.
    """

    stream: str
    window: Window | None
    groups: tuple[Expression, ...]
    where: Expression | None
    select: tuple[SelectItem, ...]
    having: Expression | None = None
    order: tuple[OrderItem, ...] = ()
    limit: int | None = None

    def __str__(self) -> str:
        lines = [f"stream {self.stream}", f"window {self.window or 'none'}"]
        if self.groups:
            lines.append("group " + ", ".join(map(text, self.groups)))
        if self.where is not None:
            lines.append(f"where {text(self.where)}")
        lines += [f"select {item.name} = {text(item.expression)} : {item.expression.type}" for item in self.select]
        if self.having is not None:
            lines.append(f"having {text(self.having)}")
        lines += [f"order {text(key.expression)} {'asc' if key.ascending else 'desc'} "
                  f"nulls {'first' if key.nulls_first else 'last'}" for key in self.order]
        if self.limit is not None:
            lines.append(f"limit {self.limit}")
        return "\n".join(lines)
