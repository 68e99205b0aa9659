"""Which files of a node hold a span of time, and which of their rows count.

Every partial row is stored exactly once: in a block file, in a tick that is partly sealed (then only from the sealed
moment on), or in a tick that is not sealed yet. Stragglers came after their block was built and are read beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.backend.interface import Selection, Source
from weft.plan.blocks import cover
from weft.segments.rows import END, LATE, LEVEL, START, STRAGGLER
from weft.segments.segment import SegmentRow
from weft.store.state import Synopsis

if TYPE_CHECKING:
    import pyarrow as pa


def window_rows(
    synopsis: Synopsis,
    columns: Sequence[str],
    schema: pa.Schema | None,
    start: int,
    end: int,
    closes: int | None = None,
) -> Selection:
    """Select the rows of the window [start, end), from the fewest blocks, each with the window's end.

    `closes` is the end of the window, where the span is only a part of it.
    """
    row, closes = synopsis.node, end if closes is None else closes
    pieces = cover(start, end, unit=synopsis.unit, heights=synopsis.heights, sealed=row.sealed_time)
    ranges = [f"({LEVEL} = {piece.level} AND {START} >= {piece.start} AND {START} < {piece.end})" for piece in pieces]
    ranges.append(f"({LEVEL} = {STRAGGLER} AND {START} >= {start} AND {START} < {end})")
    blocks, partly_sealed, unsealed = _near(synopsis, start, end)
    counts = f"{LATE} < {closes} AND {START} < {end}"
    beside = ((f"CAST({closes} AS BIGINT)", END),)
    sources = (
        Source(blocks, f"{LATE} < {closes} AND ({' OR '.join(ranges)})", beside),
        Source(partly_sealed, f"{counts} AND {START} >= {max(start, row.sealed_time)}", beside),
        Source(unsealed, f"{counts} AND {START} >= {start}", beside),
    )
    return Selection(sources, tuple(columns), schema)


def slice_rows(
    synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema | None, start: int, end: int
) -> Selection:
    """Select the rows of all slices that start in [start, end), with their starts and lateness."""
    blocks, partly_sealed, unsealed = _near(synopsis, start, end)
    within = f"{START} >= {start} AND {START} < {end}"
    sources = (
        Source(blocks, f"{within} AND {LEVEL} IN (0, {STRAGGLER})"),
        Source(partly_sealed, f"{within} AND {START} >= {synopsis.node.sealed_time}"),
        Source(unsealed, within),
    )
    return Selection(sources, (START, LATE, *columns), schema)


def total_rows(
    synopsis: Synopsis, columns: Sequence[str], schema: pa.Schema | None, since: int
) -> Selection:
    """Select the rows of a node without slices that ticks from `since` on changed, each with its tick."""
    files = tuple(file for file in synopsis.data if file.time_to > since)
    return Selection((Source(files, f"{START} >= {since}"),), (START, *columns), schema)


def no_rows(lead: str, columns: Sequence[str], schema: pa.Schema) -> Selection:
    """Select no rows at all, with the columns that rows of a node would have."""
    return Selection((Source((), beside=(("CAST(0 AS BIGINT)", lead),)),), tuple(columns), schema)


def _near(synopsis: Synopsis, start: int, end: int) -> tuple[tuple[SegmentRow, ...], ...]:
    """List the files that can hold rows of a span: blocks, ticks that are partly sealed, and ticks that are not."""
    near = [file for file in synopsis.data if file.time_from < end and file.time_to > start]
    sealed = synopsis.node.sealed_batch
    return (
        tuple(file for file in near if file.kind == "block"),
        tuple(file for file in near if file.kind == "tick" and file.batch_to <= sealed),
        tuple(file for file in near if file.kind == "tick" and file.batch_to > sealed),
    )
