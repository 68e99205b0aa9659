"""After a tick: closed slices become blocks, small files are merged, and what nobody can need is deleted."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache

from weft.backend.interface import Backend
from weft.errors import StateError
from weft.failpoint import failpoint
from weft.plan.network import Network, Node
from weft.segments.files import Files
from weft.segments.segment import SegmentRow
from weft.store.change import Change, Product, apply_changes, gathered
from weft.store.compact import due_results
from weft.store.ledger import LateReaders, merged_ledgers
from weft.store.seal import seal, sealing_due
from weft.store.sparse import moves
from weft.store.state import StreamState
from weft.store.storage import Storage

log = logging.getLogger("weft.store")

# How long a reader may hold a state: files that left the catalog are deleted only after this.
LEASE = timedelta(minutes=1)
MAX_LEDGERS = 8
# A window is read from the only file that holds it: many small files cost a reader nothing, and merging costs a tick.
RESULT_FAN_OUT = 16

# So many nodes, or more, are sealed side by side, by so many threads at most.
SIDE_BY_SIDE, MOST_SEALERS = 2, 4

# The paths that this process logged as undeletable: each is tried again with every tick, and logged once.
_undeletable: set[str] = set()


def tend(
    state: StreamState,
    network: Network,
    reach: Mapping[str, int | None],
    late_readers: Mapping[str, LateReaders],
    storage: Storage,
) -> tuple[StreamState, int]:
    """Apply all changes that are due in one transaction; the state after it, and how many stored rows it wrote anew.

    Files that leave the state are deleted after their lease.

    `reach` says how far back each node and each family of finished windows is read, `late_readers` what is asked of
    each node's counts of late rows; families and nodes that are in neither are gone.
    """
    backend = storage.backend
    nodes = [node for name, node in network.with_files.items() if name in state.synopses]
    changes: list[Change | None] = []
    for node, sealed in zip(nodes, _seal_all(nodes, state, network, reach, backend), strict=True):
        changes += [
            sealed,
            _tend_ledgers(node, state, late_readers.get(node.id), backend),
            _tend_results(node, state, reach, backend),
        ]
    due = [change for change in changes if change is not None]
    due += moves(due, state, storage)
    rewritten = sum(file.rows for change in due if change.added for file in change.removed)
    return apply_changes(due, state, storage).without_unused_layouts(), rewritten


def _seal_all(
    nodes: Sequence[Node], state: StreamState, network: Network, reach: Mapping[str, int | None], backend: Backend
) -> list[Change | None]:
    """Make the changes of all nodes' files that are due: nodes whose slices are sealed now, side by side."""

    def sealed(node: Node) -> Change | None:
        return seal(node, state, reach.get(node.id), network.cuts_read, backend)

    due = [node.id for node in nodes if node.clock.sliced and sealing_due(node, state) is not None]
    if len(due) < SIDE_BY_SIDE:
        return [sealed(node) for node in nodes]
    apart = dict(zip(due, _sealers().map(sealed, (node for node in nodes if node.id in set(due))), strict=True))
    return [apart[node.id] if node.id in apart else sealed(node) for node in nodes]


@cache
def _sealers() -> ThreadPoolExecutor:
    """The threads of this process that seal, for all its engines: each keeps a connection to the database of merges."""
    return ThreadPoolExecutor(min(MOST_SEALERS, os.cpu_count() or 1), "weft-seal")


def sweep(storage: Storage) -> None:
    """Delete the files whose lease is over."""
    with storage.catalog.read() as snapshot:
        garbage = snapshot.garbage(older_than=LEASE)
    if garbage:
        failpoint("garbage-before")
        gone = [path for path in garbage if _delete(storage.files, path)]
        storage.backend.forget(gone)
        failpoint("garbage-between")
        with storage.catalog.write() as writer:
            writer.forget_garbage(gone)
            writer.forget_layouts()
        failpoint("garbage-after")


def _delete(files: Files, path: str) -> bool:
    """Delete a file that nobody needs; a file that cannot be deleted stops no stream, and the next tick tries again."""
    try:
        files.delete([path])
    except StateError as error:
        if path not in _undeletable:
            _undeletable.add(path)
            log.warning("file not deleted", extra={"path": path, "reason": str(error)})
        return False
    _undeletable.discard(path)
    return True


def _tend_ledgers(node: Node, state: StreamState, readers: LateReaders | None, backend: Backend) -> Change | None:
    """Merge the ledgers of a node where they are many, and drop the ledgers that no query counts any more."""
    ledgers = tuple(file for file in state.synopses[node.id].files if file.kind == "late")
    if readers is None:
        return Change(node.id, ledgers, ()) if ledgers else None
    oldest = readers.oldest(state.watermark)
    counted = tuple(file for file in ledgers if file.time_to > oldest)
    if len(counted) < MAX_LEDGERS:
        gone = tuple(file for file in ledgers if file.time_to <= oldest)
        return Change(node.id, gone, ()) if gone else None
    rows = backend.merge(merged_ledgers(node, counted, readers, state.watermark))
    added = (gathered(rows, state.layouts[counted[-1].layout], counted),) if rows.count else ()
    return Change(node.id, ledgers, added)


def _tend_results(
    node: Node, state: StreamState, reach: Mapping[str, int | None], backend: Backend
) -> Change | None:
    """Gather the finished windows of each family in larger files, and drop windows that nobody can ask for any more."""
    families: dict[str, list[SegmentRow]] = {}
    added: list[Product] = []
    removed: list[SegmentRow] = []
    for file in state.synopses[node.id].files:
        if file.kind == "result":
            gone = file.family not in reach or _is_behind(file, reach[file.family], state.watermark)
            (removed if gone else families.setdefault(file.family, [])).append(file)
    for family, files in families.items():
        for group in due_results(files, reach[family], RESULT_FAN_OUT):
            added.append(gathered(backend.join_finished(group), state.layouts[group[-1].layout], group))
            removed += group
    return Change(node.id, tuple(removed), tuple(added)) if removed else None


def _is_behind(file: SegmentRow, reach: int | None, watermark: int | None) -> bool:
    """Whether all windows of a file ended longer ago than anybody keeps them."""
    return reach is not None and watermark is not None and file.time_to <= watermark - reach
