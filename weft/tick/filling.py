"""Filling: queries that were registered late get the kept rows of before, in the background, while ticks go on.

All queries that wait and had the same first batch share one pass over the kept rows of earlier batches; batches from
then on count through ticks. What it makes lies in nodes of its own that no tick adds to, as if the queries had moved
from there with their first batch, and becomes visible in one transaction, between two ticks.
Keeps: a row is counted once. A crash leaves files that no catalog names, and the queries wait still: it is done again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.backend.interface import Rows, Selection, Source
from weft.errors import StateError
from weft.failpoint import failpoint
from weft.optimize.planner import Planner
from weft.passes.row_reader import RowSpan
from weft.plan.description import describe_node
from weft.plan.finer import Finer
from weft.plan.layout import Layout
from weft.plan.needs import Needs
from weft.plan.network import Decision, Network, Node, assemble, collect, share_everything
from weft.read.kept_rows import KeptRowsReader
from weft.read.spans import computes_here
from weft.registry.changes import not_filled
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.segments.rows import START, row_schema
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.change import Product, tick_product, write_products
from weft.store.committed import CommittedState
from weft.store.records import LayoutRow, NodeRow, QueryChange, QueryRow
from weft.store.state import StreamState, Synopsis
from weft.store.storage import Storage

log = logging.getLogger("weft.tick")

# Files of so many rows at most, by time: a reader opens those that are near its window.
FILE_ROWS = 200_000
# So often is a filling begun anew whose files of rows went meanwhile.
ATTEMPTS = 5


class Stopped(Exception):
    """Somebody wants the filling to end."""


@dataclass(frozen=True)
class Filled:
    """What a filling made: the nodes, their rows, and the moment from which on they are whole."""

    network: Network
    rows: Mapping[str, Rows]
    since: int


class Filler:
    """Fills the queries of a stream that wait for it, in a thread of its own; safe to call from several threads."""

    def __init__(
        self, planner: Planner, committed: CommittedState, registry: Registry, storage: Storage, kept: KeptRowsReader
    ) -> None:
        self._planner, self._committed, self._registry = planner, committed, registry
        self._storage, self._kept = storage, kept
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self.share: float | None = None
        """The share that is done of the filling that is under way; None where none is."""

    def begin(self) -> None:
        """Fill whatever waits, unless that is being done."""
        if self._stopping.is_set() or not any(self._waiting()):
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                name = f"weft-fill-{self._planner.feed.name}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until nothing is being filled."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """End what is being filled; it is done again when the stream is run again."""
        self._stopping.set()
        self.wait()
        self._stopping.clear()

    def _waiting(self) -> Iterator[tuple[int, dict[str, Registered]]]:
        """The queries that wait and had their first tick, by its batch."""
        batches: dict[int, dict[str, Registered]] = {}
        for name, query in self._planner.queries().items():
            filling = query.row.definition.filling
            if filling is not None and query.row.from_batch == filling.until:
                batches.setdefault(filling.until, {})[name] = query
        yield from sorted(batches.items())

    def _run(self) -> None:
        try:
            for batch, queries in iter(lambda: next(self._waiting(), (0, {})), (0, {})):
                here = {name: query for name, query in queries.items() if computes_here(query.pasts[0].needs)}
                if here.keys() < queries.keys():
                    others = [query for name, query in queries.items() if name not in here]
                    self._go_without(others, "only Spark computes it as Spark does")
                if here:
                    self._fill(batch, here)
        except Stopped:
            pass
        except Exception as error:
            # The next tick begins it again; whoever reads has the windows that there are.
            log.warning("not filled", extra={"stream": self._planner.feed.name, "reason": str(error)})
        finally:
            self.share = None

    def _fill(self, batch: int, queries: Mapping[str, Registered]) -> None:
        """Fill queries; where they cannot be filled together, each by itself, and without what cannot be computed."""
        self.share = 0.0
        try:
            filled = self._computed(batch, queries)
        except (Stopped, StateError, OSError):
            raise
        except Exception as error:
            if len(queries) > 1:
                for name, query in queries.items():
                    self._fill(batch, {name: query})
                return
            self._go_without(list(queries.values()), str(error))
            return
        with self._planner.turn:
            self._commit(batch, queries, filled)

    def _go_without(self, queries: Sequence[Registered], reason: str) -> None:
        """Have queries begin with their first tick."""
        names = sorted(query.name for query in queries)
        log.warning("query not filled", extra={"queries": names, "reason": reason})
        self._registry.change(not_filled(queries), "fill-inside")

    def _computed(self, batch: int, queries: Mapping[str, Registered]) -> Filled:
        """Compute the rows of the queries' nodes from the kept rows of earlier batches."""
        network = _network(self._planner.feed.name, queries)
        for attempt in range(1, ATTEMPTS + 1):
            state = self._committed.current
            since = max(state.kept.since, _reached(state, queries))
            span = RowSpan(begin=since, last_tick=batch - 1)
            try:
                return Filled(network, self._kept.nodes_of(network, state.kept.files, span, self._seen), since)
            except StateError as error:
                # Files that were merged or are too old stay for a lease, and then go.
                if error.code != "segment-missing" or attempt == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _seen(self, share: float) -> None:
        self.share = share
        if self._stopping.is_set():
            raise Stopped

    def _commit(self, batch: int, queries: Mapping[str, Registered], filled: Filled) -> None:
        """Make everything visible in one transaction; no tick is under way meanwhile."""
        state = self._committed.current
        products = [
            (node.id, product)
            for node in filled.network.nodes
            for product in self._products(node, filled, batch - 1)
        ]
        segments = write_products(products, state.stream, state.plan_version, self._storage.backend)
        failpoint("fill-written")
        layouts = {product.layout.id: product.layout for _, product in products}
        with_rows = {name for name, _ in products}
        nodes = [_row(node, filled, batch) for node in filled.network.nodes if node.id in with_rows]
        with self._storage.catalog.write() as writer:
            writer.keep_layouts(LayoutRow(id=name, definition=layout.definition()) for name, layout in layouts.items())
            writer.put_nodes(nodes)
            stored = writer.add_segments(segments)
            changes: dict[str, QueryChange] = {}
            for row in writer.queries(stream=state.stream):
                if row.name in queries and row.is_registration_of(queries[row.name].row) and row.definition.filling:
                    changes[row.name] = _change(row, queries[row.name], filled)
            writer.update_queries(changes)
            failpoint("fill-inside")
        failpoint("fill-after")
        self._committed.put(_with(state, nodes, stored, {**state.layouts, **layouts}))
        self._registry.refresh()
        log.info("queries filled", extra={"stream": state.stream, "queries": len(changes), "files": len(stored)})

    def _products(self, node: Node, filled: Filled, batch: int) -> Iterator[Product]:
        """The rows of a node as files, by time."""
        rows, layout = filled.rows[node.id], node.layout(filled.network)
        if not rows.count:
            return
        schema = row_schema(node.dimensions, node.statistics)
        whole = Selection((Source((rows,)),), tuple(schema.names), schema)
        if rows.count <= FILE_ROWS or not node.clock.sliced or rows.least is None or rows.greatest is None:
            yield tick_product(self._storage.backend.filter(whole, order=(START,)), layout, batch)
            return
        count = -(-rows.count // FILE_ROWS)
        length = max(1, -(-(rows.greatest + 1 - rows.least) // count))
        for begin in range(rows.least, rows.greatest + 1, length):
            part = replace(whole, sources=(Source((rows,), span=(begin, begin + length)),))
            inside = self._storage.backend.filter(part, order=(START,))
            if inside.count:
                yield tick_product(inside, layout, batch)


def _change(row: QueryRow, query: Registered, filled: Filled) -> QueryChange:
    """What the catalog says of a query from now on; rows that were let go meanwhile may leave nothing to gain."""
    sliced = query.needs.window.clock.sliced
    if row.complete_from is not None and filled.since > (row.complete_from if sliced else EARLIEST):
        return {"definition": row.definition.not_filled()}
    return {"definition": row.definition.filled(), "complete_from": filled.since if sliced else EARLIEST}


def _network(stream: str, queries: Mapping[str, Registered]) -> Network:
    """The nodes that the queries need of before: coarser ones are made from finer ones, totals from rows."""
    needs: dict[str, Needs] = {name: query.pasts[0].needs for name, query in queries.items()}
    wanted = collect(needs)
    parents = share_everything(wanted, Finer(wanted)).parents
    sliced = {node: parent for node, parent in parents.items() if wanted[node].clock.sliced}
    return assemble(stream, needs.values(), wanted, Decision(sliced))


def _reached(state: StreamState, queries: Mapping[str, Registered]) -> int:
    """The moment before which none of the queries keeps a window, where there are kept rows before it."""
    reaches = [query.reach for query in queries.values()]
    if state.watermark is None or not reaches or None in reaches:
        return EARLIEST
    moment = state.watermark - max(reach for reach in reaches if reach is not None)
    return moment if any(file.time_from < moment for file in state.kept.files) else EARLIEST


def _row(node: Node, filled: Filled, batch: int) -> NodeRow:
    """A node that no tick adds to."""
    unit = 1 if node.slicing is None else node.slicing.mean_length()
    return NodeRow(
        id=node.id,
        stream=filled.network.stream,
        definition={**describe_node(node), "fed": False, "unit": unit, "heights": []},
        created_batch=batch,
        complete_from=None if filled.since == EARLIEST else filled.since,
    )


def _with(
    state: StreamState, nodes: list[NodeRow], stored: tuple[SegmentRow, ...], layouts: Mapping[str, Layout]
) -> StreamState:
    """The state with what was filled."""
    files: dict[str, list[SegmentRow]] = {}
    for segment in stored:
        files.setdefault(segment.node, []).append(segment)
    filled = {row.id: Synopsis(row, tuple(files.get(row.id, ()))) for row in nodes}
    return replace(state, synopses={**state.synopses, **filled}, layouts=layouts)
