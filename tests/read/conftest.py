"""Both engines over the same rows: what they answer, row by row, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession

from weft.algebra.expressions import Expression, text
from weft.backend.functions import install
from weft.backend.render import duck_sql
from weft.segments.types import duck_type, spark_type
from weft.spark.render import spark_sql

ERROR = "error"


@pytest.fixture(scope="session")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    install(connection)
    connection.execute("SET TimeZone = 'UTC'")
    yield connection
    connection.close()


def attempt(session: SparkSession, sql: str) -> Column:
    """The value in a struct; NULL instead of the struct where Spark raises, so one job tells all rows apart."""
    parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(f"named_struct('v', {sql})")
    java = session._jvm.org.apache.spark.sql
    return Column(java.classic.ExpressionUtils.column(java.catalyst.expressions.TryEval(parsed)))


def spark_answers(session: SparkSession, table: pa.Table, expressions: Sequence[Expression]) -> list[list[Any]]:
    """What Spark gives, one list an expression; checks that its types are the expressions'."""
    session = session.newSession()
    # Spark would take shared parts out of the attempt, where they fail the whole job.
    session.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    columns = [attempt(session, spark_sql(one)).alias(f"c{place}") for place, one in enumerate(expressions)]
    answered = session.createDataFrame(table).select(*columns)
    for one, field in zip(expressions, answered.schema.fields, strict=True):
        found = field.dataType["v"].dataType
        assert found.simpleString().upper() == spark_type(one.type), f"{text(one)}: {found} is not {one.type}"
    rows = answered.collect()
    return [[ERROR if row[place] is None else moment(row[place]["v"]) for row in rows]
            for place in range(len(expressions))]


def moment(value: Any) -> Any:
    """A datetime as Arrow gives it: PySpark's are without a zone and in that of this machine."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def duck_answers(connection: duckdb.DuckDBPyConnection, table: pa.Table, expression: Expression,
                 expected: list[Any]) -> list[Any]:
    """What DuckDB gives: at once for the rows that Spark answers, one by one for those it refuses."""
    answers: list[Any] = [None] * table.num_rows
    good = [row for row, value in enumerate(expected) if value is not ERROR]
    bad = [row for row, value in enumerate(expected) if value is ERROR]
    for rows in ([good] if good else []) + [[row] for row in bad]:
        for row, value in zip(rows, run(connection, table.take(rows), expression), strict=True):
            answers[row] = value
    return answers


def run(connection: duckdb.DuckDBPyConnection, table: pa.Table, expression: Expression) -> list[Any]:
    connection.register("rows", table)
    sql = duck_sql(expression, {})
    try:
        answer = connection.sql(f"SELECT {sql} AS v FROM rows")
        assert str(answer.types[0]) == duck_type(expression.type), f"{text(expression)}: {answer.types[0]}, {sql}"
        return list(answer.to_arrow_table().column(0).to_pylist())
    except duckdb.Error as error:
        if table.num_rows == 1:
            return [ERROR]
        raise AssertionError(f"{text(expression)}: DuckDB fails where Spark does not: {error}\n{sql}") from error
    finally:
        connection.unregister("rows")


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0)
    return type(one) is type(other) and bool(one == other)


@pytest.fixture
def agree(spark: SparkSession, duck: duckdb.DuckDBPyConnection) -> Callable[[pa.Table, Sequence[Expression]], int]:
    """Fails with every expression and row on which the engines differ; answers how many both refuse."""

    def check(table: pa.Table, expressions: Sequence[Expression]) -> int:
        assert table.num_rows and expressions
        differences = []
        refused = 0
        for expression, expected in zip(expressions, spark_answers(spark, table, expressions), strict=True):
            found = duck_answers(duck, table, expression, expected)
            refused += expected.count(ERROR)
            for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
                if not equal(ours, theirs):
                    values = table.slice(row, 1).to_pylist()[0]
                    differences.append(f"{text(expression)} : {expression.type} over {values}: "
                                       f"spark {theirs!r}, duckdb {ours!r}")
        assert not differences, "\n".join(differences[:40])
        return refused
    return check
