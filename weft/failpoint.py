"""Named points in the code where a test may end the process, as kill -9 would, or have anything else happen.

FAILPOINT=name:k ends the process with status 137 at the k-th passage of a point; nothing is flushed, closed or rolled
back. A test in the same process watches passages instead, and may raise there. Otherwise a passage costs a look at two
module constants.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

KILLED = 137

# Every point there is, in the order in which a tick passes them; a name that is not here is a mistake in the variable.
POINTS = (
    "batch-begin",
    "batch-marked",
    "spark-before",
    "spark-running",
    "spark-after",
    "merge-after",
    "rows-kept",
    "dead-letters-written",
    "file-create",
    "file-write",
    "file-sync",
    "file-rename",
    "file-renamed",
    "commit-before",
    "commit-inside",
    "commit-end",
    "commit-after",
    "finish-written",
    "finish-inside",
    "finish-after",
    "tend-written",
    "tend-inside",
    "tend-after",
    "rows-merged",
    "rows-inside",
    "rows-tended",
    "garbage-before",
    "garbage-between",
    "garbage-after",
    "orphans-found",
    "tick-end",
    "register-inside",
    "register-after",
    "place-inside",
    "place-after",
    "fill-planned",
    "fill-written",
    "fill-inside",
    "fill-after",
    "drop-inside",
    "drop-after",
    "fail-inside",
    "catalog-create",
    "catalog-migrate",
)


class _Trap:
    """The point that was asked for, and how often it was passed."""

    def __init__(self, text: str) -> None:
        name, _, rest = text.partition(":")
        if name not in POINTS:
            raise ValueError(f"FAILPOINT={text!r}: there is no point {name!r}; there are {', '.join(POINTS)}")
        self.name, self.count = name, int(rest or 1)
        self._passed = 0
        self._lock = threading.Lock()

    def passage(self) -> None:
        with self._lock:
            self._passed += 1
            if self._passed == self.count:
                os._exit(KILLED)


_watchers: list[Callable[[str], None]] = []
_TRAP = _Trap(os.environ["FAILPOINT"]) if os.environ.get("FAILPOINT") else None


def failpoint(name: str) -> None:
    """Pass a point: tell who watches, or end the process where FAILPOINT says so."""
    for watcher in _watchers:
        watcher(name)
    if _TRAP is not None and _TRAP.name == name:
        _TRAP.passage()


def failpoint_soon(name: str, seconds: float = 0.2) -> None:
    """Pass a point a moment later, in the middle of what comes next."""
    if _TRAP is not None and _TRAP.name == name:
        threading.Timer(seconds, _TRAP.passage).start()


def watch(watcher: Callable[[str], None] | None) -> None:
    """Have every passage in this process told to somebody, who may raise; None for nobody."""
    _watchers[:] = [] if watcher is None else [watcher]
