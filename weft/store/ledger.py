"""Ledgers: how many late rows reached no open window, by group, so that every query can count its own.

A ledger row is a group, a kind of window, the tick, and the watermark that the rows came after. A query counts the
rows that came since it was registered, and within the time that it keeps. Neither needs every tick told apart: ticks
are merged where no reader sees the difference, and what came before the time that anybody keeps is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.windows import Sliced
from weft.backend.interface import Merge, Rows, Selection, Source
from weft.backend.statements import duck_identifier
from weft.plan.dimensions import Dimension
from weft.plan.network import Node
from weft.segments.rows import START
from weft.segments.segment import EARLIEST, SegmentRow
from weft.segments.types import arrow_type

# A query tells apart at least this many parts of the time that it keeps.
_PARTS = 16
# Ledgers of older Wefts have no watermarks; their rows are older than all others.
WATERMARK = f"coalesce(watermark, {EARLIEST})"


@dataclass(frozen=True)
class LateReaders:
    """What the readers of a node ask for: kinds of windows, since which ticks, and how far back; None for ever."""

    windows: frozenset[str]
    epochs: frozenset[int]
    reaches: frozenset[int | None]

    def oldest(self, watermark: int | None) -> int:
        """The least watermark that any of them counts from."""
        return min(horizon(watermark, reach) for reach in self.reaches)

    def told_apart(self, watermark: int | None) -> str:
        """Write the watermark of a row as SQL, only as exact as the readers see it that still count the row."""
        furthest: dict[int, int] = {}
        for reach in self.reaches:
            if reach is not None:
                furthest[grain_of(reach)] = max(reach, furthest.get(grain_of(reach), 0))
        cases = [
            f"WHEN {WATERMARK} >= {horizon(watermark, reach)} THEN {_floor(grain)}"
            for grain, reach in sorted(furthest.items())
        ]
        return f"CASE {' '.join([*cases, 'WHEN true'])} THEN {EARLIEST} END"


def _floor(grain: int) -> str:
    # The remainder of a negative number is negative in DuckDB.
    return f"{WATERMARK} - (({WATERMARK} % {grain}) + {grain}) % {grain}"


def grain_of(reach: int) -> int:
    """The span of time that a query tells apart: a power of two, so that the spans of any two queries fit together.

    >>> grain_of(16_000_000), grain_of(1)
    (524288, 1)
    """
    return 1 << (max(1, reach // _PARTS).bit_length() - 1)


def horizon(watermark: int | None, reach: int | None) -> int:
    """The watermark from which on a query counts late rows, if it keeps rows up to `reach` before the newest."""
    if watermark is None or reach is None:
        return EARLIEST
    grain = grain_of(reach)
    return (watermark - reach) // grain * grain


def ledger_schema(dimensions: Iterable[Dimension]) -> pa.Schema:
    """The columns of a ledger."""
    lead = [("batch", pa.int64()), ("watermark", pa.int64()), ("window", pa.string())]
    kinds = ((dimension.name, arrow_type(dimension.type)) for dimension in dimensions)
    return pa.schema([*lead, *kinds, (ROW_COUNT.name, pa.int64())])


def entries(node: Node, rows: Rows, missed: Mapping[Sliced, Sequence[int]], batch_id: int, watermark: int) -> Merge:
    """Make the ledger of a tick: for each kind of window the partial rows of the slices that no open window holds."""
    windows: dict[int, list[str]] = {}
    for window, slices in missed.items():
        for start in slices:
            windows.setdefault(start, []).append(f"'{window}'")
    # Slices that are equally late miss the same windows.
    starts: dict[str, list[str]] = {}
    for start, kinds in windows.items():
        starts.setdefault(f"[{', '.join(kinds)}]", []).append(str(start))
    cases = (f"WHEN {START} IN ({', '.join(slices)}) THEN {kinds}" for kinds, slices in starts.items())
    beside = (
        (f"CAST({batch_id} AS BIGINT)", "batch"),
        (f"CAST({watermark} AS BIGINT)", "watermark"),
        (f"unnest(CASE {' '.join(cases)} END)", "window"),
    )
    columns = (*(dimension.name for dimension in node.dimensions), ROW_COUNT.name)
    return _merged(node, Selection((Source((rows,), beside=beside),), columns), "batch", "watermark")


def merged_ledgers(node: Node, ledgers: Sequence[SegmentRow], readers: LateReaders, newest: int | None) -> Merge:
    """Merge ledgers at the newest watermark; the size is bounded by groups, readers and the time that they keep."""
    kinds = ", ".join(f"'{window}'" for window in sorted(readers.windows))
    counted = f'"window" IN ({kinds}) AND batch >= {min(readers.epochs)} AND {WATERMARK} >= {readers.oldest(newest)}'
    points = ", ".join(map(str, sorted(readers.epochs)))
    batch = f"list_max(list_filter([{points}], lambda epoch: epoch <= batch))"
    schema = ledger_schema(node.dimensions)
    selection = Selection((Source(tuple(ledgers), counted),), tuple(schema.names), schema)
    return _merged(node, selection, batch, readers.told_apart(newest))


def _merged(node: Node, rows: Selection, batch: str, watermark: str) -> Merge:
    keys = (
        (f"CAST({batch} AS BIGINT)", "batch"),
        (f"CAST({watermark} AS BIGINT)", "watermark"),
        ('"window"', "window"),
        *((duck_identifier(dimension.name), dimension.name) for dimension in node.dimensions),
    )
    return Merge(rows, keys, (ROW_COUNT,))
