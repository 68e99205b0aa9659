"""A feed: rows with an event time that queries stand on. A stream is the first kind of it.

Who plans, registers or bounds a query speaks of feeds; who reads a source, numbers batches or commits ticks, of
streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from weft.algebra.query import Query
from weft.algebra.schema import FeedSchema
from weft.algebra.windows import Clock
from weft.errors import SqlError


class Feed(Protocol):
    """What the network needs to know of the rows that it aggregates."""

    @property
    def name(self) -> str:
        """By which queries name it."""

    @property
    def schema(self) -> FeedSchema:
        """Its columns and its event time."""

    @property
    def clock(self) -> Clock:
        """What its windows are measured by."""

    @property
    def delay(self) -> int:
        """How far its watermark stays behind its newest row, in microseconds."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose batches bring its rows."""


def stream_of(query: Query, feeds: Mapping[str, Feed]) -> str:
    """The stream whose ticks answer a query; refuses a query that no ticks answer yet."""
    streams = {stream for name in query.feeds for stream in feeds[name].streams}
    if len(query.blocks) > 1 or len(streams) > 1:
        named = ", ".join(query.feeds)
        raise SqlError("unsupported-clause", f"a query of several parts, here over {named}, is not supported",
                       hint="Register a query for each part.")
    window = query.block.window
    if not feeds[query.block.feed].clock.feeds(window.clock):
        raise SqlError("unsupported-clause", f"{query.block.feed} has no clock for {window}",
                       hint="Leave the window out: totals need none.")
    [stream] = streams
    return stream
