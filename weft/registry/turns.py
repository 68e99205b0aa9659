"""Short turns: while much is compiled, threads of this process that read get the interpreter sooner.

DuckDB takes Python's lock many times in a read, and waits a turn of the busy thread each time: with the usual turns of
5 ms a read beside thousands of registrations took seconds. And what is compiled stays, so a look through all objects
for garbage, which nobody can interrupt, takes longer with every thousand queries: while they are compiled only young
garbage is collected, and what thousands of them leave is looked through no more. With a thread that reads all the time,
10,000 queries are registered in 16 s (14 with the usual turns); the slowest read takes 45 ms (12.9 s with the usual
turns, 0.5 s with short turns alone).
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TURN_SECONDS = 0.0002
# How many collections of the middle generation go before all objects are looked through: more than any work has.
NEVER = 1 << 30
# So few queries are compiled before anybody notices.
FEW = 20
# So many queries make a look through all objects longer than a reader should wait.
MANY = 1_000

_lock = threading.Lock()
_busy = 0
_usual = sys.getswitchinterval()
_usual_thresholds = gc.get_threshold()


def _look_through_no_more() -> None:
    """Leave the objects that there are out of all later collections, until the process ends."""
    gc.collect(1)
    gc.freeze()
    # Libraries that count what is left at the end would tell of leaks.
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)


@contextmanager
def short_turns(work: int) -> Iterator[None]:
    """Let other threads in more often for as long as this lasts, where there is much work: so many queries."""
    if work <= FEW:
        yield
        return
    global _busy, _usual, _usual_thresholds  # noqa: PLW0603 - turns and garbage are the whole process's
    with _lock:
        if _busy == 0:
            _usual, _usual_thresholds = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(min(TURN_SECONDS, _usual))
            gc.set_threshold(*_usual_thresholds[:2], NEVER)
        _busy += 1
    try:
        yield
    finally:
        with _lock:
            _busy -= 1
            if _busy == 0:
                sys.setswitchinterval(_usual)
                if work >= MANY:
                    _look_through_no_more()
                gc.set_threshold(*_usual_thresholds)
