"""The shape of partial rows, the same in every file, block and tick of a node."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.aggregates.statistics import Statistic
from weft.plan.dimensions import Dimension
from weft.segments.segment import EARLIEST
from weft.segments.types import arrow_type

START, LATE, LEVEL = "start", "late", "level"
# The end of the window that a row was taken for.
END = "window_end"

# LATE is the watermark that a late row came after: it counts for windows that end later. Rows on time have this.
ON_TIME = EARLIEST
# The level of a late row that came after its block was built: no block has it, and every window it counts for reads it.
STRAGGLER = -1


def stored_type(statistic: Statistic) -> pa.DataType:
    """The Arrow type of a statistic's column; the value at an extreme keeps the order it was chosen by."""
    if statistic.basic in ("least", "greatest"):
        value, order = (arrow_type(argument.type) for argument in statistic.arguments)
        return pa.struct([("o", order), ("p", pa.bool_()), ("v", value)])
    return arrow_type(statistic.type)


def row_schema(dimensions: Sequence[Dimension], statistics: Sequence[Statistic]) -> pa.Schema:
    """The columns of partial rows: start of the slice (of totals: tick), lateness, level, dimensions, statistics."""
    return pa.schema(
        [
            (START, pa.int64()),
            (LATE, pa.int64()),
            (LEVEL, pa.int8()),
            *((dimension.name, arrow_type(dimension.type)) for dimension in dimensions),
            *((statistic.name, stored_type(statistic)) for statistic in statistics),
        ]
    )


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these columns; a statistic that it lacks is NULL, which every merge rule skips."""
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
