"""Spark reads what we write as what we meant: the same values, and the types that the expressions say."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.algebra.expressions import Aggregate, Call, Cast, Column, Expression, Literal, Slot, WindowPart, text
from weft.algebra.functions import ALL, Function
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    decimal,
)
from weft.errors import SqlError
from weft.segments.types import spark_type
from weft.spark.render import spark_sql, string

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INF = float("inf")
KINDS = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(38, 10), STRING, DATE,
         TIMESTAMP)
# A name as unkind as a name can be.
COLUMNS = tuple(Column(f"c `{place}` -- '${{x}}", kind) for place, kind in enumerate(KINDS))
WORD, SIZE = Literal("a(b)", STRING), Literal(1, INT)
TEXT, DAY, MOMENT = COLUMNS[9], COLUMNS[10], COLUMNS[11]
# Arguments of functions that take constants, or more than two arguments.
SAMPLES: dict[str, list[tuple[Expression, ...]]] = {
    "and": [COLUMNS[:1] * 3], "or": [COLUMNS[:1] * 3], "in": [(TEXT, WORD, Literal("c", STRING))],
    "like": [(TEXT, Literal("a%\\_", STRING))], "rlike": [(TEXT, WORD)], "round": [(one, SIZE) for one in COLUMNS[1:9]],
    "if": [(COLUMNS[0], one, one) for one in COLUMNS], "nvl2": [(TEXT, one, one) for one in COLUMNS],
    "hash": [COLUMNS], "xxhash64": [COLUMNS], "concat": [(TEXT, TEXT, TEXT)], "concat_ws": [(WORD, TEXT, TEXT)],
    "substring": [(TEXT, SIZE), (TEXT, SIZE, SIZE)], "left": [(TEXT, SIZE)], "right": [(TEXT, SIZE)],
    "replace": [(TEXT, WORD, WORD)], "translate": [(TEXT, WORD, WORD)], "repeat": [(TEXT, SIZE)],
    "lpad": [(TEXT, SIZE), (TEXT, SIZE, WORD)], "rpad": [(TEXT, SIZE), (TEXT, SIZE, WORD)],
    "locate": [(WORD, TEXT), (WORD, TEXT, SIZE)], "split_part": [(TEXT, WORD, SIZE)],
    "regexp_extract": [(TEXT, WORD), (TEXT, WORD, SIZE)], "regexp_replace": [(TEXT, WORD, Literal("$1", STRING))],
    "sha2": [(TEXT, Literal(256, INT))], "date_trunc": [(Literal("HOUR", STRING), MOMENT)],
    "trunc": [(DAY, Literal("MONTH", STRING))], "date_add": [(DAY, SIZE)], "date_sub": [(DAY, SIZE)],
    "make_date": [(SIZE, SIZE, SIZE)], "date_format": [(MOMENT, Literal("yyyy-MM-dd", STRING))],
}


def calls_of(function: Function) -> list[Expression]:
    """Calls of a function over every one and two columns it takes, and over its samples."""
    found = []
    plain = [columns for count in (1, 2) for columns in product(COLUMNS, repeat=count)]
    for arguments in [*plain, *SAMPLES.get(function.name, [])]:
        if function.least <= len(arguments) <= function.most:
            try:
                found.append(function.build(arguments))
            except SqlError:
                continue
    return found


def test_types_are_what_expressions_say(spark: SparkSession) -> None:
    made: list[Expression] = []
    for function in ALL:
        calls = calls_of(function)
        assert calls, f"no sample arguments for {function.name}"
        made += calls
    made += [Cast(one, kind) for one in COLUMNS[:9] for kind in KINDS[:10]]
    made += [Call("try_cast", (TEXT,), kind) for kind in KINDS if kind != STRING]
    made = list(dict.fromkeys(made))
    schema = ", ".join(f"`{one.name.replace('`', '``')}` {one.type}" for one in COLUMNS)
    rows = spark.createDataFrame([], schema)
    answered = rows.selectExpr(*(f"{spark_sql(one)} AS c{place}" for place, one in enumerate(made)))
    wrong = [f"{text(one)}: {field.dataType.simpleString()}, not {one.type}"
             for one, field in zip(made, answered.schema.fields, strict=True)
             if field.dataType.simpleString().upper() != spark_type(one.type)]
    assert len(made) > 500
    assert not wrong, "\n".join(wrong[:40])


CONSTANTS: list[tuple[object, DataType]] = [
    (True, BOOLEAN), (-128, TINYINT), (5, SMALLINT), (-(2**31), INT), (-(2**63), BIGINT), (2**63 - 1, BIGINT),
    (-0.0, DOUBLE), (5e-324, DOUBLE), (1.7976931348623157e308, DOUBLE), (0.1, DOUBLE), (INF, DOUBLE), (-INF, DOUBLE),
    (1.5, FLOAT), (-INF, FLOAT), (Decimal("-1.50"), decimal(10, 2)), (Decimal("9" * 38), decimal(38, 0)),
    (Decimal("1E+3"), decimal(4, 0)), (Decimal("0.00000001"), decimal(8, 8)),
    (date(1, 1, 1), DATE), (date(9999, 12, 31), DATE),
    (datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC), TIMESTAMP),
    (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), TIMESTAMP), *((None, kind) for kind in KINDS),
]


def test_constants_keep_value_and_type(spark: SparkSession) -> None:
    made = [Literal(value, kind) for value, kind in CONSTANTS]  # type: ignore[arg-type]
    made.append(Literal(float("nan"), DOUBLE))
    answered = spark.range(1).selectExpr(*(f"{spark_sql(one)} AS c{place}" for place, one in enumerate(made)))
    kinds = [field.dataType.simpleString().upper() for field in answered.schema.fields]
    assert kinds == [spark_type(one.type) for one in made]
    values = answered.toArrow().to_pylist()[0].values()
    assert [repr(_plain(value)) for value in values] == [repr(_plain(one.value)) for one in made]


def _plain(value: object) -> object:
    """A value as Arrow gives it, without what says the same in two ways: exponents and names of time zones."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return Decimal(f"{value:f}") if isinstance(value, Decimal) else value


NASTY = ["", "'", "\\", "\\'", "''", '"', "\n\r\t\b\x00\x1a", "${spark.app.name}", "{rows}", "%_\\%\\_",
         "-- x", "/* x */", "\\u0041", "\\101", "\u2028\u200b", "é😀\U0010ffff",
         "`", ":name ?", "a' 'b", "\ufeff", " lead and trail "]


def test_strings_come_back(spark: SparkSession) -> None:
    drawn: list[str] = []

    @settings(max_examples=200, derandomize=True, database=None)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    def draw(one: str) -> None:
        drawn.append(one)

    draw()
    wanted = [*NASTY, *drawn]
    assert len(set(wanted)) > 100
    sql = ", ".join(f"{string(one)} AS c{place}" for place, one in enumerate(wanted))
    found = spark.sql(f"SELECT {sql}").toArrow().to_pylist()[0]
    assert list(found.values()) == wanted


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        string("\ud800")


def test_slots_stand_for_their_sql() -> None:
    total = Call("+", (Slot("a", INT), Slot("b`c", INT)), INT)
    assert spark_sql(total, {"a": "t.x"}) == "(t.x + `b``c`)"


def test_what_is_of_a_group_is_not_rendered() -> None:
    for expression in (WindowPart("start"), Aggregate("count", (), BIGINT)):
        with pytest.raises(TypeError):
            spark_sql(expression)
