"""The reader of committed states: what a query answers now, without a tick, a planner or Spark.

Kept: the query that an answer is made with is never older than the state that it is read from. A stream that this
process runs is read from memory; any other stream is read as the catalog has it at that moment.
"""

from __future__ import annotations

import threading
from functools import partial

from weft.read.answers import Answers
from weft.read.reader import Reader
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.store.catalog import Catalog
from weft.store.committed import CommittedState
from weft.store.state import StreamState


class StateReader:
    """Reads the committed states of all streams; safe to use from several threads."""

    def __init__(self, registry: Registry, catalog: Catalog, reader: Reader) -> None:
        self._registry, self._catalog, self._reader = registry, catalog, reader
        self._committed: dict[str, CommittedState] = {}
        self._lock = threading.RLock()

    def answers(self, name: str) -> Answers:
        """What a query answers now: from the newest committed state of its stream, with the query as it is then."""
        stream = self._registry.stream_of(name)
        if stream is not None and (committed := self.committed(stream)).is_run_here():
            # The state first: what is registered may be newer, but never older. A query that moved since is then read
            # from where its rows were; an older query would miss the rows that came since.
            state, query = committed.current, self._registry.query(name)
            if query.row.stream == stream:
                return Answers(query, state, self._reader)
        if stream is None:
            with self._catalog.read() as snapshot:
                stream = self._registry.read(name, snapshot).row.stream
        state, query = self.committed(stream).reload(partial(self._registry.read, name))
        if query.row.stream != stream:
            # Dropped and registered again, on another stream, by another process: what is known here is older.
            self._registry.refresh()
            return self.answers(name)
        return Answers(query, state, self._reader)

    def registered(self, name: str) -> Registered:
        """A query as it is registered now."""
        stream = self._registry.stream_of(name)
        if stream is not None and self.committed(stream).is_run_here():
            return self._registry.query(name)
        with self._catalog.read() as snapshot:
            return self._registry.read(name, snapshot)

    def state_of(self, stream: str) -> StreamState:
        """The newest committed state of a stream; the catalog is asked only where this process does not run it."""
        committed = self.committed(self._registry.stream(stream).name)
        return committed.current if committed.is_run_here() else committed.reload(self._registry.follow)[0]

    def committed(self, stream: str) -> CommittedState:
        """The committed state of a stream as this process knows it, which the ticks of the stream replace."""
        with self._lock:
            if stream not in self._committed:
                self._committed[stream] = CommittedState(stream, self._catalog)
            return self._committed[stream]
