"""Ledgers: how many late rows reached no open window, by group, so that every query can count its own.

A ledger row is a group, a kind of window, the tick, and the watermark that the rows came after. A query counts those
that came since it was registered, and within the time that it keeps. Neither needs every tick told apart: ticks become
one where no reader sees the difference, and what came before the time that anybody keeps is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.windows import Sliced
from weft.backend.duck import Duck
from weft.backend.merge import merge_sql, quoted
from weft.plan.network import Node
from weft.segments.segment import EARLIEST

# The time that a query keeps is told apart in at least this many parts.
_PARTS = 16


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
        """The watermark of a row as SQL, only as exact as those see it that still count the row."""
        furthest: dict[int, int] = {}
        for reach in self.reaches:
            if reach is not None:
                furthest[grain_of(reach)] = max(reach, furthest.get(grain_of(reach), 0))
        cases = [
            f"WHEN watermark >= {horizon(watermark, reach)} THEN {_floor(grain)}"
            for grain, reach in sorted(furthest.items())
        ]
        return f"CASE {' '.join([*cases, 'WHEN true'])} THEN {EARLIEST} END"


def _floor(grain: int) -> str:
    # The remainder of a negative number is negative in DuckDB.
    return f"watermark - ((watermark % {grain}) + {grain}) % {grain}"


def grain_of(reach: int) -> int:
    """The span of time that a query tells apart: a power of two, so that those of any two queries fit together.

    >>> grain_of(16_000_000), grain_of(1)
    (524288, 1)
    """
    return 1 << (max(1, reach // _PARTS).bit_length() - 1)


def horizon(watermark: int | None, reach: int | None) -> int:
    """The watermark from which on a query counts late rows, if it keeps those up to `reach` before the newest one."""
    if watermark is None or reach is None:
        return EARLIEST
    grain = grain_of(reach)
    return (watermark - reach) // grain * grain


def write_ledger(
    duck: Duck, node: Node, missed: Iterable[tuple[Sliced, pa.Table]], batch_id: int, watermark: int
) -> pa.Table | None:
    """The ledger of one tick, of the partial rows that each kind of window missed; None where there are none."""
    names = [*(one.name for one in node.dimensions), ROW_COUNT.name]
    found = [_entered(rows.select(names), window, batch_id, watermark) for window, rows in missed if rows.num_rows]
    return _merged(duck, node, found, "weft_rows", "batch", "watermark") if found else None


def _entered(rows: pa.Table, window: Sliced, batch_id: int, watermark: int) -> pa.Table:
    constants = {
        "batch": pa.scalar(batch_id, pa.int64()),
        "watermark": pa.scalar(watermark, pa.int64()),
        "window": pa.scalar(str(window), pa.string()),
    }
    for name, value in constants.items():
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


def merge_ledgers(
    duck: Duck, node: Node, ledgers: Sequence[pa.Table], readers: LateReaders, newest: int | None
) -> pa.Table:
    """One ledger of many, at the newest watermark: bounded by groups, readers and the time that they keep."""
    kinds = ", ".join(f"'{window}'" for window in sorted(readers.windows))
    kept = f'"window" IN ({kinds}) AND batch >= {min(readers.epochs)} AND watermark >= {readers.oldest(newest)}'
    points = ", ".join(map(str, sorted(readers.epochs)))
    batch = f"list_max(list_filter([{points}], lambda epoch: epoch <= batch))"
    source = f"(SELECT * FROM weft_rows WHERE {kept})"
    return _merged(duck, node, ledgers, source, batch, readers.told_apart(newest))


def _merged(
    duck: Duck, node: Node, ledgers: Sequence[pa.Table], source: str, batch: str, watermark: str
) -> pa.Table:
    keys = [
        (f"CAST({batch} AS BIGINT)", "batch"),
        (f"CAST({watermark} AS BIGINT)", "watermark"),
        ('"window"', "window"),
        *((quoted(one.name), one.name) for one in node.dimensions),
    ]
    return duck.run(merge_sql(source, keys, [ROW_COUNT]), {"weft_rows": gather(ledgers)})


def gather(ledgers: Iterable[pa.Table]) -> pa.Table:
    """The rows of several ledgers."""
    return pa.concat_tables([_dated(ledger) for ledger in ledgers], promote_options="default")


def _dated(ledger: pa.Table) -> pa.Table:
    """Ledgers once had no watermarks; their rows are older than all others."""
    if "watermark" in ledger.column_names:
        return ledger
    return ledger.append_column("watermark", pa.repeat(pa.scalar(EARLIEST, pa.int64()), ledger.num_rows))
