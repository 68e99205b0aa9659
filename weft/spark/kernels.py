"""The two kernels of level 0 behind one interface: Spark's statements, and a pass of DuckDB over the rows as Arrow.

A pass runs in the driver's process where a batch is small, and in Spark's tasks where it is not. It only has to be
faster: whatever goes wrong in it, Spark computes the batch, and what Spark says is what counts.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.feeds.streams import spark_identifier
from weft.passes.keeping import KEPT, Keeping, Kept, kept_by_task
from weft.passes.kernel import Passed, kernel_of_process
from weft.passes.maker import pass_over
from weft.passes.texts import checked_texts
from weft.passes.work import Pass
from weft.plan.dimensions import TICK
from weft.plan.network import Network, Node
from weft.plan.prices import SPARK
from weft.segments.kept import MOMENT
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.spark.failure import CROWDED
from weft.spark.level0 import Statement, statements
from weft.spark.parquet_files import ParquetFiles
from weft.spark.render import spark_sql
from weft.spark.room import POSITION_BITS, room_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger("weft.spark")

# A task takes its rows in pieces of so many, so that its memory is bounded.
PIECE_ROWS = 1_000_000
# More rows than this never go through the driver's process; a batch is sent there that may have twice the rows.
MOST_DRIVER_ROWS, ROOM_TO_GROW = 400_000, 2
TOO_MANY = "too many rows for the driver"
# Of rows that a pass reads from their files by itself the driver takes more: they need not go through Java.
MOST_DIRECT_ROWS = 1_000_000
MOST_FAILURES = 3
# The answer of a task: partial rows of a node as an Arrow stream, and in a row without a node what the piece held.
ANSWER = "node string, rows bigint, dead bigint, newest bigint, payload binary"


class Level0:
    """How the base nodes of a network are computed from rows: by which kernel, and what each kernel is to do.

    A pass that failed a few times is not tried again, as long as the plan is the same.
    """

    def __init__(self, network: Network, kernel: str = SPARK, *, apart: bool = False, in_driver: bool = True) -> None:
        self.network, self.kernel, self.in_driver, self._apart = network, kernel, in_driver, apart
        self._failures = 0
        # What is kept of the rows beside, None where nothing is.
        self.keeping: Keeping | None = None

    def choose(self, kernel: str, rows: float) -> None:
        """Take a kernel for a batch of about so many rows."""
        self.kernel = SPARK if self._failures >= MOST_FAILURES else kernel
        self.in_driver = rows <= MOST_DRIVER_ROWS / ROOM_TO_GROW

    def failed(self, error: Exception) -> None:
        """Go on after a pass that failed: in the tasks where rows were too many for the driver, else with Spark."""
        if self.in_driver and TOO_MANY in str(error):
            self.in_driver = False
        else:
            self.kernel = SPARK
            self._failures += 1

    @property
    def keeping_in_tasks(self) -> Keeping | None:
        """What tasks keep of their rows; None where nothing is kept, and where they cannot write."""
        return self.keeping if self.keeping is not None and self.keeping.by_tasks else None

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The network as Spark SQL."""
        return statements(self.network, apart=self._apart)

    @cached_property
    def work(self) -> Pass:
        """The network as a pass of DuckDB."""
        return pass_over(self.network, spark_sql)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that are computed from rows."""
        return (*self.network.base, *self.network.counters)


class Crowded(Exception):
    """There are more rows than this kernel has room for."""


def pass_in_driver(rows: DataFrame, level0: Level0) -> list[Passed]:
    """Run a pass over rows that are brought to this process; raises where they are more than a few."""
    session, work = rows.sparkSession, level0.work
    most = MOST_DRIVER_ROWS // max(1, session.sparkContext.defaultParallelism)
    fits = f"monotonically_increasing_id() & {POSITION_BITS}L < {most}"
    asked = asked_of(rows, work, level0.keeping)
    table = asked.where(f"if({fits}, true, cast(raise_error('{TOO_MANY}') AS boolean))").toArrow()
    return [_in_process(table, level0, room_of(session))]


def _in_process(table: pa.Table, level0: Level0, room: int) -> Passed:
    """Run a pass over rows that this process holds, and write the rows where they are kept."""
    work, keeping = level0.work, level0.keeping
    passed = checked(kernel_of_process(os.cpu_count() or 1).run(work, rows_of(work, table)), room)
    if keeping is None:
        return passed
    return replace(passed, kept=Kept(tuple(keeping.write(table, kept_names(work, keeping)))))


def pass_in_tasks(rows: DataFrame, level0: Level0) -> list[Passed]:
    """Run a pass in Spark's tasks, each over its own rows."""
    pickled, keeping = pickle.dumps(level0.work), level0.keeping_in_tasks
    task = partial(_run_task, pickled, sha256(pickled).digest(), room_of(rows.sparkSession), PIECE_ROWS, keeping)
    answer = asked_of(rows, level0.work, keeping).mapInArrow(task, ANSWER).toArrow()
    return list(_received(answer))


# Arrow batches of more rows than by default: every batch is a call from Java to Python.
TASK_SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "65536"}


def pass_over_files(rows: DataFrame, files: ParquetFiles, level0: Level0) -> list[Passed]:
    """Run a pass over the files of a batch, in this process or in Spark's tasks, which read them there."""
    session, work = rows.sparkSession, level0.work
    if files.held is not None:
        return [_in_process(files.read(columns_of(work, level0.keeping)), level0, room_of(session))]
    keeping = level0.keeping_in_tasks
    pickled = pickle.dumps(work)
    # A core works on several pieces, and what it makes of them comes together in the driver.
    room = room_of(session) // -(-len(files.pieces) // max(1, session.sparkContext.defaultParallelism))
    task = partial(_run_over_files, pickled, sha256(pickled).digest(), room, files.in_pieces(), keeping)
    numbers = session.range(0, len(files.pieces), 1, len(files.pieces))
    return list(_received(numbers.mapInArrow(task, ANSWER).toArrow()))


def asked_of(rows: DataFrame, work: Pass, keeping: Keeping | None = None) -> DataFrame:
    """The columns that a pass asks for, and those that are kept beside."""
    for key, value in TASK_SETTINGS.items():
        rows.sparkSession.conf.set(key, value)
    beside = {} if keeping is None else _only_kept(work, keeping)
    asked = {**work.asked, **{alias: spark_identifier(name) for alias, name in beside.items()}}
    return rows.selectExpr(MOMENT, *(f"{sql} AS {name}" for name, sql in asked.items()))


def columns_of(work: Pass, keeping: Keeping | None) -> dict[str, str]:
    """The columns of the stream that a pass takes as they are, and those that are kept beside, by their names there."""
    return {**work.plain, **({} if keeping is None else _only_kept(work, keeping))}


def kept_names(work: Pass, keeping: Keeping) -> dict[str, str]:
    """The names that a stream's columns have in the rows of a pass."""
    return {name: alias for alias, name in columns_of(work, keeping).items()}


def _only_kept(work: Pass, keeping: Keeping) -> dict[str, str]:
    """The columns that are kept and that the pass does not have anyway, by names that nothing else has."""
    known = frozenset(work.plain.values())
    return {f"{KEPT}{index}": name for index, (name, _) in enumerate(keeping.columns) if name not in known}


def rows_of(work: Pass, rows: pa.Table) -> pa.Table:
    """The columns that a pass computes with; predicates over strings that are no UTF-8 are Spark's to judge."""
    return checked_texts(rows.select([MOMENT, *(name for name in rows.column_names if name in work.asked)]))


def checked(passed: Passed, room: int, before: int = 0) -> Passed:
    """What a pass yields, if there is room for it in the driver, beside the bytes of passes before it."""
    held = before + passed.bytes
    if held > room:
        raise Crowded(f"{CROWDED}: partial rows of {held} bytes")
    return passed


def partials_of(level0: Level0, passes: Iterable[Passed], batch_id: int) -> tuple[dict[str, pa.Table], frozenset[str]]:
    """The partial rows of every node, and the nodes of which several passes brought a part."""
    partials: dict[str, list[pa.Table]] = {}
    pieces: Counter[str] = Counter()
    for passed in passes:
        for name, brought in passed.partials.items():
            partials.setdefault(name, []).extend(brought)
            pieces[name] += any(part.num_rows for part in brought)
    whole = {}
    for node in level0.nodes:
        schema = row_schema(node.dimensions, node.statistics)
        parts = [_shaped(part, node, schema, batch_id) for part in partials.get(node.id, ()) if part.num_rows]
        whole[node.id] = pa.concat_tables(parts) if parts else schema.empty_table()
    return whole, frozenset(name for name, count in pieces.items() if count > 1)


def _shaped(part: pa.Table, node: Node, schema: pa.Schema, batch_id: int) -> pa.Table:
    """Partial rows as they are stored: with their slice or tick, on time, of no block."""
    count = part.num_rows
    fixed = {
        TICK.name: pa.repeat(pa.scalar(batch_id, pa.int64()), count),
        START: part["start"] if node.clock.sliced else pa.repeat(pa.scalar(batch_id, pa.int64()), count),
        LATE: pa.repeat(pa.scalar(ON_TIME, pa.int64()), count),
        LEVEL: pa.repeat(pa.scalar(0, pa.int8()), count),
    }
    columns = [fixed[name] if name in fixed else part[name] for name in schema.names]
    return conform(pa.table(columns, names=schema.names), schema)


# The pass that this task's process ran last, by its digest: unpickled once.
_last: dict[bytes, Pass] = {}


def _run_task(
    pickled: bytes,
    digest: bytes,
    room: int,
    piece_rows: int,
    keeping: Keeping | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Run a pass over the rows of a task, piece by piece."""
    yield from _answers(_unpickled(pickled, digest), room, pieces_of(batches, piece_rows), keeping)


def _run_over_files(
    pickled: bytes,
    digest: bytes,
    room: int,
    files: ParquetFiles,
    keeping: Keeping | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Run a pass over the pieces of files whose numbers a task is given."""
    work = _unpickled(pickled, digest)
    numbers = (number for batch in batches for number in batch.column(0).to_pylist())
    columns = columns_of(work, keeping)
    yield from _answers(work, room, (files.read(columns, [files.pieces[number]]) for number in numbers), keeping)


def _answers(
    work: Pass, room: int, pieces: Iterable[pa.Table], keeping: Keeping | None = None
) -> Iterator[pa.RecordBatch]:
    """What a pass yields over the pieces of a task, which share the room of the task."""
    held = 0
    names: Mapping[str, str] = {} if keeping is None else kept_names(work, keeping)
    for rows in pieces:
        passed = checked(kernel_of_process(1).run(work, rows_of(work, rows)), room, held)
        held += passed.bytes
        if keeping is not None:
            passed = replace(passed, kept=kept_by_task(keeping, rows, names))
        yield from _answer(passed)


def _unpickled(pickled: bytes, digest: bytes) -> Pass:
    if digest not in _last:
        _last.clear()
        _last[digest] = pickle.loads(pickled)
    return _last[digest]


def pieces_of(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """The rows in tables of about so many as are taken at once."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= most:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _answer(passed: Passed) -> Iterator[pa.RecordBatch]:
    """What a pass yields, as rows of ANSWER."""
    payloads = [
        (node, _encoded(part)) for node, parts in passed.partials.items() for part in parts if part.num_rows
    ]
    if passed.kept.files:
        payloads.append((KEPT, passed.kept.encoded()))
    table = {
        "node": pa.array([None, *(node for node, _ in payloads)], pa.string()),
        "rows": pa.array([passed.rows, *[None] * len(payloads)], pa.int64()),
        "dead": pa.array([passed.dead, *[None] * len(payloads)], pa.int64()),
        "newest": pa.array([passed.newest, *[None] * len(payloads)], pa.int64()),
        "payload": pa.array([None, *(payload for _, payload in payloads)], pa.binary()),
    }
    yield pa.RecordBatch.from_pydict(table)


def _encoded(part: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.schema) as writer:
        writer.write_table(part)
    return bytes(sink.getvalue())


def _received(answer: pa.Table) -> Iterator[Passed]:
    """What the tasks answered, piece by piece: a piece begins with the row that counts it."""
    current: Passed | None = None
    for row in answer.to_pylist():
        if row["node"] is None:
            if current is not None:
                yield current
            current = Passed(row["rows"], row["dead"], row["newest"], {})
            continue
        assert current is not None
        if row["node"] == KEPT:
            current = replace(current, kept=Kept.decoded(row["payload"]))
            continue
        part = pa.ipc.open_stream(row["payload"]).read_all()
        current.partials.setdefault(row["node"], []).append(part)
    if current is not None:
        yield current
