"""Changes of a node's files: what is to be written, how it is written, and how the change is committed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from weft.backend.interface import Backend, Rows
from weft.failpoint import failpoint
from weft.plan.layout import Layout
from weft.segments.parts import FILE_BYTES, SMALL_BYTES, SUFFIX
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.records import LayoutRow, NodeRow
from weft.store.state import StreamState, Synopsis
from weft.store.storage import Storage

if TYPE_CHECKING:
    from weft.segments.files import Written

PARTS = "parts"
"""The folder of a stream's shared files; no node is called so."""


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
    """Write the products of nodes, in their order: small products share a file, others get a file each.

    Every file has a name that nothing had before: what a catalog names, or a reader holds, never changes.
    """
    listed = list(products)
    written: dict[int, Written] = {}
    for group in _small_together([product.rows for _, product in listed], backend):
        parts = _write_parts([listed[number][1] for number in group], stream, backend)
        written |= zip(group, parts, strict=True)
    return tuple(
        _segment(node, product, written.get(number) or _write_alone(node, product, stream, backend), plan)
        for number, (node, product) in enumerate(listed)
    )


def _small_together(rows: Sequence[Rows], backend: Backend) -> Iterator[list[int]]:
    """The numbers of small tables, those together that share a file."""
    group, total = list[int](), 0
    for number, table in enumerate(rows):
        size = backend.size(table)
        if size <= SMALL_BYTES:
            if group and total + size > FILE_BYTES:
                yield group
                group, total = [], 0
            group.append(number)
            total += size
    if group:
        yield group


def _write_parts(products: Sequence[Product], stream: str, backend: Backend) -> tuple[Written, ...]:
    batch = max(product.batch_to for product in products)
    name = f"{stream}/{PARTS}/{batch}-{uuid4().hex[:12]}{SUFFIX}"
    return backend.write_parts(name, [product.rows for product in products])


def _write_alone(node: str, product: Product, stream: str, backend: Backend) -> Written:
    name = f"{stream}/{node}/{product.kind}{product.rank}-{product.batch_to}-{uuid4().hex[:12]}.parquet"
    return backend.write(name, product.rows)


def _segment(node: str, product: Product, written: Written, plan: int) -> SegmentRow:
    return SegmentRow(
        node=node,
        layout=product.layout.id,
        path=written.path,
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
        byte_from=written.byte_from,
    )


def apply_changes(changes: Sequence[Change], state: StreamState, storage: Storage) -> StreamState:
    """Write the new segments of all nodes, then swap them for the replaced segments in one catalog transaction."""
    if not changes:
        return state
    products = [(change.node, product) for change in changes for product in change.added]
    segments = write_products(products, state.stream, state.plan_version, storage.backend)
    failpoint("tend-written")
    nodes = _nodes_after(changes, state)
    layouts = {product.layout.id: product.layout for _, product in products}
    gone = {file.id for change in changes for file in change.removed if file.id is not None}
    with storage.catalog.write() as writer:
        writer.keep_layouts(LayoutRow(id=name, definition=layout.definition()) for name, layout in layouts.items())
        writer.remove_segments(gone)
        stored = writer.add_segments(segments)
        writer.put_nodes(node for name, node in nodes.items() if node != state.synopses[name].node)
        failpoint("tend-inside")
    failpoint("tend-after")
    return replace(
        state,
        layouts={**state.layouts, **layouts},
        synopses={**state.synopses, **dict(_synopses_after(nodes, gone, stored, state))},
    )


def _nodes_after(changes: Iterable[Change], state: StreamState) -> dict[str, NodeRow]:
    """The rows of the nodes that have a change, as they are after all changes."""
    nodes: dict[str, NodeRow] = {}
    for change in changes:
        node = nodes.get(change.node, state.synopses[change.node].node)
        complete_from = max(EARLIEST if node.complete_from is None else node.complete_from, change.gone_to)
        node = replace(node, complete_from=None if complete_from == EARLIEST else complete_from)
        if change.sealed is not None:
            definition = {**node.definition, "heights": list(change.sealed.heights)}
            node = replace(
                node, definition=definition, sealed_batch=change.sealed.batch, sealed_time=change.sealed.time
            )
        nodes[change.node] = node
    return nodes


def _synopses_after(
    nodes: Mapping[str, NodeRow], gone: Collection[int], stored: Iterable[SegmentRow], state: StreamState
) -> Iterator[tuple[str, Synopsis]]:
    """The changed nodes with the segments that they have left, and their new segments."""
    added: dict[str, list[SegmentRow]] = {}
    for segment in stored:
        added.setdefault(segment.node, []).append(segment)
    for name, node in nodes.items():
        left = (file for file in state.synopses[name].files if file.id not in gone)
        yield name, Synopsis(node, (*left, *added.get(name, ())))
