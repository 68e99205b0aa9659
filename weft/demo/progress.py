"""What the demo knows while it runs: ticks as they are committed, and what sharing saved so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from weft.demo.queries import DemoQuery
from weft.tick.events import TickCommitted


@dataclass
class Progress:
    """Everything the view shows. Written by the demo's own thread and by the thread that hears of ticks."""

    rows: int
    queries: Sequence[DemoQuery]
    phase: str = ""
    base_nodes: int = 0
    watermark: int | None = None
    late_rows: int = 0
    results: dict[str, pa.Table] = field(default_factory=dict)
    ticks: list[TickCommitted] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    began: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, tick: TickCommitted) -> None:
        with self._lock:
            self.ticks.append(tick)

    @property
    def rows_done(self) -> int:
        return sum(tick.rows for tick in self.ticks)

    @property
    def rows_per_second(self) -> float:
        """Rows over the time that ticks took: what the engine can do, not what was sent to it."""
        seconds = sum(tick.took for tick in self.ticks[1:]) if len(self.ticks) > 1 else 0.0
        return sum(tick.rows for tick in self.ticks[1:]) / seconds if seconds else 0.0

    @property
    def windows_closed(self) -> int:
        """Windows of all queries that ended at or before the watermark."""
        if self.watermark is None:
            return 0
        counts = {slide: len(DemoQuery(name="", select="", slide=slide).ends(self.watermark))
                  for slide in {query.slide for query in self.queries}}
        return sum(counts[query.slide] for query in self.queries)

    @property
    def separate_work(self) -> int:
        """Rows that separate queries would aggregate: every query reads every row of the stream once."""
        return len(self.queries) * self.rows_done

    @property
    def shared_work(self) -> int:
        """Rows that were aggregated: every row once for each base node, and all partial rows that ticks made."""
        return self.base_nodes * self.rows_done + sum(tick.partial_rows for tick in self.ticks)

    @property
    def saved(self) -> float:
        return self.separate_work / self.shared_work if self.shared_work else 0.0
