"""What a query may know of a feed before it is bound: its columns and its event time, and which functions aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from weft.algebra.expressions import Aggregate, Expression
from weft.algebra.types import DataType


@dataclass(frozen=True)
class FeedSchema:
    """What a query may know of a feed: its columns in order, and which of them is the event time."""

    name: str
    columns: Mapping[str, DataType]
    event_time: str
    # Further columns of types that cannot be computed with, and their types in Spark's words.
    unusable: Mapping[str, str] = field(default_factory=dict)


class AggregateTypes(Protocol):
    """The aggregate functions that a query may call; weft/aggregates/catalog.py implements it."""

    def names(self) -> frozenset[str]:
        """Every spelling of a function's name, in lower case."""
        ...

    def bind(self, function: str, arguments: tuple[Expression, ...], distinct: bool) -> Aggregate:
        """The call by its canonical name with its casts and its type; refuses wrong types without a position."""
        ...

    def over(self, event_time: str) -> AggregateTypes:
        """The same functions for a feed with this event-time column, which first and last go by."""
        ...
