"""The streams of an engine in numbers: what is committed, how the newest tick went, and whether a stream runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.errors import StateError
from weft.tick.events import Event, TickCommitted
from weft.watch.metrics import stream_metrics
from weft.watch.status import UNKNOWN, one_line, status_of

if TYPE_CHECKING:
    from weft.optimize.planners import Planners
    from weft.read.state_reader import StateReader
    from weft.registry.registry import Registry
    from weft.store.catalog import Catalog
    from weft.tick.runners import Runners


class StreamNumbers:
    """Puts streams into numbers; it hears of ticks by `note`, which is attached to the bus."""

    def __init__(
        self, registry: Registry, catalog: Catalog, states: StateReader, planners: Planners, runners: Runners
    ) -> None:
        self._registry, self._catalog, self._states = registry, catalog, states
        self._planners, self._runners = planners, runners
        # The newest tick of each stream that this process ran.
        self._newest: dict[str, TickCommitted] = {}

    def note(self, event: Event) -> None:
        """Remember the newest tick of each stream."""
        if isinstance(event, TickCommitted):
            self._newest[event.stream] = event

    def of(self, stream: str) -> dict[str, Any]:
        """A stream in numbers; with a catalog that is down, what is known here of a stream that this process runs."""
        runner = self._runners.by_stream.get(stream)
        try:
            state = self._states.state_of(stream)
        except StateError as error:
            if not self._runners.by_stream:
                raise
            if runner is None:
                return {**status_of({}), "status": UNKNOWN, "error": one_line(error)}
            state = self._states.committed(stream).current
        if runner is not None:
            runner.tell()
        newest = self._newest[stream].numbers() if stream in self._newest else {}
        queries, plan = len(self._registry.accepted_names(stream)), self._planners.of(stream).numbers()
        retain = self._registry.stream(stream).retain
        numbers = stream_metrics(state, queries, self._catalog, runner, newest, plan, retain)
        return {**numbers, "filled": self._runners.filled_share(stream)}
