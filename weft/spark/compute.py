"""The work of a tick before anything is stored: from the rows of a batch to new rows of all nodes; and who failed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.backend.duck import Duck
from weft.plan.isolate import failing_alike, find_culprits, suspected_columns
from weft.plan.needs import Needs
from weft.plan.network import Network, build_network
from weft.spark.batch import Batch
from weft.spark.checkpoint import BatchMark
from weft.spark.dead import DeadLetters
from weft.spark.failure import has_condition, lost_with_executor, on_row, reason_of
from weft.spark.level0 import Statement, statements
from weft.spark.passing import is_nobodys_fault
from weft.store.derive import NewRows, merge_from, new_rows

# PySpark writes every error with all of its stack to the error stream; ours say what a person needs.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)

# What an expression that fails on a row can raise, on Spark or where partial rows are merged.
FAILURES = (PySparkException, Py4JError, duckdb.Error)

log = logging.getLogger("weft.spark")
# Who fails was found by trying; to say on which row may take about as long, and this many trials in any case.
PATIENCE = 100
# One bad row mostly fails many queries: so many rows that others failed on are tried before another one is sought.
KNOWN_TRIED = 3


class Arrived(Protocol):
    """A micro-batch as the tick sees it."""

    @property
    def mark(self) -> BatchMark:
        """Which batch it is."""

    def aggregate(self, network: Network, parts: Sequence[Statement]) -> Batch:
        """The partial rows of the network's base nodes."""

    def dead_letters(self, count: int) -> DeadLetters:
        """The batch's dead rows, of which there are so many, each with its reason and where it came from."""

    def cleaned(self) -> tuple[Arrived, DeadLetters]:
        """The batch without dead rows and unreadable files, and these; for when it failed as it came."""

    def guilty(self, fails: Callable[[Arrived], object]) -> Arrived | None:
        """One row of the batch that fails by itself, as a batch; None where there is none."""

    def values(self, columns: Sequence[str]) -> Mapping[str, str | None]:
        """These columns of a batch of one row, as text."""

    def jobs(self) -> int:
        """How many Spark jobs the stream has started so far."""


def merge_step(
    found: Batch, network: Network, parts: Sequence[Statement], watermark: int | None, duck: Duck, batch_id: int
) -> NewRows:
    """All nodes' rows, merged from the base nodes'."""
    return new_rows(duck, network, _in_one_piece(found, network, parts, duck, batch_id), watermark, batch_id)


def blame(
    batch: Arrived, stream: str, queries: Mapping[str, Needs], watermark: int | None, duck: Duck
) -> dict[str, str]:
    """The queries that fail on this batch alone, with reasons; none where the batch itself cannot be read.

    Raises what a lost executor, a full disk or the like raises: then all must begin anew, at once or when the cause is
    gone, and who would have failed is not known.
    """

    def trial(names: Sequence[str], batch: Arrived = batch) -> str:
        network = build_network(stream, {name: queries[name] for name in names})
        parts = statements(network)
        try:
            merge_step(batch.aggregate(network, parts), network, parts, watermark, duck, batch.mark.batch_id)
        except FAILURES as error:
            if lost_with_executor(error) or is_nobodys_fault(error):
                raise
            return reason_of(error)
        return ""

    if trial(()):
        return {}
    alike = failing_alike(queries)
    culprits = find_culprits(list(alike), trial)
    columns = {name: suspected_columns(queries[name]) for name in culprits}
    culprits = _told_on_rows(batch, culprits, columns, lambda name, some: trial([name], some))
    # Spark may have died or been stopped in between: then everything fails, and nobody is to blame.
    return {} if trial(()) else {name: reason for first, reason in culprits.items() for name in alike[first]}


def _told_on_rows(
    batch: Arrived,
    culprits: Mapping[str, str],
    columns: Mapping[str, Sequence[str]],
    trial: Callable[[str, Arrived], str],
) -> dict[str, str]:
    """The reasons, each with the row that it came to be on, where one is found.

    What goes wrong here leaves a reason without its row, and no more; but for an executor that is lost, as above.
    """
    told, known, tried, why = dict(culprits), list[Arrived](), 0, ""
    for name, reason in culprits.items():

        def fails(some: Arrived, name: str = name) -> str:
            nonlocal tried, why
            tried, why = tried + 1, trial(name, some)
            return why

        if not has_condition(reason) or tried >= PATIENCE + 2 * len(culprits):
            continue
        try:
            row = next(filter(fails, known[:KNOWN_TRIED]), None)
            if row is None and (row := batch.guilty(fails)) is not None:
                known.append(row)
            if row is not None:
                # The last trial was that of this row; the first may have failed on another one.
                told[name] = on_row(why, row.values(columns[name]))
        except Exception as error:
            if lost_with_executor(error) or is_nobodys_fault(error):
                raise
            log.warning("row not found", extra={"query": name, "reason": reason_of(error)})
    return told


def _in_one_piece(
    found: Batch, network: Network, parts: Sequence[Statement], duck: Duck, batch_id: int
) -> Mapping[str, pa.Table]:
    """The base nodes' rows; where two statements made parts of a node's statistics, merged into one row a group."""
    often = Counter(node.id for part in parts for node in part.sets.values())
    twice = {node for node, count in often.items() if count > 1}
    return {
        node.id: merge_from(duck, node, found.partials[node.id], batch_id=batch_id)
        if node.id in twice
        else found.partials[node.id]
        for node in network.base
    }
