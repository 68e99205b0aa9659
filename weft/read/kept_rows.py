"""Kept rows as partial rows: what a query asks of nodes, computed in this process from the rows of a span.

Needs: nothing of Spark, so what only Spark computes as Spark does is refused here (`OnlySpark`).
Keeps: memory is bounded by a piece of rows and the partial rows of the span, which are merged as they become many.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from weft.algebra.windows import Running
from weft.backend.duck import backend_errors
from weft.backend.interface import Backend, Merge, Rows, Selection, Source
from weft.backend.keys import Constant, Greatest, Key, Same
from weft.errors import SqlError
from weft.passes.arrival import as_of_ticks, with_arrival
from weft.passes.kernel import PassKernel
from weft.passes.maker import pass_over
from weft.passes.row_reader import RowPiece, RowSpan, pieces_of, read_piece
from weft.passes.work import Pass
from weft.plan.dimensions import TICK
from weft.plan.needs import Needs
from weft.plan.network import Decision, Network, Node, build_network
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
        merging = _Merging(network.base, self._backend)
        stored = list(files)
        for span in spans:
            for piece in pieces_of(self._files, stored, span):
                for node, parts in self._passed(work, piece, span).items():
                    merging.add(node, [_shaped(part, merging.schema(node)) for part in parts])
        return merging.merged()

    def nodes_of(
        self, network: Network, files: Iterable[SegmentRow], span: RowSpan, seen: Callable[[float], None]
    ) -> dict[str, Rows]:
        """The rows of all nodes of a network that ticks would have made of kept rows; tells the share that is done."""
        work = _written(with_arrival(network))
        merging = _Merging(network.base, self._backend)
        pieces = list(pieces_of(self._files, files, span))
        total, done = sum(piece.rows for piece in pieces), 0
        for piece in pieces:
            for node, parts in self._passed(work, piece, span).items():
                if node in network.by_id:
                    merging.add(node, [as_of_ticks(part, network.by_id[node]) for part in parts])
            done += piece.rows
            seen(done / max(1, total))
        return derive_all(network, merging.merged(), self._backend)

    def _passed(self, work: Pass, piece: RowPiece, span: RowSpan) -> Mapping[str, list[pa.Table]]:
        rows = read_piece(self._files, piece, work.plain, span)
        self.rows_read += piece.rows
        with backend_errors(), self._lock:
            if self._kernel is None:
                self._kernel = PassKernel(os.cpu_count() or 1)
            return self._kernel.run(work, rows).partials

    def close(self) -> None:
        """Let go of the kernel."""
        with self._lock:
            if self._kernel is not None:
                self._kernel.close()
                self._kernel = None


class _Merging:
    """Partial rows of base nodes, merged whenever they have become many."""

    def __init__(self, nodes: Iterable[Node], backend: Backend) -> None:
        self._nodes, self._backend = {node.id: node for node in nodes}, backend
        self._loose: dict[str, list[pa.Table]] = {name: [] for name in self._nodes}
        self._rows: dict[str, Rows] = {}

    def schema(self, name: str) -> pa.Schema:
        """The columns of a node's rows; none for what is no node of these."""
        node = self._nodes.get(name)
        return pa.schema([]) if node is None else row_schema(node.dimensions, node.statistics)

    def add(self, name: str, parts: list[pa.Table]) -> None:
        """Take partial rows of a node; of what is no node of these, nothing."""
        if name in self._nodes:
            self._loose[name] += parts
            if sum(part.num_rows for part in self._loose[name]) > MOST_LOOSE:
                self._merge(name)

    def merged(self) -> dict[str, Rows]:
        """The rows of all nodes, a single row a group."""
        for name in self._nodes:
            if self._loose[name] or name not in self._rows:
                self._merge(name)
        return self._rows

    def _merge(self, name: str) -> None:
        schema, before = self.schema(name), self._rows.get(name)
        fresh = self._backend.hold(pa.concat_tables(self._loose[name]) if self._loose[name] else schema.empty_table())
        several = Source((fresh,) if before is None else (before, fresh))
        selection = Selection((several,), tuple(schema.names), schema)
        self._rows[name] = self._backend.merge(_merge_of(self._nodes[name], selection))
        self._loose[name] = []


def _merge_of(node: Node, rows: Selection) -> Merge:
    """Merge the rows of a node; of totals the tick is the last that changed the group."""
    if node.clock.sliced:
        return derived(node, rows, 0)
    keys: tuple[Key, ...] = tuple(Same(dimension.name) for dimension in node.dimensions)
    beside = (Greatest(START), Constant(ON_TIME, LATE), Constant(0, LEVEL, tiny=True))
    return Merge(rows, keys, node.statistics, beside, schema=rows.schema)


def derive_all(network: Network, rows: dict[str, Rows], backend: Backend) -> dict[str, Rows]:
    """The rows of all nodes: those that are not computed from rows are merged from those of their parents."""
    made = dict(rows)
    for node in network.nodes:
        if node.parent is not None:
            schema = row_schema(node.dimensions, node.statistics)
            of_parent = Selection((Source((made[node.parent],)),), tuple(schema.names), schema)
            made[node.id] = backend.merge(_merge_of(node, of_parent))
    return made


def pass_of(needs: Needs) -> tuple[Network, Pass]:
    """The network of a single query over a span of rows, and its pass; refused where only Spark computes it."""
    network = build_network(needs.stream, {"": replace(needs, window=Running())}, Decision({}))
    return network, _written(network)


def _written(network: Network) -> Pass:
    try:
        return pass_over(network)
    except (TypeError, SqlError) as error:
        raise OnlySpark(str(error)) from error


def _shaped(part: pa.Table, schema: pa.Schema) -> pa.Table:
    """Partial rows of no slice as rows of a node."""
    count = part.num_rows if schema.names else 0
    fixed: dict[str, pa.Array] = {
        # With which tick a row came is asked of no span.
        TICK.name: pa.repeat(pa.scalar(0, pa.int64()), count),
        START: pa.repeat(pa.scalar(0, pa.int64()), count),
        LATE: pa.repeat(pa.scalar(ON_TIME, pa.int64()), count),
        LEVEL: pa.repeat(pa.scalar(0, pa.int8()), count),
    }
    columns = [fixed[name] if name in fixed else part[name] for name in schema.names]
    return conform(pa.table(columns, names=schema.names), schema)
