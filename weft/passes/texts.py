"""Strings that are no UTF-8 become valid before anything is stored.

Spark takes the bytes of a string in Parquet, ORC or a DataFrame as they are and never looks at them. DuckDB and Python
do: a value would be cut off there, or could not be read. To look at every row takes Spark about a tenth more of its
processors; few values are left when a batch is aggregated, and to look at these takes next to nothing. So such rows
count, in every query and whatever else is registered, and what is no UTF-8 in a result is U+FFFD, as in Spark.
"""

from __future__ import annotations

import pyarrow as pa


def valid_texts(table: pa.Table) -> pa.Table:
    """The table with valid strings; the same where they all are."""
    for index, field in enumerate(table.schema):
        if _has_text(field.type) and not _is_valid(table.column(index)):
            chunks = [_mended(chunk) for chunk in table.column(index).chunks]
            table = table.set_column(index, field, pa.chunked_array(chunks, field.type))
    return table


def checked_texts(rows: pa.Table) -> pa.Table:
    """The rows, whose strings are all valid; predicates over others are Spark's to judge."""
    if valid_texts(rows) is not rows:
        raise ValueError("a string is no UTF-8")
    return rows


def _has_text(kind: pa.DataType) -> bool:
    """Whether values of the type hold strings; partial rows have them alone, and beside what they were chosen by."""
    return pa.types.is_string(kind) or (pa.types.is_struct(kind) and any(_has_text(field.type) for field in kind))


def _is_valid(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _mended(column: pa.Array) -> pa.Array:
    """The column with U+FFFD for what is no UTF-8.

    >>> _mended(pa.array([b"ab\\xffcd", None]).view(pa.string())).to_pylist()
    ['ab\\ufffdcd', None]
    """
    if pa.types.is_struct(column.type):
        parts = [_mended(column.field(index)) for index in range(column.type.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(column.type), mask=column.is_null())
    if not pa.types.is_string(column.type):
        return column
    values = column.cast(pa.binary()).to_pylist()
    texts = [None if value is None else value.decode(errors="replace") for value in values]
    return pa.array(texts, column.type)
