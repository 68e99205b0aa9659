"""Windows: closed at their start, open at their end, one every slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

MICROSECOND = timedelta(microseconds=1)


def micros(span: timedelta) -> int:
    """A duration as a whole number of microseconds, Spark's own resolution."""
    return span // MICROSECOND


@dataclass(frozen=True, kw_only=True)
class Window:
    """Windows of length `range`, one every `slide`, aligned so that one of them starts at `start` after the epoch.

    Moments are integers: microseconds since the epoch in UTC.
    """

    range: timedelta
    slide: timedelta
    start: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if self.slide <= timedelta(0) or self.range <= timedelta(0):
            raise ValueError("a window needs a positive range and slide")
        if self.slide > self.range:
            raise ValueError("a window's slide must not be longer than its range")
        # window(ts, '10s', '10s', '0s'), ('-10s') and ('10s') cut the same windows: keep one spelling.
        object.__setattr__(self, "start", self.start % self.slide)

    def __str__(self) -> str:
        start = f" start {duration_text(self.start)}" if self.start else ""
        slide = "" if self.slide == self.range else f" slide {duration_text(self.slide)}"
        return f"range {duration_text(self.range)}{slide}{start}"

    def last_end(self, moment: int) -> int:
        """The end of the last window that holds this moment.

        >>> Window(range=timedelta(seconds=10), slide=timedelta(seconds=5)).last_end(7_000_000)
        15000000
        """
        return self._floor(moment) + micros(self.range)

    def newest_closed_end(self, watermark: int) -> int:
        """The end of the newest window that ends at or before the watermark."""
        return self._floor(watermark - micros(self.range)) + micros(self.range)

    def ends(self, *, after: int, until: int) -> Sequence[int]:
        """The ends of windows in (after, until], oldest first; there may be very many."""
        return range(self.newest_closed_end(after) + micros(self.slide), until + 1, micros(self.slide))

    def is_end(self, moment: int) -> bool:
        """Whether some window ends exactly here."""
        return self.newest_closed_end(moment) == moment

    def progressions(self) -> frozenset[tuple[int, int]]:
        """Its edges as arithmetic progressions (step, residue): the starts and the ends; one where they coincide."""
        slide, start = micros(self.slide), micros(self.start)
        return frozenset({(slide, start), (slide, (start + micros(self.range)) % slide)})

    def _floor(self, moment: int) -> int:
        start = micros(self.start)
        return (moment - start) // micros(self.slide) * micros(self.slide) + start


UNITS = (
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
    ("millisecond", 1_000),
    ("microsecond", 1),
)


def duration_text(span: timedelta) -> str:
    """A duration in the largest unit that divides it.

    >>> duration_text(timedelta(minutes=90)), duration_text(timedelta(seconds=1))
    ('90 minutes', '1 second')
    """
    total = micros(span)
    for unit, size in UNITS:
        if total % size == 0 and total:
            count = total // size
            return f"{count} {unit}" if abs(count) == 1 else f"{count} {unit}s"
    return "0 seconds"
