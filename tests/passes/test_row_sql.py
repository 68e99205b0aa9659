"""Expressions over rows in DuckDB: they fail where Spark's fail, whatever is asked of their value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import duckdb
import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.expressions import Expression, column_names
from weft.backend.functions import install
from weft.feeds.streams import Stream
from weft.passes.row_sql import row_sql
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

SCHEMA = "ts timestamp, i int, n int, b bigint, e bigint, t tinyint, y double, v decimal(38,10)"
STREAM = Stream("s", parse_schema(SCHEMA), "ts", timedelta(0))
ROW = (
    f"SELECT {2**31 - 1}::INT AS i, ({-2**31})::INT AS n, {2**63 - 1}::BIGINT AS b, ({-2**63})::BIGINT AS e, "
    "(-128)::TINYINT AS t, 0.0::DOUBLE AS y, 9999999999999999999999999999.9999999999::DECIMAL(38,10) AS v"
)
FAILING = ("i + 1", "i - (-1)", "n - 1", "i * 2", "-n", "abs(n)", "-t", "abs(t)", "abs(e)", "b + 1", "b + b", "v * v",
           "i + 1 + 2", "(i + 1) * 2", "i / 0", "i / y", "cast(b AS int)", "cast(v AS bigint)", "round(i, -1)")
# What DuckDB answers of `x + 1` without computing it, where it is free to.
ASKED = ("{}", "{} > 3", "3 <= {}", "{} = 3", "{} IS NULL", "{} IS NOT NULL", "{} IN (3, 4)", "count({})", "sum({})",
         "min({})", "bool_or({} > 3)", "count(CASE WHEN {} > 3 THEN 1 END)")


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    install(connection)
    connection.execute(f"CREATE TABLE r AS {ROW}")
    yield connection
    connection.close()


def bound(expression: str) -> Expression:
    query = compile_query(f"SELECT count(*) AS c FROM s GROUP BY {expression}", {"s": STREAM.schema},
                          AggregateCatalog())
    return query.block.groups[0]


def sql_of(expression: str) -> str:
    whole = bound(expression)
    return row_sql(whole, {name: name for name in column_names(whole)})


@pytest.mark.parametrize("expression", FAILING)
def test_what_fails_fails_whatever_is_asked_of_it(duck: duckdb.DuckDBPyConnection, expression: str) -> None:
    for asked in ASKED:
        with pytest.raises(duckdb.Error):
            duck.execute(f"SELECT {asked.format(sql_of(expression))} FROM r").fetchall()


def test_a_whole_number_skips_the_float_on_its_way_to_a_double(duck: duckdb.DuckDBPyConnection) -> None:
    """Spark leaves out a float between them, which would round 2,147,483,647 up."""
    assert duck.execute(f"SELECT {sql_of('1 / cast(i AS float)')} FROM r").fetchall() == [(1 / (2**31 - 1),)]
