"""Short turns: while much is compiled, threads of this process that read get the interpreter sooner.

DuckDB takes Python's lock many times in a read, and waits a turn of the busy thread each time: with the usual turns of
5 ms a read beside thousands of registrations took seconds. Cost: with a thread that reads all the time, registering
10,000 queries took 20.5 s in place of 14.3; the slowest read took 0.5 s in place of 12.9.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TURN_SECONDS = 0.0002
# So few queries are compiled before anybody notices.
FEW = 20

_lock = threading.Lock()
_busy = 0
_usual = sys.getswitchinterval()


@contextmanager
def short_turns(work: int) -> Iterator[None]:
    """Let other threads in more often for as long as this lasts, where there is much work: so many queries."""
    if work <= FEW:
        yield
        return
    global _busy, _usual  # noqa: PLW0603 - the length of a turn is the whole process's
    with _lock:
        if _busy == 0:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(min(TURN_SECONDS, _usual))
        _busy += 1
    try:
        yield
    finally:
        with _lock:
            _busy -= 1
            if _busy == 0:
                sys.setswitchinterval(_usual)
