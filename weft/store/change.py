"""Changes of a node's files: what is to be written, how it is written, and how the change is committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from weft.backend.interface import Backend, Rows
from weft.failpoint import failpoint
from weft.plan.layout import Layout
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.records import LayoutRow
from weft.store.state import StreamState, Synopsis
from weft.store.storage import Storage


@dataclass(frozen=True)
class Product:
    """A file to be written: its rows, its layout, and what the catalog will say of it."""

    rows: Rows
    layout: Layout
    rank: int
    kind: str
    batch_from: int
    batch_to: int
    time_from: int
    time_to: int
    family: str = ""


@dataclass(frozen=True)
class Sealed:
    """How far a node is sealed: which batches, up to which moment, and from where on each level has blocks."""

    batch: int
    time: int
    heights: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A change of a node's files: which go, which come, and how far the node is sealed afterwards, if that changes."""

    node: str
    removed: tuple[SegmentRow, ...]
    added: tuple[Product, ...]
    sealed: Sealed | None = None
    # Rows before this moment were let go: a query that comes later and keeps more must not take them for none.
    gone_to: int = EARLIEST


def tick_product(rows: Rows, layout: Layout, batch: int) -> Product:
    """Describe the file of slices that a batch, or a copy of history in its name, brings; needs at least one row."""
    assert rows.least is not None
    return Product(rows, layout, 0, "tick", batch, batch, rows.least, end_of(layout, rows))


def end_of(layout: Layout, rows: Rows) -> int:
    """Tell where the last slice of the rows ends; of totals, the tick after the last."""
    assert rows.greatest is not None
    return rows.greatest + 1 if layout.slicing is None else layout.slicing.next_edge(rows.greatest)


def gathered(rows: Rows, layout: Layout, group: Sequence[SegmentRow]) -> Product:
    """Describe the file that replaces a group of files, one rank above them."""
    return Product(
        rows,
        layout,
        max(file.rank for file in group) + 1,
        group[0].kind,
        min(file.batch_from for file in group),
        max(file.batch_to for file in group),
        min(file.time_from for file in group),
        max(file.time_to for file in group),
        group[0].family,
    )


def write_products(
    products: Iterable[tuple[str, Product]], stream: str, plan: int, backend: Backend
) -> tuple[SegmentRow, ...]:
    """Write a file for each product of a node."""
    return tuple(write_product(backend, stream, plan, node, product) for node, product in products)


def write_product(backend: Backend, stream: str, plan: int, node: str, product: Product) -> SegmentRow:
    """Write a file under a name that nothing had before: what a catalog names, or a reader holds, never changes."""
    name = f"{stream}/{node}/{product.kind}{product.rank}-{product.batch_to}-{uuid4().hex[:12]}.parquet"
    written = backend.write(name, product.rows)
    return SegmentRow(
        node=node,
        layout=product.layout.id,
        path=name,
        kind=product.kind,
        rank=product.rank,
        batch_from=product.batch_from,
        batch_to=product.batch_to,
        time_from=product.time_from,
        time_to=product.time_to,
        rows=written.rows,
        bytes=written.bytes,
        checksum=written.checksum,
        family=product.family,
        plan=plan,
    )


def apply_change(change: Change, state: StreamState, storage: Storage) -> StreamState:
    """Write the new files of a node, then swap them for the replaced files in the catalog."""
    synopsis = state.synopses[change.node]
    products = ((change.node, product) for product in change.added)
    segments = write_products(products, state.stream, state.plan_version, storage.backend)
    failpoint("tend-written")
    complete_from = max(synopsis.complete_from, change.gone_to)
    node = replace(synopsis.node, complete_from=None if complete_from == EARLIEST else complete_from)
    if change.sealed is not None:
        definition = {**node.definition, "heights": list(change.sealed.heights)}
        node = replace(node, definition=definition, sealed_batch=change.sealed.batch, sealed_time=change.sealed.time)
    layouts = {product.layout.id: product.layout for product in change.added}
    with storage.catalog.write() as writer:
        writer.keep_layouts(LayoutRow(id=name, definition=layout.definition()) for name, layout in layouts.items())
        writer.remove_segments([file.id for file in change.removed if file.id is not None])
        stored = writer.add_segments(segments)
        writer.put_node(node)
        failpoint("tend-inside")
    failpoint("tend-after")
    gone = {file.id for file in change.removed}
    remaining = tuple(file for file in synopsis.files if file.id not in gone)
    return replace(state, layouts={**state.layouts, **layouts}).with_synopsis(Synopsis(node, (*remaining, *stored)))
