"""The events of ticks as lines of the log, for people and for programs that read it."""

from __future__ import annotations

import logging

from weft.tick.events import Event, QueriesStopped, TickCommitted

log = logging.getLogger("weft.tick")


def log_event(event: Event) -> None:
    """Write the line of an event; a failed tick has none, since whoever runs the stream raises its error."""
    if isinstance(event, TickCommitted):
        log.info("tick committed", extra={"stream": event.stream, **event.numbers()})
    elif isinstance(event, QueriesStopped):
        extra = {"stream": event.stream, "batch_id": event.batch_id, "reasons": dict(event.reasons)}
        log.error("queries stopped", extra=extra)
