"""Windows: which rows a query is about at a moment, by which clock, and where they begin and end.

`Window` is a sum type. Whatever is asked of every window is a method or an attribute of each member, so a new kind of
window is a new class: mypy names the code that needs a case for it. Every window has

    clock           what its rows are told apart by: event time, cut into slices, or only the tick that they came with
    lead            the columns that lead its results
    progressions()  its edges; none where it has no slices
    reach(keep)     how far behind the watermark its rows are needed
    as_sliced()     itself where it is made of slices, to be kept with the windows that share them

The windows of `Sliced` close, each at its end, and are merged from slices; the others are read as they are now: totals
of all that has arrived, or the rows of a span that is put on when somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import ClassVar

MICROSECOND = timedelta(microseconds=1)


def micros(span: timedelta) -> int:
    """A duration as a whole number of microseconds, Spark's own resolution."""
    return span // MICROSECOND


class Clock(Enum):
    """What the partial rows of a node are told apart by: their slice of event time, or the tick that changed them."""

    EVENT_TIME = "event time"
    TICKS = "ticks"

    @property
    def sliced(self) -> bool:
        """Whether rows belong to slices; without them they only add up to totals."""
        return self is Clock.EVENT_TIME

    def feeds(self, other: Clock) -> bool:
        """Whether nodes by the other clock can derive from this clock's: slices make up totals, totals no slice."""
        return self is other or self.sliced

    def joined(self, other: Clock) -> Clock:
        """The clock of a node from which nodes by either clock can be derived."""
        return self if self.feeds(other) else other


@dataclass(frozen=True, kw_only=True)
class Sliding:
    """Windows of length `range`, which start `slide` apart; a window starts at `start` after the epoch.

    They are closed at their start and open at their end. Moments are integers: microseconds since the epoch in UTC.
    """

    clock: ClassVar[Clock] = Clock.EVENT_TIME
    lead: ClassVar[tuple[str, ...]] = ("window_start", "window_end")

    range: timedelta
    slide: timedelta
    start: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if self.slide <= timedelta(0) or self.range <= timedelta(0):
            raise ValueError("a window needs a positive range and slide")
        if self.slide > self.range:
            raise ValueError("a window's slide must not be longer than its range")
        # window(ts, '10s', '10s', '0s'), ('-10s') and ('10s') cut the same windows: keep a single spelling.
        object.__setattr__(self, "start", self.start % self.slide)

    def __str__(self) -> str:
        start = f" start {duration_text(self.start)}" if self.start else ""
        slide = "" if self.slide == self.range else f" slide {duration_text(self.slide)}"
        return f"range {duration_text(self.range)}{slide}{start}"

    @property
    def explained(self) -> str:
        """The window as `explain` says it."""
        return str(self)

    @property
    def overlap(self) -> int:
        """How many windows a moment is in, rounded down."""
        return self.range // self.slide

    def as_sliced(self) -> tuple[Sliced, ...]:
        """The window itself: it is made of slices."""
        return (self,)

    def reach(self, keep: timedelta | None) -> int | None:
        """How far behind the watermark rows are needed if closed windows are kept that long; None for ever."""
        return None if keep is None else micros(keep) + micros(self.range)

    def last_end(self, moment: int) -> int:
        """The end of the last window that holds this moment.

        >>> Sliding(range=timedelta(seconds=10), slide=timedelta(seconds=5)).last_end(7_000_000)
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
        """Whether a window ends exactly at this moment."""
        return self.newest_closed_end(moment) == moment

    def progressions(self) -> frozenset[tuple[int, int]]:
        """The edges as arithmetic progressions (step, residue): of the starts and of the ends, which may coincide."""
        slide, start = micros(self.slide), micros(self.start)
        return frozenset({(slide, start), (slide, (start + micros(self.range)) % slide)})

    def _floor(self, moment: int) -> int:
        start = micros(self.start)
        return (moment - start) // micros(self.slide) * micros(self.slide) + start


@dataclass(frozen=True)
class Running:
    """All that has arrived: a window that never closes, whose totals change with every tick."""

    clock: ClassVar[Clock] = Clock.TICKS
    lead: ClassVar[tuple[str, ...]] = ()

    def __str__(self) -> str:
        return "none"

    @property
    def explained(self) -> str:
        """The window as `explain` says it."""
        return "none: totals over all that has arrived"

    def as_sliced(self) -> tuple[Sliced, ...]:
        """Nothing: totals have no slices."""
        return ()

    def reach(self, keep: timedelta | None) -> None:
        """None: rows are needed for ever, whatever is kept of closed windows, since this window never closes."""
        return

    def progressions(self) -> frozenset[tuple[int, int]]:
        """No edges."""
        return frozenset()


@dataclass(frozen=True, kw_only=True)
class Side:
    """A side of a window that is put on when somebody asks: a moment, or so long before the newest row."""

    at: int | None = None
    before: timedelta = timedelta(0)

    def moment(self, now: int) -> int:
        """The moment that it means where the newest row came at `now`."""
        return now - micros(self.before) if self.at is None else self.at

    def __str__(self) -> str:
        if self.at is not None:
            return str(self.at)
        return f"now - {duration_text(self.before)}" if self.before else "now"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The rows from `begin` to `end`, both included, as these are when somebody asks; without a side, all there are.

    Both relative to the newest row: the window slides. A moment to begin with: a landmark. Two moments: a snapshot.
    It never closes, so no row comes too late for it. Its rows are kept by slices, so that what is too old can go.
    """

    clock: ClassVar[Clock] = Clock.EVENT_TIME
    lead: ClassVar[tuple[str, ...]] = ()

    begin: Side | None = None
    end: Side | None = None

    def __str__(self) -> str:
        if self.begin is None and self.end is None:
            return "unbounded"
        return f"from {self.begin} to {self.end}"

    @property
    def explained(self) -> str:
        """The window as `explain` says it."""
        return f"{self}, put on when asked"

    @property
    def length(self) -> timedelta | None:
        """How far back it reaches from the newest row; None where it begins at a moment, or nowhere."""
        return None if self.begin is None or self.begin.at is not None else self.begin.before

    @property
    def step(self) -> timedelta:
        """How long the slices are that its rows are kept by."""
        length = self.length
        if length is None:
            return UNBOUNDED_STEP
        return min(UNBOUNDED_STEP, max(SHORTEST_STEP, length / STEPS))

    def as_sliced(self) -> tuple[Sliced, ...]:
        """The windows whose slices hold its rows: as long as any row can be asked for."""
        length = self.length
        steps = MOST_STEPS if length is None else -(-length // self.step) + 1
        return (Sliding(range=steps * self.step, slide=self.step),)

    def reach(self, keep: timedelta | None) -> int | None:
        """How far behind the watermark rows are needed where past answers are kept that long; None for ever."""
        if keep is None or (self.begin is not None and self.begin.at is not None):
            return None
        return micros(keep) + micros(self.length or timedelta(0)) + micros(self.step)

    def span(self, now: int) -> tuple[int | None, int | None]:
        """The first moment and the last, where the newest row came at `now`; None for no limit."""
        begin, end = (None if side is None else side.moment(now) for side in (self.begin, self.end))
        return begin, end

    def progressions(self) -> frozenset[tuple[int, int]]:
        """The edges of its slices."""
        return frozenset({(micros(self.step), 0)})


# Rows of a window that reaches back for so long are kept by slices of an eighth of that, of an hour at most.
STEPS, SHORTEST_STEP, UNBOUNDED_STEP = 8, timedelta(milliseconds=1), timedelta(hours=1)
# A century of hours: rows that are older come too late for any window.
MOST_STEPS = 876_600

Sliced = Sliding
"""The windows that are made of slices and close at their ends."""

Window = Sliding | Running | Asked


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
