"""Streams whose rows are kept, fed by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import weft
import weft.testing
from weft.algebra.windows import micros
from weft.segments.kept import kept_schema
from weft.segments.rows import ON_TIME
from weft.segments.segment import SegmentRow
from weft.store.kept import kept_node
from weft.testing.fed import EPOCH, fed_table


def feed_and_keep(engine: weft.Engine, stream: str, rows: list[dict[str, Any]] | pa.Table, since: int | None = None) -> None:
    """Run a tick over these rows and keep them, as of a moment."""
    before = engine.state_of(stream)
    weft.testing.feed(engine, stream, rows)
    declared = engine.registry.stream(stream)
    table = fed_table(rows, declared)
    moments = [None if moment is None else micros(moment - EPOCH) for moment in table[declared.event_time].to_pylist()]
    watermark = before.watermark
    late = [ON_TIME if watermark is None or moment is None or moment >= watermark else watermark for moment in moments]
    beside = {"weft_moment": moments, "weft_late": late, "weft_tick": [before.batch_id + 1] * len(moments)}
    schema = kept_schema(declared.columns)
    columns = [pa.array(beside[name], pa.int64()) if name in beside else table[name] for name in schema.names]
    kept = pa.Table.from_arrays(columns, schema=schema).filter(pa.array([moment is not None for moment in moments]))
    if not kept.num_rows:
        return
    path = f"{stream}/rows_{stream}/rows-{before.batch_id + 1}.parquet"
    written = engine.files.write_table(path, kept)
    times = [moment for moment in moments if moment is not None]
    segment = SegmentRow(
        node=f"rows_{stream}", layout="", path=path, kind="rows", rank=0, batch_from=before.batch_id + 1,
        batch_to=before.batch_id + 1, time_from=min(times), time_to=max(times) + 1, rows=kept.num_rows,
        bytes=written.bytes, checksum=written.checksum,
    )
    with engine.catalog.write() as catalog:
        catalog.put_node(kept_node(stream, 0, since, {}))
        catalog.add_segments([segment])
