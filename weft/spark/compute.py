"""The work of a tick before anything is stored: from the rows of a batch to new rows of all nodes; and who failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.backend.interface import Backend, BackendDown, BackendError, Rows
from weft.errors import EngineError, StateError
from weft.plan.isolate import failing_alike, find_culprits, find_misfits, suspected_columns
from weft.plan.needs import Needs
from weft.plan.network import Network, build_network
from weft.spark.batch import BatchOutput
from weft.spark.checkpoint import BatchMark
from weft.spark.dead import DeadLetters
from weft.spark.failure import has_condition, lost_with_executor, on_row, reason_of
from weft.spark.kernels import Level0
from weft.spark.passing import is_nobodys_fault
from weft.store.derive import NewRows, in_one_piece, new_rows

# PySpark writes every error with all of its stack to the error stream; Weft's log says what a person needs.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)

log = logging.getLogger("weft.spark")
# Culprits are known by trials; to say on which row they fail may take as many again, and this many in any case.
PATIENCE = 100
# What an expression that fails on a row raises, on Spark or where partial rows are merged.
OF_DATA = (PySparkException, Py4JError, BackendError)
# How the reason begins where a query fails only beside other queries.
TOGETHER = "fails together with queries that were registered before it"
# A bad row mostly fails many queries: so many rows that other queries failed on are tried before another is sought.
KNOWN_TRIED = 3


class Arrived(Protocol):
    """A micro-batch as the tick sees it."""

    @property
    def mark(self) -> BatchMark:
        """Which batch it is."""

    def held(self) -> AbstractContextManager[Arrived]:
        """The batch with the same rows however often they are read, for as long as the block lasts."""

    def aggregate(self, level0: Level0) -> BatchOutput:
        """The partial rows of the base nodes."""

    def dead_letters(self, count: int) -> DeadLetters:
        """The batch's dead rows, of which there are `count`, with the reason and the source of every row."""

    def cleaned(self) -> tuple[Arrived, DeadLetters]:
        """The batch without dead rows and unreadable files, and these as letters; for a batch that failed."""

    def guilty(self, fails: Callable[[Arrived], object]) -> Arrived | None:
        """A row of the batch that fails by itself, as a batch; None where there is no such row."""

    def values(self, columns: Sequence[str]) -> Mapping[str, str | None]:
        """These columns of a batch of a single row, as text."""

    def jobs(self) -> int:
        """How many Spark jobs the stream has started so far."""


def merge_step(
    output: BatchOutput, network: Network, watermark: int | None, backend: Backend, batch_id: int
) -> NewRows:
    """Merge the partial rows of the base nodes into the new rows of all nodes."""
    return new_rows(backend, network, _base_rows(output, network, backend, batch_id), watermark, batch_id)


def blame(
    batch: Arrived, stream: str, queries: Mapping[str, Needs], watermark: int | None, backend: Backend
) -> dict[str, str]:
    """The queries that fail on this batch alone, with reasons; none where the batch itself cannot be read.

    Where every query works alone and all together do not, even node after node, the queries that fail with the queries
    before them in the order of `queries`. A failure is any exception: nobody can list all that an expression, or a
    statement that is too large, may raise.
    Raises what a lost executor, a full disk or the like raises: then all must begin anew, at once or when the cause is
    gone, and which queries would have failed is not known.
    """

    raised: list[Exception] = []

    def trial(names: Sequence[str], batch: Arrived = batch, *, apart: bool = False) -> str:
        try:
            network = build_network(stream, {name: queries[name] for name in names})
            output = batch.aggregate(Level0(network, apart=apart))
            merge_step(output, network, watermark, backend, batch.mark.batch_id)
        except Exception as error:
            if is_of_infrastructure(error):
                raise
            raised.append(error)
            return reason_of(error) or type(error).__name__
        return ""

    if trial(()):
        return {}
    alike = failing_alike(queries)
    culprits = find_culprits(list(alike), trial)
    if 1 < len(alike) == len(culprits) and not any(isinstance(error, OF_DATA) for error in raised):
        # Whatever every query raises alone, and no expression does, is no query's fault.
        raise raised[-1]
    columns = {name: suspected_columns(queries[name]) for name in culprits}
    culprits = _told_on_rows(batch, culprits, columns, lambda name, part: trial([name], part))
    blamed = {name: reason for first, reason in culprits.items() for name in alike[first]}
    if not blamed:
        misfits = find_misfits(list(queries), lambda names: trial(names, apart=True))
        blamed = {name: f"{TOGETHER}: {reason}" for name, reason in misfits.items()}
    # Spark may have died or been stopped in between: then everything fails, and nobody is to blame.
    return {} if trial(()) else blamed


def is_of_infrastructure(error: Exception) -> bool:
    """Whether something around the queries failed: an executor, a disk, a connection, memory, the engine itself."""
    if isinstance(error, OSError | MemoryError | BackendDown | EngineError | StateError):
        return True
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    return no_thread or lost_with_executor(error) or is_nobodys_fault(error)


def _told_on_rows(
    batch: Arrived,
    culprits: Mapping[str, str],
    columns: Mapping[str, Sequence[str]],
    trial: Callable[[str, Arrived], str],
) -> dict[str, str]:
    """The reasons, with the row that a query failed on where such a row is known.

    What goes wrong here leaves a reason without its row, and no more; but for an executor that is lost, as above.
    """
    told, known, tried, why = dict(culprits), list[Arrived](), 0, ""
    for name, reason in culprits.items():

        def fails(part: Arrived, name: str = name) -> str:
            nonlocal tried, why
            tried, why = tried + 1, trial(name, part)
            return why

        if not has_condition(reason) or tried >= PATIENCE + 2 * len(culprits):
            continue
        try:
            row = next(filter(fails, known[:KNOWN_TRIED]), None)
            if row is None and (row := batch.guilty(fails)) is not None:
                known.append(row)
            if row is not None:
                # The last trial was that of this row; the first may have failed on another row.
                told[name] = on_row(why, row.values(columns[name]))
        except Exception as error:
            if is_of_infrastructure(error):
                raise
            log.warning("row not found", extra={"query": name, "reason": reason_of(error)})
    return told


def _base_rows(output: BatchOutput, network: Network, backend: Backend, batch_id: int) -> Mapping[str, Rows]:
    """The base nodes' rows, in a single row a group, and what the counters counted."""
    nodes = (*network.base, *network.counters)
    rows = {node.id: backend.hold(output.partials[node.id]) for node in nodes}
    return {
        node.id: in_one_piece(backend, node, rows[node.id], batch_id) if node.id in output.in_pieces else rows[node.id]
        for node in nodes
    }
