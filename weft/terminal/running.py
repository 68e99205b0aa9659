"""What a command needs that runs streams until somebody wants it to stop: signals, and calls in another thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from weft.terminal.exits import INTERRUPTED

SAME_SIGNAL_SECONDS = 1.0


class Worker:
    """A call in a thread of its own; join raises what it raised."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="weft-run", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error


class StopSignals:
    """Ctrl-C and SIGTERM ask to stop, as long as this lasts; a second signal leaves at once."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._first = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """Handle the signals from now on; again after Spark's start, which brings a handler that cancels its jobs."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.signal(number, self._handle)
                self._before.setdefault(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.asked.is_set():
            self._first = time.monotonic()
            self.asked.set()
        # A wrapper such as `timeout` passes a signal on that the whole group got already: that is no second signal.
        elif time.monotonic() - self._first > SAME_SIGNAL_SECONDS:
            # As safe as a crash, which loses nothing; an exception here would meet Spark's bridge in mid-call, and
            # libraries would tell of what is not closed.
            sys.stdout.write("\x1b[?25h\n" if sys.stdout.isatty() else "")
            sys.stdout.flush()
            os._exit(INTERRUPTED)
