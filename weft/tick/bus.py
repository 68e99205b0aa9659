"""The way of events from ticks to listeners.

Kept: every listener gets the events of its kinds in order, each once, in a thread of its own; so a listener that
is slow, or raises, holds up no tick and no other listener. At most MOST_WAITING events wait for a listener: when it
falls further behind, the oldest of them are dropped for it, and the log says how many.
Needed: a listener that ends must be told so, by the function that `listen` returns.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from weft.errors import EngineError, engine_closed
from weft.tick.events import EVENTS, Event

log = logging.getLogger("weft.events")

MOST_WAITING = 1000
# How long whoever ends a listener waits for it to be handed what was said before.
LAST_SECONDS = 5.0

Callback = Callable[[Any], object]


class Bus:
    """Hands events to all who listen; safe to use from several threads."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._attached: list[Callback] = []
        self._lock, self._closed = threading.Lock(), False

    def attach(self, callback: Callback) -> None:
        """Have a callback of Weft itself called in the thread of the tick, before all listeners; it must be quick."""
        self._attached.append(callback)

    def listen(self, callback: Callback, kinds: Iterable[type[Event]] | None = None) -> Callable[[], None]:
        """Have `callback` called with every event of these kinds from now on; the function that is returned ends it."""
        wanted = _checked(callback, kinds)
        with self._lock:
            if self._closed:
                raise engine_closed()
            listener = Listener(callback, wanted)
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)
            listener.end()

        return end

    def emit(self, *events: Event) -> None:
        """Hand events to all, in order; never raises and never waits for anybody who listens."""
        for event in events:
            for callback in self._attached:
                _call(callback, event)
            # Under the lock, so that two streams' events reach all listeners in the same order.
            with self._lock:
                for listener in self._listeners:
                    listener.put(event)

    def close(self) -> None:
        """End all listeners, and take no other."""
        with self._lock:
            listeners, self._listeners, self._closed = self._listeners, [], True
        for listener in listeners:
            listener.end()


class Listener:
    """A callback with the events that wait for it, and the thread that calls it."""

    def __init__(self, callback: Callback, kinds: tuple[type[Event], ...]) -> None:
        self._callback, self._kinds = callback, kinds
        self._waiting: deque[Event] = deque()
        self._changed = threading.Condition()
        self._dropped, self._ended = 0, False
        self._thread = threading.Thread(target=self._run, name="weft-listener", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Leave an event for the thread; where too many wait, drop the oldest."""
        if not isinstance(event, self._kinds):
            return
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append(event)
            self._changed.notify()

    def end(self) -> None:
        """Take no more events, and wait until the events that wait already are handed over; but not for ever."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(LAST_SECONDS)
            with self._changed:
                self._waiting.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ended:
                    self._changed.wait()
                if not self._waiting:
                    return
                event, dropped = self._waiting.popleft(), self._dropped
                self._dropped = 0
            if dropped:
                log.warning("events dropped", extra={"listener": repr(self._callback), "events": dropped})
            _call(self._callback, event)


def _call(callback: Callback, event: Event) -> None:
    try:
        callback(event)
    except BaseException:  # noqa: BLE001 - a listener's fault is its own, also where it means to end its thread
        log.exception("listener failed", extra={"listener": repr(callback), "event": type(event).__name__})


def _checked(callback: object, kinds: Iterable[type[Event]] | None) -> tuple[type[Event], ...]:
    names = ", ".join(f"weft.{kind.__name__}" for kind in EVENTS)
    if not callable(callback):
        message = f"{str(callback)[:60]!r} cannot be called"
        raise EngineError("bad-listener", message, hint="Give a function that takes an event.")
    if kinds is None:
        return EVENTS
    wanted = tuple(kinds) if isinstance(kinds, Iterable) else (kinds,)
    strange = [kind for kind in wanted if kind not in EVENTS]
    if strange or not wanted:
        message = f"{str(strange[0])[:60]!r} is no kind of event" if strange else "no kind of event is named"
        raise EngineError("bad-listener", message, hint=f"Kinds are {names}.")
    return wanted
