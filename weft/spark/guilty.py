"""The row that a query fails on: halving finds it in as many trials as the number of rows has binary digits.

Rows are told apart by a hash of all their values, not by their position: a batch that is read again may come in
another order. Rows that are equal fail alike, so it makes no difference which of them is taken; but only a single row
is, since many may be too much for a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from weft.feeds.streams import spark_identifier
from weft.spark.failure import VALUE_KEPT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# When the halves have been taken, about a single row is left; by chance it may be a few more.
FEW = 16


def suspects(rows: DataFrame, fails: Callable[[DataFrame], object]) -> Iterator[DataFrame]:
    """The rows that are left, row after row, when the half that fails is taken as often as there are halves.

    Where no single row is guilty, as with a sum that overflows, the rows that are left are innocent: try every row.
    """
    from pyspark.sql import functions as f

    mark = f.xxhash64(*(f.col(spark_identifier(name)) for name in rows.columns))
    bits, left = 0, rows
    for bit in range(rows.count().bit_length()):
        mask = (2 << bit) - 1
        left = rows.where(mark.bitwiseAND(mask) == bits)
        if not fails(left):
            bits |= 1 << bit
            left = rows.where(mark.bitwiseAND(mask) == bits)
    for suspect in left.select(mark).distinct().limit(FEW).collect():
        yield rows.where(mark == suspect[0]).limit(1)


def values_of(rows: DataFrame, columns: Sequence[str]) -> dict[str, str | None]:
    """These columns of a row as text; of long texts the beginning and the end."""
    from pyspark.sql import functions as f

    kinds = dict(rows.dtypes)

    def text(name: str) -> Column:
        whole = f.col(spark_identifier(name)).cast("string")
        ends = f.concat(f.left(whole, f.lit(VALUE_KEPT)), f.right(whole, f.lit(VALUE_KEPT)))
        short = f.when(f.length(whole) > 2 * VALUE_KEPT, ends).otherwise(whole)
        return f.concat(f.lit("'"), short, f.lit("'")) if kinds[name] == "string" else short

    row = rows.select(*map(text, columns)).collect()[0]
    return dict(zip(columns, row, strict=True))
