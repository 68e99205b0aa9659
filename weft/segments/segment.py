"""A segment: immutable rows of a node in a file, as the catalog knows them.

It is a Parquet file, or a part of a file that small tables share (weft/segments/parts.py). A file of kind "rows" holds
whole rows of a stream (weft/segments/kept.py); its time is from their least moment to just after the greatest.

Moments are integers: microseconds since the epoch in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.segments.parts import SUFFIX

EARLIEST = -(2**63)
"""Before every moment: the `sealed_time` of a node that has sealed nothing."""

LATEST = 2**63 - 1
"""After every moment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentRow:
    """Immutable rows of a node, in a file or a part of one; `id` is None only in a row that was not stored yet.

    The part is the `bytes` bytes from `byte_from` on, and the checksum is of these.
    `plan` is the version of the stream's plan that was in force when it was written, 0 before there were versions.
    """

    node: str
    layout: str
    path: str
    kind: str
    rank: int
    batch_from: int
    batch_to: int
    time_from: int
    time_to: int
    rows: int
    bytes: int
    checksum: str
    family: str = ""
    plan: int = 0
    byte_from: int = 0
    id: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in {"tick", "block", "late", "result", "rows"}:
            raise ValueError(f"a segment is a tick, a block, late, a result or rows, not {self.kind!r}")

    @property
    def is_part(self) -> bool:
        """Whether other segments may be in the same file."""
        return self.path.endswith(SUFFIX)
