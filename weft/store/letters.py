"""Dead letters on disk: the rows of a stream that count for nothing, kept to be looked at, and never without end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from weft.segments.files import Files
from weft.store.records import DeadLetterRow

# A bad row in every tick must not become a file for every tick: this many files are merged.
FILES_KEPT = 16
# The newest letters; the stream's totals count all letters.
ROWS_KEPT = 100_000


@dataclass(frozen=True)
class Filed:
    """What a tick does to the stream's files of dead letters: a file comes, and older files may go."""

    added: tuple[DeadLetterRow, ...] = ()
    removed: tuple[int, ...] = ()


def file_letters(files: Files, stream: str, batch_id: int, letters: pa.Table, known: Sequence[DeadLetterRow]) -> Filed:
    """Write the letters of a tick, together with all older letters where these have become many files."""
    if not letters.num_rows:
        return Filed()
    removed: tuple[int, ...] = ()
    if len(known) >= FILES_KEPT:
        letters = pa.concat_tables([read_letters(files, known, letters.schema), letters])
        letters = letters.slice(max(0, letters.num_rows - ROWS_KEPT))
        removed = tuple(file.id for file in known if file.id is not None)
    written = files.write_table(f"{stream}/dead/{batch_id}-{uuid4().hex[:12]}.parquet", letters)
    row = DeadLetterRow(
        stream=stream,
        batch_id=batch_id,
        path=written.path,
        rows=written.rows,
        bytes=written.bytes,
        checksum=written.checksum,
    )
    return Filed((row,), removed)


def read_letters(files: Files, known: Sequence[DeadLetterRow], schema: pa.Schema) -> pa.Table:
    """Read all letters of these files, oldest first."""
    ordered = sorted(known, key=lambda file: file.batch_id)
    return pa.concat_tables([schema.empty_table(), *(files.read_table(file.path, file.checksum) for file in ordered)])
