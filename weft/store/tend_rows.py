"""After a tick: kept rows that are older than their stream keeps them go, and small files of rows become larger ones.

Files of a rank are merged FAN_OUT at a time, sorted by moment: every row is rewritten at most once for each rank, and
a stream has few files of each. Files are merged whose rows expire about together: a merged file outlives none of its
rows by more than a share of the retention. Merging takes the memory of a file of the highest rank, and no more
(weft/segments/row_files.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa

from weft.failpoint import failpoint
from weft.feeds.streams import Stream
from weft.segments.files import Files
from weft.segments.kept import MOMENT, kept_schema
from weft.segments.row_files import FAN_OUT, HIGHEST, write_rows
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.kept import KeptRows, folder_of_rows, kept_segment
from weft.store.state import StreamState
from weft.store.storage import Storage

# A merged file outlives its first row by so large a part of the retention at most.
SHARE = 4


def tend_rows(state: StreamState, stream: Stream, storage: Storage) -> StreamState:
    """Let go of rows that are too old, and merge files that are due; the state after it."""
    kept, retention = state.kept, stream.retention
    if kept.node is None or not retention.kept:
        return state
    gone = expired(kept.files, state.watermark, retention.span)
    left = tuple(file for file in kept.files if file not in gone) if gone else kept.files
    span = None if retention.span is None else max(1, max(retention.span, stream.delay) // SHARE)
    groups = list(due_groups(left, span))
    if not gone and not groups:
        return state
    schema = kept_schema(stream.columns)
    merged = tuple(_merged(group, state, schema, storage.files) for group in groups)
    failpoint("rows-merged")
    removed = {file.id for files in (gone, *groups) for file in files if file.id is not None}
    # Of rows before this moment some are gone.
    since = max([kept.since, *(file.time_to for file in gone)])
    node = replace(kept.node, complete_from=None if since == EARLIEST else since)
    with storage.catalog.write() as writer:
        writer.remove_segments(removed)
        stored = writer.add_segments(merged)
        if node != kept.node:
            writer.put_node(node)
        failpoint("rows-inside")
    failpoint("rows-tended")
    files = (*(file for file in kept.files if file.id not in removed), *stored)
    return replace(state, kept=KeptRows(node, files))


def expired(files: Sequence[SegmentRow], watermark: int | None, span: int | None) -> tuple[SegmentRow, ...]:
    """List the files all of whose rows are older than the span before the watermark."""
    if watermark is None or span is None:
        return ()
    return tuple(file for file in files if file.time_to <= watermark - span)


def due_groups(files: Sequence[SegmentRow], span: int | None) -> Iterator[list[SegmentRow]]:
    """Group FAN_OUT files of a rank that end in the same span of time, oldest first; none of a group is in another."""
    alike: dict[tuple[int, int], list[SegmentRow]] = {}
    for file in sorted(files, key=lambda file: file.batch_from):
        if file.rank < HIGHEST:
            group = alike.setdefault((0 if span is None else file.time_to // span, file.rank), [])
            group.append(file)
            if len(group) == FAN_OUT:
                yield [*group]
                group.clear()


def _merged(group: Sequence[SegmentRow], state: StreamState, schema: pa.Schema, files: Files) -> SegmentRow:
    """Write the rows of several files as a file, in the order of their moments."""
    # Spark writes that a column is never NULL, where it is not: tables are joined only where they say the same.
    tables = [files.read_table(file.path, file.checksum).cast(schema) for file in group]
    rows = pa.concat_tables(tables).sort_by(MOMENT)
    first, last = min(file.batch_from for file in group), max(file.batch_to for file in group)
    path = f"{folder_of_rows(state.stream)}/rows-{last}-{uuid4().hex[:12]}.parquet"
    moments = min(file.time_from for file in group), max(file.time_to for file in group) - 1
    return kept_segment(group[0].node, write_rows(files, path, rows, moments), first, last, state.plan_version)
