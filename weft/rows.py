"""The kept rows of a stream, to be read: in parts, as a table, or as a DataFrame that Spark's executors read.

Kept: what is read is what one commit had, all rows of the span, each once. A part is no longer than a piece of a file
(weft/passes/row_reader.py), so reading takes the memory of a part, however many rows there are.
Needed: a reading is done within a lease (a minute) of the commit that it began with, or it may find a file gone that
was merged or expired meanwhile; then it says so, and can begin anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from weft.algebra.coercion import implicit
from weft.algebra.expressions import Column, Expression, walk
from weft.algebra.types import BOOLEAN
from weft.backend.interface import Backend, BackendError, Selection, Source
from weft.backend.statements import duck_identifier
from weft.errors import EngineError, StateError, StreamError
from weft.feeds.streams import Stream, spark_identifier
from weft.passes.row_reader import RowSpan, pieces_of, read_piece
from weft.passes.row_sql import row_sql
from weft.read.moments import Moment, datetime_of, moment_of
from weft.read.reader import explain_failure
from weft.segments.files import Files
from weft.segments.kept import BESIDE, MOMENT, kept_schema
from weft.segments.segment import EARLIEST, LATEST, SegmentRow
from weft.store.state import StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from weft.registry.registry import Registry
    from weft.store.storage import Storage

# The number of a row in its piece.
NUMBER = "weft_number"
RETAIN_HINT = 'Add the stream again with retain="2 hours", or whatever span is to be kept; see docs/rows.md.'


class Opened(Protocol):
    """What rows are read from: an engine."""

    files: Files
    storage: Storage
    registry: Registry

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started where none is there."""

    def state_of(self, stream: str) -> StreamState:
        """The newest committed state of a stream."""


@dataclass(frozen=True)
class Wanted:
    """Which rows, as the user said it: a span of moments, columns, and a condition that rows fulfil."""

    columns: tuple[str, ...]
    begin: int | None
    end: int | None
    where: Expression | None

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns that the condition is about."""
        parts = () if self.where is None else walk(self.where)
        return tuple(sorted({part.name for part in parts if isinstance(part, Column)}))


class StreamRows:
    """Rows of a stream that are kept, as the newest commit has them when reading begins."""

    def __init__(self, engine: Opened, stream: Stream, wanted: Wanted) -> None:
        self._engine, self._stream, self._wanted = engine, stream, wanted

    def __repr__(self) -> str:
        return f"<weft.StreamRows of {self._stream.name!r}>"

    def __iter__(self) -> Iterator[pa.Table]:
        """The rows in tables of bounded size, in no order but that of their files; none of them is empty."""
        files, span = self._near()
        condition = self._portable()
        parts = self._by_spark(files, span) if condition is None else self._here(files, span, condition)
        return (part for part in parts if part.num_rows)

    def table(self) -> pa.Table:
        """All rows in one table, which must fit into memory."""
        return pa.concat_tables([self.schema.empty_table(), *self])

    def dataframe(self) -> DataFrame:
        """The rows as a Spark DataFrame: executors read the files, which stay for a lease after they were merged."""
        files, span = self._near()
        return self._frame(files, span)

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        known = kept_schema(self._stream.columns)
        return pa.schema([known.field(name) for name in self._wanted.columns])

    def _near(self) -> tuple[list[SegmentRow], RowSpan]:
        """The files that can have such rows, and the span that is asked for; refused where that is not kept whole."""
        state = self._engine.state_of(self._stream.name)
        span = span_of(self._wanted, self._engine.registry.stream(self._stream.name), state)
        return [file for file in state.kept.files if span.is_near(file)], span

    def _portable(self) -> str | None:
        """The condition in DuckDB's SQL, `true` where there is none; None where only Spark computes it so."""
        if self._wanted.where is None:
            return "true"
        try:
            return row_sql(self._wanted.where, {name: duck_identifier(name) for name in self._wanted.judged})
        except TypeError:
            return None

    def _here(self, files: Sequence[SegmentRow], span: RowSpan, condition: str) -> Iterator[pa.Table]:
        """The rows, read and judged in this process."""
        store, backend = self._engine.files, self._engine.storage.backend
        columns = {name: name for name in dict.fromkeys([*self._wanted.columns, *self._wanted.judged])}
        for file in files:
            with _still_there(file, self._stream.name, self._engine):
                for piece in pieces_of(store, [file], span):
                    rows = read_piece(store, piece, columns, span)
                    if self._wanted.where is not None:
                        rows = rows.take(_numbers(backend, rows.select(self._wanted.judged), condition))
                    yield rows.select(self._wanted.columns).cast(self.schema)

    def _by_spark(self, files: Sequence[SegmentRow], span: RowSpan) -> Iterator[pa.Table]:
        """The rows, a file at a time, judged by Spark."""
        for file in files:
            yield self._frame([file], span).toArrow().cast(self.schema)

    def _frame(self, files: Sequence[SegmentRow], span: RowSpan) -> DataFrame:
        from weft.spark.render import spark_sql
        from weft.spark.session import BATCH_SETTINGS

        # A session of its own: how an expression is computed must not depend on what the user's is set to.
        session = self._engine.spark.newSession()
        for key, value in BATCH_SETTINGS.items():
            session.conf.set(key, value)
        kinds = {**dict(self._stream.columns), **dict.fromkeys(BESIDE, "bigint")}
        schema = ", ".join(f"{spark_identifier(name)} {kind}" for name, kind in kinds.items())
        if not files:
            rows = session.createDataFrame([], schema)
        else:
            rows = session.read.schema(schema).parquet(*[self._engine.files.uri(file.path) for file in files])
        # The least number cannot be written as the negative of a number.
        rows = rows.where(f"{MOMENT} >= CAST('{span.begin}' AS BIGINT) AND {MOMENT} < CAST('{span.end}' AS BIGINT)")
        if self._wanted.where is not None:
            rows = rows.where(spark_sql(self._wanted.where))
        return rows.select(*map(spark_identifier, self._wanted.columns))


def rows_of(
    engine: Opened,
    stream: str,
    since: Moment | None,
    until: Moment | None,
    columns: Sequence[str] | None,
    where: str | None,
) -> StreamRows:
    """The rows that a user asks for; refuses at once what cannot be read."""
    known = engine.registry.stream(stream)
    begin, end = (None if moment is None else moment_of(moment) for moment in (since, until))
    condition = None if where is None else condition_of(where, known)
    wanted = Wanted(columns_of(columns, known), begin, end, condition)
    span_of(wanted, known, engine.state_of(known.name))
    return StreamRows(engine, known, wanted)


def columns_of(said: Sequence[str] | None, stream: Stream) -> tuple[str, ...]:
    """The columns that are asked for, all of the stream's by default; names are written in any case, as in SQL."""
    names = [name for name, _ in stream.columns]
    if said is None:
        return tuple(names)
    known = {name.lower(): name for name in (*names, *BESIDE)}
    listed = [said] if isinstance(said, str) else list(said)
    strange = [name for name in listed if not isinstance(name, str) or name.lower() not in known]
    if strange or not listed:
        what = f"stream {stream.name!r} has no column {str(strange[0])[:60]!r}" if strange else "no column is named"
        raise StreamError("unknown-column", what, hint=f"Known names: {', '.join(names)}.")
    return tuple(dict.fromkeys(known[name.lower()] for name in listed))


def condition_of(where: str, stream: Stream) -> Expression:
    """The condition, bound to the stream's columns."""
    # Whoever reads all rows needs no parser.
    from weft.sql.bind import compile_expression

    return implicit(compile_expression(where, dict(stream.columns), None), BOOLEAN)


def span_of(wanted: Wanted, stream: Stream, state: StreamState) -> RowSpan:
    """The span that is asked for, from where all rows are kept unless a beginning is said; refused where rows lack."""
    kept = state.kept
    if kept.node is None and not stream.retention.kept:
        forbidden = f"stream {stream.name!r} says retain='never', which forbids keeping its rows"
        message = forbidden if stream.retention.forbidden else f"stream {stream.name!r} does not keep its rows"
        raise StreamError("rows-not-retained", message, hint=RETAIN_HINT)
    begin = kept.since if wanted.begin is None else wanted.begin
    if begin < kept.since and kept.node is not None:
        raise EngineError(
            "not-held",
            f"rows of stream {stream.name!r} are asked for from {datetime_of(begin).isoformat()} on",
            hint=f"All of them are kept from {datetime_of(kept.since).isoformat()} on. Leave `since` out for these.",
        )
    return RowSpan(EARLIEST if begin == LATEST else begin, LATEST if wanted.end is None else wanted.end)


def _numbers(backend: Backend, rows: pa.Table, condition: str) -> pa.ChunkedArray:
    """The numbers of the rows that fulfil a condition: only these come back, so no value changes on the way."""
    numbered = rows.append_column(NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    selection = Selection((Source((backend.hold(numbered),)),), tuple(numbered.column_names), numbered.schema)
    sql = f"SELECT {NUMBER} FROM {{part0}} WHERE {condition} ORDER BY {NUMBER}"
    try:
        return backend.answer(sql, [[selection]], pa.schema([(NUMBER, pa.int64())]))[NUMBER]
    except BackendError as error:
        raise explain_failure(error) from error


@contextmanager
def _still_there(file: SegmentRow, stream: str, engine: Opened) -> Iterator[None]:
    """Say of a file that is gone because it was merged or expired meanwhile that it is: nothing is lost."""
    try:
        yield
    except StateError as error:
        if error.code != "segment-missing" or file in engine.state_of(stream).kept.files:
            raise
        raise StateError(
            "rows-moved",
            f"rows of stream {stream!r} were merged or expired while they were read, for longer than a minute",
            hint="Nothing is lost. Read again: in shorter spans, or with fewer pauses between the parts.",
        ) from error
