"""Files with other types than the stream declares are refused, where Spark would convert them without a word.

Spark refuses such a Parquet file itself. Of ORC it takes any type for any other, value by value: a number too large and
a text that is none become NULL, a fraction loses its digits. A type whose values all fit is let through.
Cost: a small job a batch, which reads the files' ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from weft.algebra.types import INTEGRAL_DIGITS, DataType, as_decimal
from weft.errors import SqlError
from weft.feeds.streams import Stream
from weft.spark.reading import types_in
from weft.sql.ddl import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONVERTED = "orc"
# Integers that a fractional type holds exactly.
EXACT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}
# What Spark says of files without a byte, which are not wrong.
EMPTY = "UNABLE_TO_INFER_SCHEMA"


def drift(session: SparkSession, stream: Stream, files: Sequence[str]) -> Exception | None:
    """What is wrong with the types in these files; None where all values come through as they are."""
    try:
        types = types_in(session, stream, files)
    except (PySparkException, Py4JError) as error:
        # Among others: types of two files that cannot be merged. Read alone, every file may be as it should be.
        return None if EMPTY in str(error) else error
    for name, declared in stream.columns:
        kind = types.get(name.lower())
        if kind is not None and not holds(declared, kind):
            return PySparkException(f"column {name!r} is {kind}, and the stream declares {declared}")
    return None


def holds(declared: DataType, type_in_file: str) -> bool:
    """Whether a column of the declared type can hold every value of the type in the file.

    >>> holds(DataType("int"), "smallint"), holds(DataType("int"), "bigint"), holds(DataType("string"), "double")
    (True, False, True)
    """
    kind = _parsed(type_in_file)
    if kind is None:
        return False
    if kind == declared or declared.name == "string":
        return True
    if declared.is_decimal and (kind.is_decimal or kind.is_integral):
        digits = as_decimal(kind)
        return digits.scale <= declared.scale and digits.precision - digits.scale <= declared.precision - declared.scale
    if declared.is_integral and kind.is_integral:
        return INTEGRAL_DIGITS[kind.name] <= INTEGRAL_DIGITS[declared.name]
    return kind.name in EXACT.get(declared.name, ())


def _parsed(kind: str) -> DataType | None:
    """The type that Spark prints so; None for a type that no column of a stream can have."""
    try:
        # A moment without a zone is read in the session's zone, as in every other format.
        ((_, parsed),) = parse_schema(f"x {'timestamp' if kind == 'timestamp_ntz' else kind}")
    except SqlError:
        return None
    return parsed
