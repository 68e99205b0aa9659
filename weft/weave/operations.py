"""What an optimizer run did, counted: the measure by which the speed-ups of Weave Share are judged."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Operations:
    """Counters, to be passed in and read afterwards.

    `evaluations` counts pairs of trees whose gain was computed, whatever that took; `total` is what it took.
    """

    evaluations: int = 0
    merges: int = 0
    # divisions of an edge by a slide, two for every edge and query that it is compared with
    comparisons: int = 0
    # edges looked up in the bitmap of another tree
    probes: int = 0
    # edges put into the bitmap of a merged tree
    hashed: int = 0
    # 64-bit words of bitmaps that were copied to a longer composite slide
    copied: int = 0
    # remembered gains that were read or written
    lookups: int = 0

    @property
    def total(self) -> int:
        return self.comparisons + self.probes + self.hashed + self.copied + self.lookups

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, counter.name):,} {counter.name}" for counter in fields(self))
