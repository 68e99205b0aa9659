"""The newest committed state of a stream as this process knows it: loaded by readers, replaced by ticks.

Keeps: it only moves forward; while a tick is under way here, the state is the tick's and nobody loads another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from weft.store.catalog import Catalog, Snapshot
from weft.store.state import StreamState, load_state

Beside = TypeVar("Beside")


class CommittedState:
    """The newest committed state of one stream; safe to use from several threads."""

    def __init__(self, stream: str, catalog: Catalog) -> None:
        self.stream = stream
        self.current = StreamState(stream)
        """The state that is known here; its files stay for a lease after they left the catalog."""
        self.is_run_here: Callable[[], bool] = lambda: False
        """Whether this process runs the stream, so that nobody else commits anything."""
        self._catalog = catalog
        self._loading = threading.Lock()
        self._ticking = False

    def reload(self, beside: Callable[[Snapshot], Beside]) -> tuple[StreamState, Beside]:
        """Load the state as any process may have committed it, and what `beside` reads of the catalog at that moment.

        While a tick is under way here, the state is this process's own: what is beside it may be newer, never older.
        """
        # A thread that comes while another loads waits: what it read beside may be newer already than the known state.
        with self._loading:
            state = self.current
            with self._catalog.read() as snapshot:
                beside_it = beside(snapshot)
                if not self._ticking and not self._is_newest(snapshot):
                    state = self.current = load_state(self.stream, snapshot)
            return state, beside_it

    @contextmanager
    def tick_under_way(self) -> Iterator[None]:
        """Keep readers from loading another state until the tick is done."""
        with self._loading:
            self._ticking = True
        try:
            yield
        finally:
            self._ticking = False

    def load(self) -> StreamState:
        """Load the state from the catalog, as after a tick that failed when part of its changes were committed."""
        with self._catalog.read() as snapshot:
            self.current = load_state(self.stream, snapshot)
        return self.current

    def put(self, state: StreamState) -> None:
        """Take over the state that a tick of this process committed."""
        self.current = state

    def _is_newest(self, snapshot: Snapshot) -> bool:
        """Whether nothing was committed since: no tick, no other checkpoint, no files that were merged after a tick."""
        tick = snapshot.tick(self.stream)
        if tick is None or (tick.batch_id, tick.checkpoint) != (self.current.batch_id, self.current.checkpoint):
            return tick is None
        return snapshot.files_mark(self.stream) == self.current.files_mark
