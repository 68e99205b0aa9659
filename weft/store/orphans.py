"""What a killed process leaves behind: files that no catalog names, because it died before it could name them."""

from __future__ import annotations

from weft.failpoint import failpoint
from weft.store.catalog import Snapshot
from weft.store.storage import Storage


def clear_orphans(stream: str, storage: Storage) -> int:
    """Mark such files of a stream as garbage, remove half-written ones, and say how many there were.

    Needs: nobody else is writing files of this stream.
    """
    leftovers = storage.files.remove_leftovers(stream)
    present = set(storage.files.list(stream))
    with storage.catalog.read() as reader:
        orphans = present - _known(stream, reader)
    failpoint("orphans-found")
    if orphans:
        with storage.catalog.write() as writer:
            # Asked again: an engine that runs beside this one, by mistake, may have committed what it had written.
            orphans -= _known(stream, writer)
            writer.add_garbage(orphans)
    return leftovers + len(orphans)


def _known(stream: str, reader: Snapshot) -> set[str]:
    """The paths of a stream that the catalog names, be it as garbage."""
    named = {row.path for row in reader.segments(stream=stream)} | {row.path for row in reader.dead_letters(stream)}
    return named | set(reader.garbage())
