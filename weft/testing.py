"""Tests of continuous queries: rows go in, a tick runs, answers come out; docs/testing.md shows it.

    with weft.testing.engine(tmp_path) as engine:
        weft.testing.add_stream(engine, "packets", schema="ts timestamp, saddr string, length int", event_time="ts")
        engine.register("SELECT saddr, sum(length) AS bytes FROM packets GROUP BY saddr", name="bytes")
        weft.testing.feed(engine, "packets", [{"ts": "2026-01-01T00:00:00", "saddr": "a", "length": 10}])
        assert engine.query("bytes").result().to_pylist() == [{"saddr": "a", "bytes": 10}]

A fed tick is the tick of a running stream, from the plan to the commit, without a source and a checkpoint. Where
DuckDB can compute the rows' part as Spark does, no Spark is started; where it cannot, Spark does it, in this process.
Needed: what arrives fits into memory. Cost: a few milliseconds for every node of the network.

The second half is for Weft's own tests, which drive ticks by hand: they reach into an engine here and nowhere else.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Column, Expression, Literal, Slot, transform
from weft.algebra.windows import micros
from weft.backend.merge import duck_identifier, merge_sql
from weft.backend.render import duck_sql
from weft.engine import Engine
from weft.errors import StreamError
from weft.feeds.streams import Stream
from weft.plan.cost import Costs
from weft.plan.dimensions import Dimension, lowest
from weft.plan.network import Network, Node, build_network
from weft.plan.placement import Placement
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.segments.segment import SegmentRow
from weft.segments.types import arrow_type, duck_literal, duck_type
from weft.spark.arrived import SparkBatch
from weft.spark.batch import BatchOutput, project
from weft.spark.checkpoint import BatchMark
from weft.spark.compute import Arrived
from weft.spark.dead import AHEAD, BEHIND, FIRST_MOMENT, LAST_MOMENT, LETTERS, NO_TIME, DeadLetters
from weft.spark.level0 import Statement
from weft.tick.ticker import Ticker

# What Spark needs for a few rows: two cores, and code that runs once is not compiled well.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
}
# The checkpoint that fed batches say they are of.
FED = "fed"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def engine(folder: str | os.PathLike[str], **options: Any) -> Engine:
    """An engine on a folder of the test's own, with a small Spark where it needs one; `options` are weft.Engine's."""
    if options.get("spark") is None:
        options["spark_settings"] = {**SETTINGS, **(options.get("spark_settings") or {})}
    return Engine(folder, **options)


def add_stream(engine: Engine, name: str, *, schema: str, event_time: str, watermark: str = "0 seconds") -> None:
    """Add a stream that has no source: its rows are fed. Event times may be any, however far ahead of the clock."""
    nowhere = os.path.join(engine._folder.root, "nowhere")
    engine.add_stream(
        name, source="parquet", path=nowhere, schema=schema, event_time=event_time, watermark=watermark, max_ahead="any"
    )


def feed(engine: Engine, stream: str, rows: Iterable[Mapping[str, Any]] | pa.Table, *, spark: bool = False) -> None:
    """Run one tick over these rows, dictionaries or an Arrow table; a column that a row lacks is NULL in it.

    Moments may be texts, in UTC unless they name another zone. With `spark` Spark computes the rows' part in any case.
    """
    ticks = ticker(engine, stream)
    table = _table(rows, ticks.stream)
    batch = FedBatch(next_mark(engine, stream), table, ticks.stream, engine)
    ticks.run(batch.on_spark() if spark else batch)


def is_portable(engine: Engine, sql: str) -> bool:
    """Whether fed rows of this query are computed without Spark."""
    query = engine.registry.preview(sql)
    return _lines_of(build_network(query.row.stream, {query.name: query.needs})) is not None


def _table(rows: Iterable[Mapping[str, Any]] | pa.Table, stream: Stream) -> pa.Table:
    """The rows as a table of the stream's columns and types."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in stream.columns])
    rows = rows if isinstance(rows, pa.Table) else list(rows)
    given = rows.column_names if isinstance(rows, pa.Table) else sorted({name for row in rows for name in row})
    if strange := [name for name in given if name not in schema.names]:
        raise StreamError(
            "unknown-column",
            f"stream {stream.name!r} has no column {strange[0]!r}",
            hint=f"Known names: {', '.join(schema.names)}.",
        )
    if isinstance(rows, pa.Table):
        return conform(rows, schema)
    moments = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    return pa.Table.from_pylist([{**row, **{name: _moment(row.get(name)) for name in moments}} for row in rows], schema)


def _moment(value: Any) -> Any:
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
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

    def aggregate(self, network: Network, parts: Sequence[Statement]) -> BatchOutput:
        """The partial rows of the base nodes."""
        alive = self._alive()
        moments = _micros(alive[self.stream.event_time])
        lines = _lines_of(network)
        if lines is None:
            return self.on_spark().aggregate(network, parts)
        partials = {node.id: self._partial(node, lines[node.id], alive, moments) for node in network.base}
        return BatchOutput(len(self.rows), len(self.rows) - len(alive), max(moments, default=None), partials)

    def _partial(self, node: Node, lines: str, alive: pa.Table, moments: list[int]) -> pa.Table:
        number = self.mark.batch_id
        starts = [number if node.slicing is None else node.slicing.floor(moment) for moment in moments]
        table = alive.append_column(START, pa.array(starts, pa.int64()))
        keys = [(duck_identifier(name), name) for name in (START, *(one.name for one in node.dimensions))]
        found = self.engine.duck.run(merge_sql(f"({lines})", keys, node.statistics), {"fed": table})
        found = found.append_column(LATE, pa.repeat(pa.scalar(ON_TIME, pa.int64()), len(found)))
        found = found.append_column(LEVEL, pa.repeat(pa.scalar(0, pa.int8()), len(found)))
        return conform(found, row_schema(node.dimensions, node.statistics))

    def _alive(self) -> pa.Table:
        return self.rows.filter(pa.array([reason is None for reason in self._reasons()], pa.bool_()))

    def _reasons(self) -> list[str | None]:
        """Why each row counts for nothing, None for one that counts."""
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
        """The batch without those rows, and these."""
        return replace(self, rows=self._alive()), self.dead_letters(len(self.rows))

    def guilty(self, fails: Callable[[FedBatch], object]) -> FedBatch | None:
        """One row that fails by itself, as a batch."""
        left = self
        while len(left.rows) > 1:
            half = len(left.rows) // 2
            first, second = (replace(left, rows=rows) for rows in (left.rows.slice(0, half), left.rows.slice(half)))
            left = first if fails(first) else second
        return left if fails(left) else None

    def values(self, columns: Sequence[str]) -> dict[str, str | None]:
        """These columns of a batch of one row as text."""
        row = self.rows.select(columns).to_pylist()[0]
        return {name: None if value is None else str(value) for name, value in row.items()}

    def jobs(self) -> int:
        """How many Spark jobs there were: none that anybody counts."""
        return 0

    @contextmanager
    def held(self) -> Iterator[FedBatch]:
        """The batch itself: its rows are the same whenever they are looked at."""
        yield self


def _reason(moment: int | None, latest: int) -> str | None:
    if moment is None:
        return NO_TIME
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        return BEHIND if moment < FIRST_MOMENT else AHEAD
    return AHEAD if moment > latest else None


def _micros(column: pa.ChunkedArray) -> list[Any]:
    found: list[Any] = pc.cast(column, pa.int64()).to_pylist()
    return found


def _lines_of(network: Network) -> dict[str, str] | None:
    """SQL of the partial rows of every base node; None where an expression is not portable."""
    try:
        return {node.id: _lines(node, network) for node in network.base}
    except TypeError:
        return None


def _lines(node: Node, network: Network) -> str:
    """SQL of one partial row for every row of `fed`; merging them by their keys is the node's answer."""
    cuts = dict(network.cuts)
    named = [(_key(one, cuts.get(one.name, ())), one.name) for one in node.dimensions]
    named += [(_single(one), one.name) for one in node.statistics]
    return f"SELECT {', '.join([START, *(f'{sql} AS {duck_identifier(name)}' for sql, name in named)])} FROM fed"


def _key(dimension: Dimension, cuts: Sequence[Any]) -> str:
    """A dimension of a row: its value, or the greatest cut at or below it. Spark takes both zeros for one group."""
    value = _over_rows(dimension.expression)
    if dimension.cells:
        points = (duck_literal(Literal(cut, dimension.type)) for cut in sorted({lowest(dimension.type), *cuts}))
        return f"list_max(list_filter([{', '.join(points)}], lambda weft_cut: weft_cut <= {value}))"
    return f"({value} + CAST(0 AS {duck_type(dimension.type)}))" if dimension.type.is_fractional else value


# A value with what it is ordered by, as it is stored.
EXTREME = "struct_pack(o := {1}, p := {0} IS NOT NULL, v := {0})"
# A statistic of a single row that counts, over its arguments; {t} is the type that it is stored in.
SINGLE = {
    "count": "CAST({0} IS NOT NULL AS BIGINT)",
    "sum": "CAST({0} AS {t})",
    "wide_sum": "CAST({0} AS {t})",
    "squares": "CAST(CAST({0} AS HUGEINT) * CAST({0} AS HUGEINT) AS {t})",
    "m2": "CASE WHEN {0} IS NOT NULL THEN CAST(0 AS DOUBLE) END",
    **dict.fromkeys(("min", "max", "bool_and", "bool_or"), "{0}"),
    **dict.fromkeys(("least", "greatest"), f"CASE WHEN {{1}} IS NOT NULL THEN {EXTREME} END"),
}


def _single(one: Statistic) -> str:
    arguments = [f"({_over_rows(argument)})" for argument in one.arguments] or ["1"]
    sql = SINGLE[one.basic].format(*arguments, t=duck_type(one.type))
    return sql if one.where is None else f"CASE WHEN {_over_rows(one.where)} THEN {sql} END"


def _over_rows(expression: Expression) -> str:
    """An expression over the columns of a row as DuckDB's SQL; raises TypeError where it is not portable."""

    def slot(part: Expression) -> Expression | None:
        return Slot(part.name, part.type) if isinstance(part, Column) else None

    return duck_sql(transform(expression, slot), {})


# From here on for Weft's own tests.


def ticker(engine: Engine, stream: str) -> Ticker:
    """What runs the ticks of a stream, for tests of its own parts."""
    return engine._runners.ticker(stream)


def run(engine: Engine, stream: str, batch: Arrived) -> None:
    """Run the tick of a batch that the test made, for example of partial rows that it computed itself."""
    ticker(engine, stream).run(batch)


def mark(number: int, checkpoint: str = FED, digest: str | None = None) -> BatchMark:
    """The identity of a batch."""
    return BatchMark(checkpoint, number, f"offsets {number}" if digest is None else digest)


def next_mark(engine: Engine, stream: str, checkpoint: str = FED) -> BatchMark:
    """The identity of the batch after the newest one that is committed."""
    return mark(engine.state_of(stream).batch_id + 1, checkpoint)


def adopted(engine: Engine, stream: str, batch: BatchMark) -> BatchMark:
    """A batch of a checkpoint that was adopted, under the number that it has in the stream."""
    return ticker(engine, stream).numbered(batch)


def start_anew(engine: Engine, stream: str) -> None:
    """Be as the catalog is, as a stream does when it starts."""
    ticker(engine, stream).start_anew()


def move(engine: Engine, stream: str, placements: Mapping[str, str | Placement]) -> None:
    """Have the next tick keep the rows of queries elsewhere: in the tree of that name, or as the placement says."""
    placed = {name: to if isinstance(to, Placement) else Placement(to) for name, to in placements.items()}
    engine.planner(stream).place(placed)


def stay(engine: Engine, stream: str) -> None:
    """From now on the optimizer moves no query of the stream by itself."""
    engine.planner(stream).optimizer.moves = lambda *_: {}  # type: ignore[method-assign]


def settle(engine: Engine, stream: str) -> None:
    """Wait for the search beside the ticks: what it finds must not depend on how fast a machine is."""
    engine.planner(stream).optimizer.wait()


def costs(engine: Engine, stream: str) -> Costs:
    """The prices that the stream's plans are judged by."""
    return engine.planner(stream).optimizer.costs


@contextmanager
def without(engine: Engine, stream: str, *stages: str) -> Iterator[None]:
    """Leave stages out of the stream's ticks, to show what they are for."""
    ticks = ticker(engine, stream)
    names = {stage.name for stage in ticks.stages}
    assert names.issuperset(stages), f"the stages of a tick are {', '.join(sorted(names))}"
    with patch.object(ticks, "without", frozenset(stages)):
        yield


@contextmanager
def around_ticks(engine: Engine, stream: str, act: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Put something around every tick of a stream: `act` is called in its place, with the tick to run."""
    ticks = ticker(engine, stream)
    tick = ticks.run
    with patch.object(ticks, "run", lambda batch: act(lambda: tick(batch))):
        yield


@contextmanager
def kinds_read(engine: Engine) -> Iterator[list[str]]:
    """The kinds of the files that answers are read from meanwhile: `tick`, `block`, `result` for finished windows."""
    kinds: list[str] = []
    get = engine.cache.get

    def noted(segment: SegmentRow) -> pa.Table:
        kinds.append(segment.kind)
        return get(segment)

    with patch.object(engine.cache, "get", noted):
        yield kinds
