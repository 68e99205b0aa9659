"""A data type in the words of every engine that meets it: DuckDB, Arrow and Spark. And constants in DuckDB's."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from weft.algebra.expressions import Literal
from weft.algebra.types import DataType

_DUCK = {
    "void": '"NULL"', "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER",
    "bigint": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "string": "VARCHAR", "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "window": 'STRUCT("start" TIMESTAMP WITH TIME ZONE, "end" TIMESTAMP WITH TIME ZONE)',
}
_MOMENT = pa.timestamp("us", tz="UTC")
_ARROW = {
    "void": pa.null(), "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
    "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "date": pa.date32(),
    "timestamp": _MOMENT, "window": pa.struct([("start", _MOMENT), ("end", _MOMENT)]),
}


def duck_type(kind: DataType) -> str:
    """The type as DuckDB's `typeof` prints it.

    >>> from weft.algebra.types import BIGINT, decimal
    >>> duck_type(BIGINT), duck_type(decimal(10, 2))
    ('BIGINT', 'DECIMAL(10,2)')
    """
    return f"DECIMAL({kind.precision},{kind.scale})" if kind.is_decimal else _DUCK[kind.name]


def arrow_type(kind: DataType) -> pa.DataType:
    """The type of an Arrow column; moments are UTC with microseconds, as Spark and DuckDB keep them."""
    return pa.decimal128(kind.precision, kind.scale) if kind.is_decimal else _ARROW[kind.name]


def spark_type(kind: DataType) -> str:
    """The type as Spark SQL writes it."""
    if kind.is_decimal:
        return f"DECIMAL({kind.precision},{kind.scale})"
    if kind.name == "window":
        return "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"
    return kind.name.upper()


def duck_literal(literal: Literal) -> str:
    """A constant in DuckDB's SQL, of exactly its type."""
    value, name = literal.value, duck_type(literal.type)
    match value:
        case None:
            return "NULL" if literal.type.name == "void" else f"CAST(NULL AS {name})"
        case bool():
            return str(value).lower()
        case datetime():
            return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return _string_literal(value)
        case Decimal():
            return f"CAST('{value:f}' AS {name})"
        case float():
            return f"CAST('{value!r}' AS {name})"
        case int():
            return f"CAST({value} AS {name})"


def _string_literal(value: str) -> str:
    """A string without braces in its text: views hold slots such as {part0} in their texts, and fill them by name."""
    literal = "'" + value.replace("'", "''").replace("{", "'||chr(123)||'").replace("}", "'||chr(125)||'") + "'"
    return f"({literal})" if "{" in value or "}" in value else literal
