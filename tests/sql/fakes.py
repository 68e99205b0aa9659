"""Two streams and a handful of aggregates, for tests of the SQL front end alone."""

from __future__ import annotations

from weft.algebra.expressions import Aggregate, Cast, Expression
from weft.algebra.query import StreamSchema
from weft.algebra.types import BIGINT, DOUBLE, DataType, adjusted_decimal
from weft.errors import SqlError
from weft.sql.ddl import parse_schema

PACKETS = StreamSchema("packets", dict(parse_schema(
    "ts timestamp, saddr string, daddr string, proto int, port int, length int")), event_time="ts")
TRADES = StreamSchema("trades", dict(parse_schema(
    "at timestamp, Symbol string, price decimal(10,2), quantity bigint, rate double, weight float, day date, "
    "settled boolean, venue smallint, tag tinyint")), event_time="at")
STREAMS = {"packets": PACKETS, "trades": TRADES}


class FakeAggregates:
    """Enough of a catalog: the types are Spark's, the rest is taken on trust."""

    def names(self) -> frozenset[str]:
        return frozenset({"count", "sum", "avg", "mean", "min", "max", "percentile", "median", "any_value", "first"})

    def over(self, event_time: str) -> FakeAggregates:
        return self

    def bind(self, function: str, arguments: tuple[Expression, ...], distinct: bool) -> Aggregate:
        name = "avg" if function == "mean" else function
        if name == "count":
            return Aggregate(name, arguments, BIGINT, distinct)
        if not arguments:
            raise SqlError("wrong-type", f"{name} takes an argument")
        kind = arguments[0].type
        if name in ("sum", "avg", "percentile", "median"):
            if not kind.is_numeric:
                raise SqlError("wrong-type", f"{name} takes numbers, not a {kind}", hint="Cast it.")
            kind = _number(name, kind)
        if name in ("percentile", "median"):
            arguments = (arguments[0] if arguments[0].type == DOUBLE else Cast(arguments[0], DOUBLE), *arguments[1:])
        return Aggregate(name, arguments, kind, distinct)


def _number(name: str, kind: DataType) -> DataType:
    if kind.is_decimal and name == "sum":
        return adjusted_decimal(kind.precision + 10, kind.scale)
    if kind.is_decimal and name == "avg":
        return adjusted_decimal(kind.precision + 4, kind.scale + 4)
    return BIGINT if kind.is_integral and name == "sum" else DOUBLE
