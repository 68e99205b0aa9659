"""After a tick: closed slices become blocks, small files become large ones, and what nobody can need is deleted."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pyarrow as pa

from weft.backend.duck import Duck
from weft.errors import StateError
from weft.failpoint import failpoint
from weft.plan.network import Network, Node
from weft.segments.cache import TableCache
from weft.segments.files import Files
from weft.segments.roll import common_roll, with_roll
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.catalog import Catalog
from weft.store.ledger import LateReaders, merge_ledgers
from weft.store.records import LayoutRow
from weft.store.seal import Change, Product, Sealer, gathered, mergeable
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")
# What was said to be undeletable in this process: it is tried with every tick, and told once.
_undeletable: set[str] = set()

# How long a reader may hold a state: files that left the catalog are deleted only after this.
LEASE = timedelta(minutes=1)
MAX_LEDGERS = 8
# A window is read from the one file that holds it, so many small files cost a reader nothing, and merging costs a tick.
RESULT_FAN_OUT = 16


def write_product(
    files: Files, cache: TableCache, stream: str, plan: int, node: str, product: Product
) -> SegmentRow:
    """Write a file under a name that nothing had before: what a catalog names, or a reader holds, never changes."""
    name = f"{stream}/{node}/{product.kind}{product.rank}-{product.batch_to}-{uuid4().hex[:12]}.parquet"
    written = files.write_table(name, product.table)
    cache.put(name, product.table)
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


def tend(
    state: StreamState,
    network: Network,
    reach: Mapping[str, int | None],
    late: Mapping[str, LateReaders],
    catalog: Catalog,
    files: Files,
    duck: Duck,
    cache: TableCache,
) -> StreamState:
    """Apply every change that is due; files that leave the state are deleted later, when their lease is over.

    `reach` says how far back each node and each family of finished windows is read, `late` what is asked of each node's
    counts of late rows; families and nodes that they lack are gone.
    """
    sealer = Sealer(duck, cache, network.cuts_read)
    changes = []
    for name, node in network.kept.items():
        if name not in state.synopses:
            continue
        change = sealer.change(node, state, reach.get(node.id))
        ledgers = _tend_ledgers(node, state, late.get(node.id), duck, cache)
        changes += [one for one in (change, ledgers) if one is not None]
        changes += _merge_results(node, state, reach, cache)
    for change in changes:
        state = _apply(change, state, catalog, files, cache)
    return state.without_unused_layouts()


def sweep(catalog: Catalog, files: Files, cache: TableCache) -> None:
    """Delete the files whose lease is over."""
    with catalog.read() as reader:
        garbage = reader.garbage(older_than=LEASE)
    if garbage:
        failpoint("garbage-before")
        gone = [path for path in garbage if _delete(files, path)]
        cache.forget(garbage)
        failpoint("garbage-between")
        with catalog.write() as writer:
            writer.forget_garbage(gone)
            writer.forget_layouts()
        failpoint("garbage-after")


def _delete(files: Files, path: str) -> bool:
    """Delete a file that nobody needs; one that cannot be stops no stream, and the next tick tries again."""
    try:
        files.delete([path])
    except StateError as error:
        if path not in _undeletable:
            _undeletable.add(path)
            log.warning("file not deleted", extra={"path": path, "reason": str(error)})
        return False
    _undeletable.discard(path)
    return True


def _apply(change: Change, state: StreamState, catalog: Catalog, files: Files, cache: TableCache) -> StreamState:
    """One node's change: write the new files, then swap them for the old ones in the catalog."""
    synopsis = state.synopses[change.node]
    segments = [
        write_product(files, cache, state.stream, state.plan_version, change.node, product) for product in change.added
    ]
    failpoint("tend-written")
    complete_from = max(synopsis.complete_from, change.gone_to)
    node = replace(synopsis.node, complete_from=None if complete_from == EARLIEST else complete_from)
    if change.sealed is not None:
        definition = {**node.definition, "heights": list(change.sealed.heights)}
        node = replace(node, definition=definition, sealed_batch=change.sealed.batch, sealed_time=change.sealed.time)
    layouts = {product.layout.id: product.layout for product in change.added}
    with catalog.write() as writer:
        writer.keep_layouts(LayoutRow(id=name, definition=one.definition()) for name, one in layouts.items())
        writer.remove_segments([file.id for file in change.removed if file.id is not None])
        stored = writer.add_segments(segments)
        writer.put_node(node)
        failpoint("tend-inside")
    failpoint("tend-after")
    gone = {file.id for file in change.removed}
    kept = tuple(file for file in synopsis.files if file.id not in gone)
    return replace(state, layouts={**state.layouts, **layouts}).with_synopsis(Synopsis(node, (*kept, *stored)))


def _tend_ledgers(
    node: Node, state: StreamState, readers: LateReaders | None, duck: Duck, cache: TableCache
) -> Change | None:
    """Many small counts of late rows become one, and those go that nobody counts any more."""
    ledgers = tuple(file for file in state.synopses[node.id].files if file.kind == "late")
    if readers is None:
        return Change(node.id, ledgers, ()) if ledgers else None
    oldest = readers.oldest(state.watermark)
    kept = tuple(file for file in ledgers if file.time_to > oldest)
    if len(kept) < MAX_LEDGERS:
        gone = tuple(file for file in ledgers if file.time_to <= oldest)
        return Change(node.id, gone, ()) if gone else None
    table = merge_ledgers(duck, node, [cache.get(file) for file in kept], readers, state.watermark)
    added = (gathered(table, state.layouts[kept[-1].layout], kept),) if table.num_rows else ()
    return Change(node.id, ledgers, added)


def _merge_results(
    node: Node, state: StreamState, reach: Mapping[str, int | None], cache: TableCache
) -> list[Change]:
    """Finished windows of one family gather in larger files, and go when nobody can ask for them any more."""
    families: dict[str, list[SegmentRow]] = {}
    added: list[Product] = []
    removed: list[SegmentRow] = []
    for file in state.synopses[node.id].files:
        if file.kind == "result":
            gone = file.family not in reach or _is_behind(file, reach[file.family], state.watermark)
            (removed if gone else families.setdefault(file.family, [])).append(file)
    for family, files in families.items():
        for group in (due for run in _touching(files) for due in mergeable(run, reach[family], RESULT_FAN_OUT)):
            tables = [cache.get(file) for file in group]
            rows = with_roll(pa.concat_tables(tables, promote_options="default"), common_roll(tables))
            added.append(gathered(rows, state.layouts[group[-1].layout], group))
            removed += group
    if not removed:
        return []
    return [Change(node.id, tuple(removed), tuple(added))]


def _touching(files: Sequence[SegmentRow]) -> list[list[SegmentRow]]:
    """The files in runs without a gap: over a gap, one file would seem to hold windows that were never finished."""
    runs: list[list[SegmentRow]] = []
    for file in sorted(files, key=lambda one: one.batch_from):
        if runs and runs[-1][-1].time_to == file.time_from:
            runs[-1].append(file)
        else:
            runs.append([file])
    return runs


def _is_behind(file: SegmentRow, reach: int | None, watermark: int | None) -> bool:
    """Whether all windows of a file ended longer ago than anybody keeps them."""
    return reach is not None and watermark is not None and file.time_to <= watermark - reach
