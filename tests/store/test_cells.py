"""Rows in wider cells: each where it would be, had the other cuts never been there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from weft.algebra.expressions import Column
from weft.algebra.types import BIGINT, DOUBLE, DataType, decimal
from weft.backend.tables import wider_cells
from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.layout import Layout
from weft.plan.network import Node
from weft.segments.types import arrow_type
from weft.store.cells import cells_of, without_cuts

KINDS: dict[str, tuple[DataType, list[Cut]]] = {
    "bigint": (BIGINT, [-5, 0, 7, 2**62]),
    "double": (DOUBLE, [-1.5, 0.0, 5e-324, 1e300]),
    "decimal": (decimal(38, 2), [Decimal("-0.01"), Decimal(0), Decimal(12), Decimal("9" * 36 + ".99")]),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kept", [[], [0], [1, 3], [0, 1, 2, 3]])
def test_a_cell_falls_to_the_cut_before_it(name: str, kept: list[int]) -> None:
    kind, cuts = KINDS[name]
    dimension = Dimension(Column("v", kind), cells=True)
    node = Node("n", True, (dimension,), (), (), False, ("q",))
    layout = Layout(frozenset(), ((dimension.name, frozenset(map(repr, cuts))),), None)
    read = {dimension.name: {repr(cuts[place]): cuts[place] for place in kept}}
    cells: list[Any] = [lowest(kind), *cuts, None]
    rows = pa.table({"start": range(len(cells)), dimension.name: pa.array(cells, arrow_type(kind))})
    fewer = without_cuts(layout, read)
    found = wider_cells(rows, cells_of(node, fewer, read))
    want = [None if cell is None else max([lowest(kind), *(cuts[at] for at in kept if cuts[at] <= cell)])
            for cell in cells]
    assert found[dimension.name].to_pylist() == want and found.schema == rows.schema
    assert dict(fewer.cuts)[dimension.name] == {repr(cuts[place]) for place in kept}


def test_a_dimension_that_nobody_cuts_any_more_is_one_cell() -> None:
    dimension = Dimension(Column("v", BIGINT), cells=True)
    layout = Layout(frozenset(), ((dimension.name, frozenset({"5"})),), None)
    assert without_cuts(layout, {}).cuts == ((dimension.name, frozenset()),)
