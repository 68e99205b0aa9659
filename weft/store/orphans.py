"""Orphans: files that no catalog names, because the process that wrote them died before it could name them."""

from __future__ import annotations

from weft.failpoint import failpoint
from weft.store.catalog import Snapshot
from weft.store.storage import Storage


def clear_orphans(stream: str, storage: Storage) -> int:
    """Mark the orphans of a stream as garbage, remove half-written files, and say how many there were.

    Needs: nobody else is writing files of this stream.
    """
    leftovers = storage.files.remove_leftovers(stream)
    present = set(storage.files.list(stream))
    with storage.catalog.read() as snapshot:
        orphans = present - _known(stream, snapshot)
    failpoint("orphans-found")
    if orphans:
        with storage.catalog.write() as writer:
            # Asked again: another engine that runs on the stream, by mistake, may have committed what it had written.
            orphans -= _known(stream, writer)
            writer.add_garbage(orphans)
    return leftovers + len(orphans)


def _known(stream: str, snapshot: Snapshot) -> set[str]:
    """List the paths of a stream that the catalog names, also as garbage."""
    segments = {row.path for row in snapshot.segments(stream=stream)}
    letters = {row.path for row in snapshot.dead_letters(stream)}
    return segments | letters | set(snapshot.garbage())
