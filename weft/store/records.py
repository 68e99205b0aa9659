"""The rows of the catalog as frozen objects: every table is read and written as its row class.

Keeps: a row class has exactly the columns of its table in weft/store/tables.py, under the same names (a test holds it).
Moments that belong to the data (watermarks, segment bounds) are integers: microseconds since the epoch in UTC.
Moments of the world (`created_at`, `since`) are aware datetimes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypedDict, get_args

from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.definition import QueryDefinition

FAILED = "failed"
"""The `status` of a query that cannot be computed."""
ADOPTED = ""
"""The `checkpoint` of a stream that takes over the checkpoint of its next batch, whichever that is."""

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamRow:
    """A registered stream; `created_at` is None only in a row that was not stored yet."""

    name: str
    definition: Json
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryRow:
    """A registered query; `created_at` is None only in a row that was not stored yet.

    `from_batch` is the first batch whose rows it saw, `complete_from` the moment from which its windows are whole.
    """

    name: str
    stream: str
    sql: str
    definition: QueryDefinition
    from_batch: int | None = None
    complete_from: int | None = None
    status: str = "registered"
    status_detail: str | None = None
    created_at: datetime | None = None

    def is_registration_of(self, other: QueryRow) -> bool:
        """Whether both rows are of the same registration, and not of two, before and after the query was dropped."""
        return self.sql == other.sql and self.definition.mark == other.definition.mark


class QueryChange(TypedDict, total=False):
    """The columns of a query that may change; columns that are left out keep their value."""

    sql: str
    definition: QueryDefinition
    from_batch: int | None
    complete_from: int | None
    status: str
    status_detail: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FormRow:
    """What compiling a query yielded, as JSON text, and in which format (weft/algebra/stored.py) that is written.

    It has a digest of its own and is in no sum: a form that is damaged is made anew from the query's text.
    """

    query: str
    format: int
    digest: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregateRow:
    """A user-defined aggregate."""

    name: str
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRow:
    """A shared partial aggregate; everything up to `sealed_batch` and before `sealed_time` is merged into blocks."""

    id: str
    stream: str
    definition: Json
    created_batch: int
    complete_from: int | None = None
    sealed_batch: int = -1
    sealed_time: int = EARLIEST


@dataclass(frozen=True, kw_only=True, slots=True)
class LayoutRow:
    """The columns that a set of segment files has."""

    id: str
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanRow:
    """A version of a stream's plan, in force from a batch on: all nodes, their columns, and their parents."""

    stream: str
    version: int
    from_batch: int
    definition: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetterRow:
    """A file of a stream's rows that could not be counted; `id`, `created_at` are None only before it is stored."""

    stream: str
    batch_id: int
    path: str
    rows: int
    bytes: int
    checksum: str
    created_at: datetime | None = None
    id: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TickRow:
    """The newest committed tick of a stream; (checkpoint, batch_id) says which batch that was."""

    stream: str
    batch_id: int
    checkpoint: str
    offsets_digest: str
    watermark: int | None = None
    max_event_time: int | None = None
    totals: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TickLogRow:
    """A committed tick of the stream's current checkpoint."""

    stream: str
    batch_id: int
    digest: str
    watermark: int | None
    detail: Json


CatalogRow = (
    StreamRow
    | QueryRow
    | FormRow
    | AggregateRow
    | NodeRow
    | LayoutRow
    | SegmentRow
    | PlanRow
    | DeadLetterRow
    | TickRow
    | TickLogRow
)

# Asking each row for its columns anew takes longer than reading them.
_COLUMNS = {kind: tuple(column.name for column in fields(kind)) for kind in get_args(CatalogRow)}


def values(row: CatalogRow) -> dict[str, Any]:
    """Return the row as column values, nothing copied.

    >>> values(AggregateRow(name="a", definition={}))
    {'name': 'a', 'definition': {}}
    """
    return {name: getattr(row, name) for name in _COLUMNS[type(row)]}
