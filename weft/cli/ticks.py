"""Every tick as it is committed: the engine logs one record a tick, while its metrics hold only the newest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tick:
    """A committed tick."""

    stream: str
    batch_id: int
    rows: int
    jobs: int
    queries: int
    nodes: int
    partial_rows: int
    seconds: float


class _Handler(logging.Handler):
    def __init__(self, found: Callable[[Tick], None]) -> None:
        super().__init__(logging.INFO)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = record.__dict__
        if "batch_id" in fields and "partial_rows" in fields:
            self._found(Tick(fields["stream"], fields["batch_id"], fields["rows"], fields["jobs"], fields["queries"],
                             fields["nodes"], fields["partial_rows"], sum(fields["seconds"].values())))


@contextmanager
def following_ticks(found: Callable[[Tick], None]) -> Iterator[None]:
    """Call `found` for every tick that is committed while this lasts, from the thread that ran the tick."""
    logger = logging.getLogger("weft.tick")
    handler, level = _Handler(found), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
