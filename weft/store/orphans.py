"""What a killed process leaves behind: files that no catalog names, because it died before it could name them."""

from __future__ import annotations

from weft.failpoint import failpoint
from weft.segments.files import Files
from weft.store.catalog import Catalog, Reader


def clear_orphans(stream: str, catalog: Catalog, files: Files) -> int:
    """Mark such files of a stream as garbage, remove half-written ones, and say how many there were.

    Needs: nobody else is writing files of this stream.
    """
    leftovers = files.remove_leftovers(stream)
    present = set(files.list(stream))
    with catalog.read() as reader:
        orphans = present - _known(stream, reader)
    failpoint("orphans-found")
    if orphans:
        with catalog.write() as writer:
            # Asked again: an engine that runs beside this one, by mistake, may have committed what it had written.
            orphans -= _known(stream, writer)
            writer.add_garbage(orphans)
    return leftovers + len(orphans)


def _known(stream: str, reader: Reader) -> set[str]:
    """The paths of a stream that the catalog names, be it as garbage."""
    named = {row.path for row in reader.segments(stream=stream)} | {row.path for row in reader.dead_letters(stream)}
    return named | set(reader.garbage())
