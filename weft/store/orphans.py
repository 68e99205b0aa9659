"""What a killed process leaves behind: files that no catalog names, because it died before it could name them."""

from __future__ import annotations

from weft.failpoint import failpoint
from weft.store.catalog import Catalog
from weft.store.files import Files


def clear_orphans(stream: str, catalog: Catalog, files: Files) -> int:
    """Mark such files of a stream as garbage, remove half-written ones, and say how many there were.

    Needs: nobody else is writing files of this stream.
    """
    leftovers = files.remove_leftovers(stream)
    present = set(files.list(stream))
    with catalog.read() as reader:
        named = {row.path for row in reader.segments(stream=stream)} | {row.path for row in reader.dead_letters(stream)}
        known = named | set(reader.garbage())
    orphans = present - known
    failpoint("orphans-found")
    if orphans:
        with catalog.write() as writer:
            writer.add_garbage(orphans)
    return leftovers + len(orphans)
