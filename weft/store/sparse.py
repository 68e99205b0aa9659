"""Files of parts from which most are gone: what is left moves into a newer file, so that the old one can be deleted.

A file of parts stays on the disk for as long as a single segment is in it, and nodes are sealed each at its own time.
Keeps: of the bytes of such files at least a share of 1 / SPARSE is of segments, but for files that were touched by
nothing but nodes being dropped: these are looked at now and then.
Cost: a byte is moved for SPARSE - 1 bytes that are freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.errors import StateError
from weft.segments.segment import SegmentRow
from weft.store.change import Change, Product
from weft.store.state import StreamState
from weft.store.storage import Storage

SPARSE = 4
ALL_EVERY = 64
"""All files are looked at once in so many ticks; in others the files that a change takes something from."""


def moves(changes: Sequence[Change], state: StreamState, storage: Storage) -> list[Change]:
    """Make the changes that empty the files of which these changes leave too little."""
    removed = [file for change in changes for file in change.removed]
    touched = None if state.batch_id % ALL_EVERY == 0 else {file.path for file in removed if file.is_part}
    if touched is not None and not touched:
        return []
    left = _left_in(touched, {file.id for file in removed}, state)
    moved = (_move(file, state, storage) for files in left if _is_sparse(files, storage) for file in files)
    return [change for change in moved if change is not None]


def _left_in(paths: set[str] | None, gone: set[int | None], state: StreamState) -> Iterable[list[SegmentRow]]:
    """The segments that stay in these files of parts, or in all such files, by file."""
    left: dict[str, list[SegmentRow]] = {}
    for synopsis in state.synopses.values():
        for file in synopsis.files:
            if (file.is_part if paths is None else file.path in paths) and file.id not in gone:
                left.setdefault(file.path, []).append(file)
    return left.values()


def _is_sparse(files: Sequence[SegmentRow], storage: Storage) -> bool:
    try:
        return SPARSE * sum(file.bytes for file in files) <= storage.files.size(files[0].path)
    except StateError:
        # Whoever needs the file is told that it is gone; a tick that does not is not kept from anything.
        return False


def _move(file: SegmentRow, state: StreamState, storage: Storage) -> Change | None:
    """Write a segment anew as it is; None where it cannot be read, which is for its readers to say."""
    try:
        rows = storage.backend.stored(file)
    except StateError:
        return None
    product = Product(
        rows,
        state.layouts[file.layout],
        file.rank,
        file.kind,
        file.batch_from,
        file.batch_to,
        file.time_from,
        file.time_to,
        file.family,
    )
    return Change(file.node, (file,), (product,))
