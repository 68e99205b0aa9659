"""Work of Python's own that runs beside a tick, in another thread, without keeping the tick waiting.

Python runs one thread at a time, and a thread that computes hands over only every 5 ms when another asks. A tick asks
thousands of times, after each call to Spark, DuckDB or a file: beside a search, calls that take 0.1 ms took 5.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# How soon a thread that computes hands over, in seconds; handing over itself takes a twentieth of it.
SWITCH_SECONDS = 0.0002


class _Beside:
    """How much of such work there is in this process, and how soon threads handed over before it began."""

    def __init__(self) -> None:
        self.lock, self.running, self.before = threading.Lock(), 0, sys.getswitchinterval()


_beside = _Beside()


@contextmanager
def handing_over_soon() -> Iterator[None]:
    """Have threads of this process hand over soon while the work inside runs."""
    with _beside.lock:
        if not _beside.running:
            _beside.before = sys.getswitchinterval()
            # Python rounds an interval down to microseconds: an interval that is short enough is not set again.
            if _beside.before > SWITCH_SECONDS:
                sys.setswitchinterval(SWITCH_SECONDS)
        _beside.running += 1
    try:
        yield
    finally:
        with _beside.lock:
            _beside.running -= 1
            if not _beside.running and _beside.before > SWITCH_SECONDS:
                sys.setswitchinterval(_beside.before)
