"""The look-up of a pass: which predicates each row meets, by the codes of its operands and an index of the predicates.

The index is made from rows that were seen, and anew when many more or many others were: what it is made from decides
how long a look-up takes, and never what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.passes.codes import Numbers, codes_of
from weft.passes.index import PredicateIndex
from weft.passes.work import LINE, NUMBER, PLACE, Lookup

# An index is made from so many rows, of fewer for so long as there are no more; and again after so many look-ups.
SAMPLE_ROWS, MORE_ROWS, RENEWED_AFTER = 1 << 15, 4, 200
# Passes that are remembered with their indexes.
MOST_INDEXES = 8
# Rows are coded in pieces that have so many codes together.
PIECE_CODES, LEAST_PIECE = 1 << 26, 1 << 14

# The values of SQL over rows.
ValuesOf = Callable[[Sequence[str], pa.Table], list[pa.ChunkedArray]]
Run = Callable[..., Iterable[tuple[Numbers, Numbers]]]


@dataclass
class _Made:
    """An index, from how many rows it was made, and how often it was used."""

    index: PredicateIndex
    rows: int
    used: int = 0


class Lookups:
    """Looks rows up, and keeps the indexes of the passes that ran last."""

    def __init__(self) -> None:
        self._made: dict[Lookup, _Made] = {}

    def found(self, lookup: Lookup, rows: pa.Table, values_of: ValuesOf, run: Run) -> pa.Table:
        """The places of the rows that predicates keep, with the numbers of their matches and of their statements."""
        size = max(LEAST_PIECE, PIECE_CODES // len(lookup.operands))
        none = np.empty(0, np.int64)
        places, predicates = [none], [none]
        for begin in range(0, rows.num_rows, size):
            codes = _codes(lookup, rows.slice(begin, size), values_of)
            own, met = self._index(lookup, codes).pairs(codes, run)
            places.append(own + begin)
            predicates.append(met)
        kept = np.concatenate(predicates)
        columns = {
            PLACE: np.concatenate(places),
            NUMBER: lookup.numbers[kept],
            LINE: lookup.lines[kept],
        }
        return pa.table({name: pa.array(values) for name, values in columns.items()})

    def _index(self, lookup: Lookup, codes: Sequence[Numbers]) -> PredicateIndex:
        made, rows = self._made.pop(lookup, None), min(SAMPLE_ROWS, len(codes[0]))
        if made is None or rows >= MORE_ROWS * made.rows or made.used >= RENEWED_AFTER:
            step = -(-len(codes[0]) // SAMPLE_ROWS)
            made = _Made(PredicateIndex(lookup.predicates, [code[::step] for code in codes]), rows)
        made.used += 1
        # The last that was used goes to the end, and is forgotten last.
        self._made[lookup] = made
        while len(self._made) > MOST_INDEXES:
            del self._made[next(iter(self._made))]
        return made.index


def _codes(lookup: Lookup, rows: pa.Table, values_of: ValuesOf) -> list[Numbers]:
    """The codes of every operand; what is a column of the rows is not asked for."""
    names = set(rows.column_names)
    computed = [operand.value for operand in lookup.operands if operand.value not in names]
    values = dict(zip(computed, values_of(computed, rows), strict=True)) if computed else {}
    return [
        codes_of(rows[operand.value] if operand.value in names else values[operand.value], operand.constants)
        for operand in lookup.operands
    ]
