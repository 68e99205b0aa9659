"""What a backend does with partial rows: select, merge, count, finish and write them, wherever it keeps them.

Whoever decides says what is wanted as data (`Selection`, `Merge`, `Finishing`), a backend does it, and the rows stay
with it: a handle `Rows` goes around, and only the backend that made it looks inside. In the driver they are Arrow
tables and DuckDB merges them (weft/backend/driver.py).
Needs: conditions and keys are DuckDB's SQL over the columns of the rows, so that every backend runs the same statements
(weft/backend/statements.py). Rows that are merged agree on all keys: a backend may keep them in buckets of the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from weft.aggregates.statistics import Statistic
from weft.algebra.types import DataType
from weft.backend.keys import Key, Term
from weft.plan.dimensions import Cut
from weft.segments.segment import SegmentRow

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.segments.files import Written

ALL = "true"
"""The condition that keeps every row."""


class BackendError(Exception):
    """Rows could not be merged or an expression over them not computed, as on a total too large for its type."""


class BackendDown(BackendError):
    """The backend itself failed, whatever it was asked: no memory, no disk, no connection."""


class Rows(Protocol):
    """Rows that a backend holds: how many, and the least and the greatest start among them, None where there are none.

    Rows without starts, as ledgers and finished windows are, only have a count.
    """

    @property
    def count(self) -> int: ...

    @property
    def least(self) -> int | None: ...

    @property
    def greatest(self) -> int | None: ...


@dataclass(frozen=True)
class FinishedRun:
    """The windows of a request, in a file of finished windows, that end from `first` to `last`."""

    file: SegmentRow
    request: str
    first: int
    last: int


@dataclass(frozen=True)
class Source:
    """The rows of stored files, or fresh rows, that a condition keeps, each with further columns beside its own.

    With a `span` only rows count that start from its first moment to before its second, with a `level` only rows of
    it. A column of several values (`unnest`) gives a row for each value.
    """

    rows: tuple[SegmentRow | Rows | FinishedRun, ...]
    where: str = ALL
    beside: tuple[Term, ...] = ()
    span: tuple[int, int] | None = None
    level: int | None = None


@dataclass(frozen=True)
class Windows:
    """Neighbouring windows of a kind: their ends go from `first` to `last`, a slide apart."""

    first: int
    last: int
    length: int
    slide: int


@dataclass(frozen=True)
class Selection:
    """These columns of the rows of all sources.

    `schema` has the types of the columns, where no row is there to tell; a column that a file lacks is NULL.
    With `windows` each row comes once for every window that it counts for, with the window's end, and needs its start
    and its lateness among the columns. `where` is a condition on what comes out, `output` names the columns left of it.
    """

    sources: tuple[Source, ...]
    columns: tuple[str, ...]
    schema: pa.Schema | None = None
    windows: Windows | None = None
    where: str = ALL
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cells:
    """The cuts of a column, in order, by which its values are put into wider cells.

    Of `matches` every cut is a value of its own: rows with other values are left out.
    """

    column: str
    type: DataType
    cuts: tuple[Cut, ...]
    matches: bool = False


@dataclass(frozen=True)
class Merge:
    """A single row for all rows of a selection that agree on the keys, with their statistics merged.

    `beside` are further aggregates. `cells` are widened before anything is merged. Without a `schema` columns
    have the types that merging gives them.
    """

    rows: Selection
    keys: tuple[Key | Term, ...]
    statistics: tuple[Statistic, ...]
    beside: tuple[Key | Term, ...] = ()
    cells: tuple[Cells, ...] = ()
    schema: pa.Schema | None = None


@dataclass(frozen=True)
class Line:
    """What a request of a family asks for: windows of a kind, and the constants of its predicate."""

    request: str
    kind: int
    windows: Windows
    constants: tuple[Any, ...]


@dataclass(frozen=True)
class Finishing:
    """The windows of all lines over the slices of a node, merged by request, window end and keys.

    `condition` says which rows count for which line: over columns of rows, and `requests.p0`, `requests.p1` ... for its
    constants, which have the types `constants`. `roll` are the requests that the file is made for, due or not.
    """

    rows: Selection
    lines: tuple[Line, ...]
    constants: tuple[DataType, ...]
    condition: str
    keys: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    schema: pa.Schema
    roll: tuple[str, ...]


@dataclass(frozen=True)
class Kinds:
    """How many different values columns have (NULL is one), for which share of the stream's rows truths are true, and
    how many groups there are of all these columns; numbers of many rows are estimates.
    """

    values: Mapping[str, float]
    shares: Mapping[str, float]
    groups: float


class Backend(Protocol):
    """What works on partial rows; safe to call from several threads. What cannot be computed raises `BackendError`."""

    def hold(self, table: pa.Table) -> Rows:
        """Hold the rows that a batch brought into this process."""

    def stored(self, file: SegmentRow) -> Rows:
        """The rows of a file."""

    def starts(self, rows: Rows) -> frozenset[int]:
        """List all starts among the rows."""

    def count(self, rows: Rows) -> int:
        """Count the rows of the stream that are behind the partial rows."""

    def mark(self, rows: Rows, starts: frozenset[int], watermark: int) -> Rows:
        """Mark the rows with these starts as late, after a watermark, and all others as on time."""

    def without(self, rows: Rows, starts: frozenset[int]) -> Rows:
        """Leave out the rows that have one of these starts."""

    def filter(self, selection: Selection, order: Sequence[str] = ()) -> Rows:
        """Select rows, in the order of their sources or ordered by the columns `order`."""

    def merge(self, merge: Merge) -> Rows:
        """Merge rows."""

    def measure(self, selection: Selection, aggregates: Sequence[str]) -> tuple[Any, ...]:
        """Compute aggregates, written as SQL, over all rows of a selection: a value for each aggregate."""

    def kinds(self, rows: Rows, values: Sequence[str], truths: Sequence[str]) -> Kinds:
        """Count the kinds of partial rows by these columns, of which some hold truths; there is at least a row."""

    def finish(self, finishing: Finishing) -> Rows:
        """Finish windows: the windows of a request come together, by their ends, with the roll of the requests."""

    def join_finished(self, files: Sequence[SegmentRow]) -> Rows:
        """Join the finished windows of all files; on the roll are the requests that are on the roll of every file."""

    def is_finished(self, file: SegmentRow, request: str) -> bool:
        """Whether a file of finished windows was made for this request too."""

    def answer(
        self, sql: str, parts: Sequence[Sequence[Selection]], schema: pa.Schema, *, after: int | None = None
    ) -> pa.Table:
        """Answer a view, in whose SQL {part0}, {part1} ... stand for the rows of these selections.

        With `after` only rows whose first column is greater.
        """

    def write(self, path: str, rows: Rows) -> Written:
        """Write rows as a file, under a name that was never used before."""

    def size(self, rows: Rows) -> int:
        """How many bytes rows take in a file, about."""

    def write_parts(self, path: str, rows: Sequence[Rows]) -> tuple[Written, ...]:
        """Write small rows together as the parts of a file, under a name that was never used before."""

    def forget(self, paths: Iterable[str]) -> None:
        """Let go of what is kept of files that are gone."""
