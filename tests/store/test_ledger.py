"""Counts of late rows: what readers tell apart, and ledgers of before there were watermarks in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.expressions import Column
from weft.algebra.types import STRING
from weft.backend.driver import DriverBackend
from weft.backend.duck import Duck
from weft.plan.dimensions import Dimension
from weft.plan.network import Node
from weft.segments.cache import TableCache
from weft.segments.files import LocalFiles
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.ledger import LateReaders, grain_of, horizon, merged_ledgers

KEY = Dimension(Column("k", STRING))
NODE = Node("n", True, (KEY,), (ROW_COUNT,), (), False, ("q",))
OLD = {KEY.name: ["a"], ROW_COUNT.name: [3], "batch": [7], "window": ["w"]}
NEW = {"watermark": [90], "window": ["w"], "batch": [8], ROW_COUNT.name: [2], KEY.name: ["b"]}


def stored(backend: DriverBackend, path: str, columns: dict[str, list[Any]]) -> SegmentRow:
    written = backend.write(path, backend.hold(pa.table(columns)))
    return SegmentRow(
        node="n", layout="l", path=path, kind="late", rank=0, batch_from=0, batch_to=0, time_from=0, time_to=0,
        rows=written.rows, bytes=written.bytes, checksum=written.checksum,
    )


@pytest.mark.parametrize("reach", [None, 1_000])
def test_ledgers_without_watermarks_are_the_oldest(tmp_path: Path, reach: int | None) -> None:
    """Only who keeps for ever counts them."""
    files = LocalFiles(tmp_path)
    backend = DriverBackend(Duck(), TableCache(files), files)
    ledgers = [stored(backend, "old.parquet", OLD), stored(backend, "new.parquet", NEW)]
    readers = LateReaders(frozenset({"w"}), frozenset({0}), frozenset({reach}))
    rows = backend.merge(merged_ledgers(NODE, ledgers, readers, 100))
    written = backend.write("merged.parquet", rows)
    merged = files.read_table("merged.parquet", written.checksum).sort_by(KEY.name).to_pydict()
    if reach is None:
        assert merged[KEY.name] == ["a", "b"] and merged[ROW_COUNT.name] == [3, 2]
        assert merged["watermark"] == [EARLIEST, EARLIEST], "nobody tells watermarks apart"
    else:
        assert (merged[KEY.name], merged["watermark"]) == (["b"], [90 // grain_of(reach) * grain_of(reach)])
    assert horizon(90, None) == EARLIEST


def test_what_one_query_tells_apart_fits_into_what_another_does() -> None:
    """A watermark cut down to the finer grain is on the same side of everybody's horizon as it was."""
    reaches = [1, 15, 16, 100, 1_000, 65_537, 7 * 86_400_000_000]
    for fine in reaches:
        for coarse in (reach for reach in reaches if reach >= fine):
            for newest in (-5_000, 0, 123_456_789, 1_900_000_000_123_456):
                for mark in (horizon(newest, coarse) + step for step in (-1, 0, 1, 17)):
                    cut = mark // grain_of(fine) * grain_of(fine)
                    assert (cut >= horizon(newest, coarse)) == (mark >= horizon(newest, coarse))
