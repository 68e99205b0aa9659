"""Keeping the rows of a batch: every row that counts, with all columns of the stream, written where the rows are.

A pass that has rows in this process writes them here; a task of Spark's writes its own, into the state folder, and says
what it wrote. Nothing is visible before the tick commits: what a task wrote that ran twice, or of a tick that failed,
no catalog names, and it goes as any orphan does.
Needs: nothing of Spark but in its tasks, so that tests without Spark keep rows too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import StateError
from weft.feeds.streams import Columns
from weft.passes.texts import valid_texts
from weft.segments.files import Files, LocalFiles
from weft.segments.kept import LATE, MOMENT, TICK, kept_schema
from weft.segments.row_files import MOST_BYTES, MOST_ROWS, RowFile, write_rows
from weft.segments.rows import ON_TIME

# Under this name instead of a node's a task answers with the files that it wrote.
KEPT = "weft_kept"


@dataclass(frozen=True)
class Keeping:
    """What is kept of a batch: rows with these columns, under a folder, on time by the watermark before the batch."""

    files: Files
    folder: str
    columns: Columns
    batch: int
    watermark: int | None
    # What a task says before what went wrong when it wrote; nobody else can say it.
    token: str = field(default_factory=lambda: uuid4().hex)

    @cached_property
    def schema(self) -> pa.Schema:
        return kept_schema(self.columns)

    @property
    def by_tasks(self) -> bool:
        """Whether Spark's tasks write by themselves, on a disk that all of them see; elsewhere Spark writes."""
        return isinstance(self.files, LocalFiles)

    def write(self, rows: pa.Table, names: Mapping[str, str] | None = None) -> Iterator[RowFile]:
        """Write the rows that have a moment, into as many files as they need.

        `names` are the names that the stream's columns have in `rows`, where these differ from the stream's own.
        """
        moments = rows[MOMENT]
        alive = rows.filter(pc.is_valid(moments)) if moments.null_count else rows
        for piece in _pieces(alive):
            kept = self._shaped(piece, names or {})
            bounds = pc.min_max(kept[MOMENT])
            path = f"{self.folder}/rows-{self.batch}-{uuid4().hex[:12]}.parquet"
            yield write_rows(self.files, path, kept, (bounds["min"].as_py(), bounds["max"].as_py()))

    def failure_in(self, error: Exception) -> StateError | None:
        """What went wrong when a task wrote, if that made a job fail: no query is to blame for a full disk."""
        said = re.search(rf"{self.token} \[([a-z-]+)\] ([^\n]*)", str(error))
        if said is None:
            return None
        if said[1] == "storage-full":
            return StateError("storage-full", said[2], hint="Free some space; what is committed is untouched.")
        return StateError("storage-failed", said[2], hint="Check the disk and the permissions of the state folder.")

    def _shaped(self, rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
        """The rows as they are stored."""
        moments = rows[MOMENT].cast(pa.int64())
        beside = {MOMENT: moments, LATE: self._lateness(moments), TICK: pa.repeat(pa.scalar(self.batch), len(rows))}
        columns = [
            beside[field.name] if field.name in beside else rows[names.get(field.name, field.name)].cast(field.type)
            for field in self.schema
        ]
        return valid_texts(pa.Table.from_arrays(columns, schema=self.schema))

    def _lateness(self, moments: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        on_time = pa.scalar(ON_TIME, pa.int64())
        if self.watermark is None or pc.min(moments).as_py() >= self.watermark:
            return pa.repeat(on_time, len(moments))
        return pc.if_else(pc.less(moments, self.watermark), pa.scalar(self.watermark, pa.int64()), on_time)


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows in tables that are no longer than a file may be."""
    most = max(1, min(MOST_ROWS, rows.num_rows * MOST_BYTES // max(1, int(rows.nbytes))))
    for first in range(0, rows.num_rows, most):
        yield rows.slice(first, most)


@dataclass(frozen=True)
class Kept:
    """The files that were written of a batch, and whether there may be others that nobody names: of a task that ran
    again."""

    files: tuple[RowFile, ...] = ()
    again: bool = False

    def __add__(self, other: Kept) -> Kept:
        return Kept((*self.files, *other.files), self.again or other.again)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def encoded(self) -> bytes:
        """The same as bytes, for the way out of a task."""
        return json.dumps({"again": self.again, "files": [asdict(file) for file in self.files]}).encode()

    @classmethod
    def decoded(cls, answer: bytes) -> Kept:
        said = json.loads(answer)
        return cls(tuple(RowFile(**file) for file in said["files"]), said["again"])


NOTHING = Kept()


def kept_by_task(keeping: Keeping, rows: pa.Table, names: Mapping[str, str]) -> Kept:
    """Write rows inside a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    again = context is not None and context.attemptNumber() > 0
    try:
        return Kept(tuple(keeping.write(rows, names)), again)
    except StateError as error:
        raise RuntimeError(f"{keeping.token} [{error.code}] {error.message}") from error
