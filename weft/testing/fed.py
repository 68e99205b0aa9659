"""A batch of rows that a test feeds, computed by DuckDB as Spark would compute it, and by Spark where only Spark can.

It is the pass that the engine itself has small batches computed by, here for expressions that may fail too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from weft.algebra.windows import micros
from weft.backend.duck import backend_errors
from weft.backend.functions import DIVISION_BY_ZERO, OVERFLOW
from weft.backend.interface import BackendDown, BackendError
from weft.engine import Engine
from weft.errors import SqlError, StreamError
from weft.feeds.streams import Stream
from weft.passes.keeping import Kept
from weft.passes.kernel import Passed, kernel_of_process
from weft.passes.maker import pass_over
from weft.passes.work import Pass
from weft.plan.network import Network
from weft.plan.prices import DUCKDB
from weft.segments.kept import MOMENT
from weft.segments.rows import conform
from weft.segments.types import arrow_type
from weft.spark.arrived import SparkBatch
from weft.spark.batch import BatchOutput, project
from weft.spark.checkpoint import BatchMark
from weft.spark.dead import AHEAD, BEHIND, FIRST_MOMENT, LAST_MOMENT, LETTERS, NO_TIME, DeadLetters
from weft.spark.kernels import Level0, partials_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fed_table(rows: Iterable[Mapping[str, Any]] | pa.Table, stream: Stream) -> pa.Table:
    """The rows as a table of the stream's columns and types; names may be written in any case, as in SQL."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in stream.columns])
    rows = rows if isinstance(rows, pa.Table) else _dictionaries(rows)
    headers = [rows.column_names] if isinstance(rows, pa.Table) else rows
    given = list(dict.fromkeys(name for header in headers for name in header))
    known = {name.lower(): name for name in schema.names}
    if strange := [name for name in given if str(name).lower() not in known]:
        raise StreamError(
            "unknown-column",
            f"stream {stream.name!r} has no column {strange[0]!r}",
            hint=f"Known names: {', '.join(schema.names)}.",
        )
    names = {name: known[name.lower()] for name in given}
    _check_once(headers, names)
    try:
        if isinstance(rows, pa.Table):
            return conform(rows.rename_columns([names[name] for name in rows.column_names]), schema)
        named = [{names[name]: value for name, value in row.items()} for row in rows]
        return pa.table({field.name: _column([row.get(field.name) for row in named], field) for field in schema})
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise StreamError("bad-row", f"rows do not fit stream {stream.name!r}: {error}", hint=FITS) from error


FITS = "A value has its column's type or is None; a moment is a datetime, a date, or text like 2026-01-01T00:00:01."


def _dictionaries(rows: Any) -> list[Mapping[str, Any]]:
    """The rows in a list, each of them a dictionary."""
    if isinstance(rows, Mapping):
        raise StreamError("bad-row", "rows are fed as a list, not as a single row", hint="Write feed(..., [row]).")
    if hasattr(rows, "to_arrow") or hasattr(rows, "to_dict") or not isinstance(rows, Iterable):
        message = f"rows are dictionaries or an Arrow table, not a {type(rows).__name__}"
        raise StreamError("bad-row", message, hint="Of pandas: pa.Table.from_pandas(frame, preserve_index=False).")
    listed = list(rows)
    if strange := [row for row in listed if not isinstance(row, Mapping)]:
        message = f"a row is a dictionary, not a {type(strange[0]).__name__}: {str(strange[0])[:60]!r}"
        raise StreamError("bad-row", message, hint='Write {"ts": ..., "k": ...} for every row.')
    return listed


def _check_once(rows: Iterable[Iterable[str]], names: Mapping[str, str]) -> None:
    """Refuse a row that says a column twice, as names may be written in any case."""
    for row in rows:
        columns = [names[name] for name in row]
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise StreamError("bad-row", f"column {twice!r} is there twice", hint="Names in SQL know no capitals.")


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        if pa.types.is_timestamp(field.type):
            values = [_moment(value) for value in values]
        return pa.array(values, field.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"column {field.name!r}: {error}") from error


def _moment(value: Any) -> Any:
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


@dataclass(frozen=True)
class FedBatch:
    """A batch of rows that were fed, computed by DuckDB, and by Spark what only Spark can compute."""

    mark: BatchMark
    rows: pa.Table
    stream: Stream
    engine: Engine

    def on_spark(self) -> SparkBatch:
        """The same batch, all of it on Spark."""
        frame = self.engine.spark.createDataFrame(self.rows)
        return SparkBatch(project(frame, self.stream), self.mark, self.stream)

    def aggregate(self, level0: Level0) -> BatchOutput:
        """The partial rows of the base nodes."""
        try:
            work = pass_over(level0.network)
        except (TypeError, SqlError):
            by_spark = Level0(level0.network)
            by_spark.keeping = level0.keeping
            return self.on_spark().aggregate(by_spark)
        alive, keeping = self._alive(), level0.keeping
        moments = alive[self.stream.event_time].cast(pa.int64())
        columns = {MOMENT: moments, **{alias: alive[name] for alias, name in work.plain.items()}}
        passed = self._run(work, pa.table(columns))
        partials, in_pieces = partials_of(level0, [passed], self.mark.batch_id)
        counts = len(self.rows), len(self.rows) - len(alive)
        kept = None if keeping is None else Kept(tuple(keeping.write(alive.append_column(MOMENT, moments))))
        return BatchOutput(*counts, passed.newest, partials, in_pieces, DUCKDB, files=1, kept=kept)

    @staticmethod
    def _run(work: Pass, table: pa.Table) -> Passed:
        try:
            with backend_errors():
                return kernel_of_process(1).run(work, table)
        except BackendDown:
            raise
        except BackendError as error:
            raise BackendError(_as_condition(str(error))) from error

    def _alive(self) -> pa.Table:
        return self.rows.filter(pa.array([reason is None for reason in self._reasons()], pa.bool_()))

    def _reasons(self) -> list[str | None]:
        """Why each row counts for nothing, None for a row that counts."""
        ahead = self.stream.max_ahead
        latest = LAST_MOMENT if ahead is None else micros(datetime.now(UTC) - EPOCH + ahead)
        return [_reason(moment, latest) for moment in _micros(self.rows[self.stream.event_time])]

    def dead_letters(self, count: int) -> DeadLetters:
        """The rows that count for nothing, each with its reason."""
        lines: list[dict[str, Any]] = [
            {"tick": self.mark.batch_id, "reason": reason, "source": "", "row": json.dumps(row, default=str)}
            for reason, row in zip(self._reasons(), self.rows.to_pylist(), strict=True)
            if reason is not None
        ]
        return DeadLetters(dict(Counter(line["reason"] for line in lines)), pa.Table.from_pylist(lines, LETTERS))

    def cleaned(self) -> tuple[FedBatch, DeadLetters]:
        """The batch without the rows that count for nothing, and these rows."""
        return replace(self, rows=self._alive()), self.dead_letters(len(self.rows))

    def guilty(self, fails: Callable[[FedBatch], object]) -> FedBatch | None:
        """A row that fails by itself, as a batch."""
        left = self
        while len(left.rows) > 1:
            half = len(left.rows) // 2
            first, second = (replace(left, rows=rows) for rows in (left.rows.slice(0, half), left.rows.slice(half)))
            left = first if fails(first) else second
        return left if fails(left) else None

    def values(self, columns: Sequence[str]) -> dict[str, str | None]:
        """These columns of a batch of a single row as text."""
        row = self.rows.select(columns).to_pylist()[0]
        return {name: None if value is None else str(value) for name, value in row.items()}

    def jobs(self) -> int:
        """How many Spark jobs there were: none that anybody counts."""
        return 0

    @contextmanager
    def held(self) -> Iterator[FedBatch]:
        """The batch itself: its rows are the same whenever they are looked at."""
        yield self


# What DuckDB says of an expression that fails on a row, and the condition under which Spark says it.
CONDITIONS = {
    DIVISION_BY_ZERO: "[DIVIDE_BY_ZERO] Division by zero.",
    OVERFLOW: "[ARITHMETIC_OVERFLOW] Arithmetic overflow.",
    "Out of Range Error: ": "[ARITHMETIC_OVERFLOW] {}",
    "Conversion Error: ": "[CAST_OVERFLOW] {}",
}


def _as_condition(said: str) -> str:
    """What DuckDB said, as a condition of Spark where it is known: a query is stopped with that, and with the row.

    >>> _as_condition("Invalid Input Error: weft:division-by-zero")
    '[DIVIDE_BY_ZERO] Division by zero.'
    """
    line = said.partition("\n")[0]
    condition = next((text for mark, text in CONDITIONS.items() if mark in line), "{}")
    return condition.format(line.partition("Error: ")[2] or line)


def _reason(moment: int | None, latest: int) -> str | None:
    if moment is None:
        return NO_TIME
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        return BEHIND if moment < FIRST_MOMENT else AHEAD
    return AHEAD if moment > latest else None


def _micros(column: pa.ChunkedArray) -> list[Any]:
    moments: list[Any] = pc.cast(column, pa.int64()).to_pylist()
    return moments


def is_portable_network(network: Network) -> bool:
    """Whether a network can be computed without Spark."""
    try:
        pass_over(network)
    except (TypeError, SqlError):
        return False
    return True
