"""What Spark's Java calls with every batch of a streaming query, and what is left of that when the query is over.

Java holds for as long as it lives what it was given to call, and until some collection of its garbage, which may be
hours away, the connection over which a query's thread called: each has a thread here and what that thread allocated.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Stopped(Exception):
    """A tick began while its stream was being stopped; Spark runs the batch again at the next start."""


class CalledBack:
    """The function that a streaming query calls with its batches, until the query is over."""

    def __init__(self, tick: Callable[[DataFrame, int], None]) -> None:
        self._tick: Callable[[DataFrame, int], None] | None = tick
        self._connection: Any = None

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        tick = self._tick
        if tick is None:
            raise Stopped
        if self._connection is None:
            self._connection = _connection_of_thread(rows)
        tick(rows, batch_id)

    def let_go(self) -> None:
        """Let go of the stream, and end the thread that the query called in; nobody calls any more."""
        self._tick = None
        connection, self._connection = self._connection, None
        # A thread of Python's own that called Java goes on.
        line = None if connection is None or connection.initiated_from_client else connection.socket
        if line is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


def _connection_of_thread(rows: DataFrame) -> Any:
    """The connection over which Java called this thread; None where threads have none of their own."""
    client = getattr(rows.sparkSession.sparkContext._gateway, "_gateway_client", None)
    found = getattr(client, "get_thread_connection", None)
    return None if found is None else found()
