"""Kept rows as partial rows: what a query asks of nodes, computed in this process from the rows of a span.

Needs: nothing of Spark, so what only Spark computes as Spark does is refused here (`OnlySpark`).
Keeps: memory is bounded by a piece of rows and the partial rows of the span, which are merged as they become many.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from weft.algebra.windows import Running
from weft.backend.duck import backend_errors
from weft.backend.interface import Backend, Rows, Selection, Source
from weft.errors import SqlError
from weft.passes.kernel import PassKernel
from weft.passes.maker import pass_over
from weft.passes.row_reader import RowPiece, RowSpan, pieces_of, read_piece
from weft.passes.work import Pass
from weft.plan.needs import Needs
from weft.plan.network import Decision, Network, build_network
from weft.segments.files import Files
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, conform, row_schema
from weft.segments.segment import SegmentRow
from weft.store.derive import derived

# Partial rows of a node are merged when they are so many more than after the last merging.
MOST_LOOSE = 1_000_000


class OnlySpark(Exception):
    """Only Spark computes this as Spark does; the message says what."""


class KeptRowsReader:
    """Computes partial rows from kept rows; safe to use from several threads, which take turns."""

    def __init__(self, files: Files, backend: Backend) -> None:
        self._files, self._backend = files, backend
        self.rows_read = 0
        """How many rows were read so far, row groups whole."""
        self._kernel: PassKernel | None = None
        self._lock = threading.Lock()

    def partial_rows(self, needs: Needs, files: Iterable[SegmentRow], spans: Iterable[RowSpan]) -> dict[str, Rows]:
        """What a query needs of its nodes, by node, of the rows of these spans; rows of no slice."""
        network, work = pass_of(needs)
        loose: dict[str, list[pa.Table]] = {node.id: [] for node in network.base}
        merged: dict[str, Rows] = {}
        stored = list(files)
        for span in spans:
            for piece in pieces_of(self._files, stored, span):
                self.rows_read += piece.rows
                for node, parts in self._passed(work, piece, span).items():
                    if node in loose:
                        loose[node] += parts
                self._merge(network, loose, merged, MOST_LOOSE)
        self._merge(network, loose, merged, 0)
        return merged

    def _passed(self, work: Pass, piece: RowPiece, span: RowSpan) -> Mapping[str, list[pa.Table]]:
        rows = read_piece(self._files, piece, work.plain, span)
        with backend_errors(), self._lock:
            if self._kernel is None:
                self._kernel = PassKernel(os.cpu_count() or 1)
            return self._kernel.run(work, rows).partials

    def _merge(self, network: Network, loose: dict[str, list[pa.Table]], merged: dict[str, Rows], most: int) -> None:
        """Merge the loose partial rows of nodes with those that are merged, where they are more than so many."""
        for node in network.base:
            before = merged.get(node.id)
            count = sum(part.num_rows for part in loose[node.id])
            if count <= most and (before is not None or most):
                continue
            schema = row_schema(node.dimensions, node.statistics)
            tables = [_shaped(part, schema) for part in loose[node.id]]
            fresh = self._backend.hold(pa.concat_tables(tables) if tables else schema.empty_table())
            several = Source((fresh,) if before is None else (before, fresh))
            merged[node.id] = self._backend.merge(derived(node, Selection((several,), tuple(schema.names), schema), 0))
            loose[node.id] = []

    def close(self) -> None:
        """Let go of the kernel."""
        with self._lock:
            if self._kernel is not None:
                self._kernel.close()
                self._kernel = None


def pass_of(needs: Needs) -> tuple[Network, Pass]:
    """The network of a single query over a span of rows, and its pass; refused where only Spark computes it."""
    network = build_network(needs.stream, {"": replace(needs, window=Running())}, Decision({}))
    try:
        return network, pass_over(network)
    except (TypeError, SqlError) as error:
        raise OnlySpark(str(error)) from error


def _shaped(part: pa.Table, schema: pa.Schema) -> pa.Table:
    """Partial rows of no slice as rows of a node."""
    count = part.num_rows
    fixed: dict[str, pa.Array] = {
        START: pa.repeat(pa.scalar(0, pa.int64()), count),
        LATE: pa.repeat(pa.scalar(ON_TIME, pa.int64()), count),
        LEVEL: pa.repeat(pa.scalar(0, pa.int8()), count),
    }
    columns = [fixed[name] if name in fixed else part[name] for name in schema.names]
    return conform(pa.table(columns, names=schema.names), schema)
