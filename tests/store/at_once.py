"""Processes that begin at the same moment, forked from one that has imported everything, which takes seconds."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def at_once(count: int, action: Callable[[int], None]) -> int:
    """Run the action in so many processes, with the number of each; how many of them failed."""
    waiting, go = os.pipe()
    children = [_fork(waiting, go, action, number) for number in range(count)]
    os.close(waiting)
    os.close(go)
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


def _fork(waiting: int, go: int, action: Callable[[int], None], number: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.close(go)
        os.read(waiting, 1)  # comes back when the last of the others has let go of the pipe
        action(number)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
