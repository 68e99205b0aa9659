"""Counts of late rows: what readers tell apart, and ledgers of before there were watermarks in them."""

from __future__ import annotations

import pyarrow as pa

from weft.segments.segment import EARLIEST
from weft.store.ledger import gather, grain_of, horizon

OLD = pa.table({"k": ["a"], "rows": [3], "batch": [7], "window": ["w"]})
NEW = pa.table({"watermark": [90], "window": ["w"], "batch": [8], "rows": [2], "k": ["b"]})


def test_ledgers_without_watermarks_are_the_oldest() -> None:
    both = gather([OLD, NEW]).to_pydict()
    assert both["k"] == ["a", "b"] and both["rows"] == [3, 2]
    assert both["watermark"] == [EARLIEST, 90]
    assert horizon(90, None) == EARLIEST, "only who keeps for ever counts them"


def test_what_one_query_tells_apart_fits_into_what_another_does() -> None:
    """A watermark cut down to the finer grain is on the same side of everybody's horizon as it was."""
    reaches = [1, 15, 16, 100, 1_000, 65_537, 7 * 86_400_000_000]
    for fine in reaches:
        for coarse in (reach for reach in reaches if reach >= fine):
            for newest in (-5_000, 0, 123_456_789, 1_900_000_000_123_456):
                for mark in (horizon(newest, coarse) + step for step in (-1, 0, 1, 17)):
                    cut = mark // grain_of(fine) * grain_of(fine)
                    assert (cut >= horizon(newest, coarse)) == (mark >= horizon(newest, coarse))
