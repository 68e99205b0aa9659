"""A query in two languages: Weft's, over windows of a stream, and DuckDB's, over the rows of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND

_PERCENTILE = re.compile(r"\bpercentile\(")


@dataclass(frozen=True)
class Asked:
    """A query over the stream `events`; lengths are microseconds, and a slide of 0 is as long as the window.

    What stands in the parts is written alike in both languages, but for `percentile`.
    """

    measures: str = "count(*) AS n, sum(v) AS s"
    where: str = ""
    keys: tuple[str, ...] = ()
    length: int = MINUTE
    slide: int = 0
    having: str = ""
    order: str = ""
    limit: int = 0

    @property
    def step(self) -> int:
        """From one window to the next."""
        return self.slide or self.length

    def weft(self) -> str:
        """The text that Weft registers."""
        window = f"window(ts, '{self.length} microseconds', '{self.step} microseconds')"
        parts = [
            f"SELECT {', '.join((*self.keys, self.measures))} FROM events",
            f"WHERE {self.where}" if self.where else "",
            f"GROUP BY {', '.join((window, *self.keys))}",
            f"HAVING {self.having}" if self.having else "",
            f"ORDER BY {self.order} LIMIT {self.limit}" if self.limit else "",
        ]
        return " ".join(filter(None, parts))

    def duck(self, rows: str, only: str = "") -> str:
        """The same over the rows of a table, the window's start first, as microseconds; `only` is one more condition.

        A row is in every window that holds it, as many as a window has slides.
        """
        source, start, conditions = rows, f"epoch_us(ts) // {self.step} * {self.step}", [self.where, only]
        if self.step < self.length:
            source = f"{rows}, range({-(-self.length // self.step)}) AS windows(back)"
            start = f"(epoch_us(ts) // {self.step} - back) * {self.step}"
            if self.length % self.step:
                conditions.append(f"{start} + {self.length} > epoch_us(ts)")
        where = " AND ".join(f"({one})" for one in conditions if one)
        first = f"row_number() OVER (PARTITION BY window_start ORDER BY {self.order})"
        parts = [
            f"SELECT {', '.join((f'{start} AS window_start', *self.keys, self.measures))} FROM {source}",
            f"WHERE {where}" if where else "",
            f"GROUP BY {', '.join(str(place + 1) for place in range(1 + len(self.keys)))}",
            f"HAVING {self.having}" if self.having else "",
            f"QUALIFY {first} <= {self.limit}" if self.limit else "",
        ]
        return _PERCENTILE.sub("quantile_cont(", " ".join(filter(None, parts)))
