"""The average of decimals of every width is Spark's to the last digit, of rows at once and of partial rows merged."""

from __future__ import annotations

from decimal import Decimal, localcontext
from random import Random

import pyarrow as pa
import pytest
from duckdb import Error
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import Plain
from weft.aggregates.statistics import BASICS, Statistic
from weft.algebra.types import MAX_PRECISION, DataType, decimal
from weft.backend.duck import Duck
from weft.backend.functions import OVERFLOW
from weft.backend.merge import merge_sql
from weft.backend.render import duck_sql
from weft.segments.types import arrow_type, duck_type
from weft.spark.render import spark_sql
from weft.sql.bind import compile_expression

ROWS = 21
SLICES = 4
# Every width with the scales where a rule changes: none, few, the six that a quotient keeps at least, half, all.
KINDS = sorted({(p, s) for p in (1, 5, 9, 14, 18, 19, 20, 24, 25, 26, 27, 28, 29, 30, 33, 34, 35, 37, 38)
                for s in (0, 1, 2, 3, 4, 5, 6, 7, 10, 17, p // 2, p - 4, p - 1, p) if 0 <= s <= p})
CATALOG = AggregateCatalog()


def rows_of(kind: DataType, random: Random) -> list[Decimal | None]:
    """Values of all sizes, of which neither the sum nor the average is too large for its type."""
    scale = min(kind.scale + 4, MAX_PRECISION)
    room = min(10**kind.precision, 10 ** (kind.scale + MAX_PRECISION - scale), 10**MAX_PRECISION // ROWS)
    sizes = [10**digits for digits in range(MAX_PRECISION + 1) if 10**digits <= room]
    with localcontext(prec=2 * MAX_PRECISION):
        values = [Decimal(random.randrange(-size + 1, size)).scaleb(-kind.scale) for size in random.choices(sizes, k=ROWS)]
    return [None, *values[1:]]


def average(kind: DataType) -> Plain:
    made = CATALOG.decompose(compile_expression("avg(v)", {"v": kind}, CATALOG))  # type: ignore[arg-type]
    assert isinstance(made, Plain)
    return made


def built(one: Statistic, column: str) -> str:
    """A statistic of rows as Spark makes it, over this column."""
    return f"{BASICS[one.basic].build.format(*(spark_sql(part).replace('`v`', column) for part in one.arguments))}"


def merged(duck: Duck, kind: DataType, partial: pa.Table) -> pa.Table:
    """The average of partial rows, which the reading engine merges and finishes."""
    made = average(kind)
    slots = {one.name: f'"{one.name}"' for one in made.statistics}
    sql = f"SELECT CAST({duck_sql(made.result, slots)} AS {duck_type(made.result.type)}) AS a " \
          f"FROM ({merge_sql('weft_rows', [], made.statistics)})"
    return duck.run(sql, {"weft_rows": partial})


def test_averages_of_decimals_are_sparks(spark: SparkSession) -> None:
    random, kinds = Random(13), [decimal(p, s) for p, s in KINDS]
    table = pa.table({"slice": [place % SLICES for place in range(ROWS)],
                      **{f"c{place}": pa.array(rows_of(kind, random), arrow_type(kind)) for place, kind in enumerate(kinds)}})
    spark.createDataFrame(table).createOrReplaceTempView("decimals")
    expected = spark.sql(f"SELECT {', '.join(f'avg(c{place}) AS c{place}' for place in range(len(kinds)))} FROM decimals").toArrow()
    columns = [f"{built(one, f'c{place}')} AS c{place}_{one.name}" for place, kind in enumerate(kinds)
               for one in average(kind).statistics]
    partials = spark.sql(f"SELECT {', '.join(columns)} FROM decimals GROUP BY slice").toArrow()
    assert partials.num_rows == SLICES
    wrong = []
    duck = Duck()
    for place, kind in enumerate(kinds):
        mine = partials.select([name for name in partials.column_names if name.startswith(f"c{place}_")])
        found = merged(duck, kind, mine.rename_columns([name.partition("_")[2] for name in mine.column_names]))["a"]
        theirs = expected[f"c{place}"]
        if found.type != theirs.type or found.to_pylist() != theirs.to_pylist():
            wrong.append(f"{kind}: {found.type} {found.to_pylist()} for {theirs.type} {theirs.to_pylist()}")
    duck.close()
    assert not wrong, "\n".join(wrong)


def test_the_last_digits_of_a_wide_average_are_there() -> None:
    kind = decimal(28, 5)
    total, count = average(kind).statistics
    partial = pa.table({total.name: pa.array([Decimal("0.00001"), Decimal("0.00003")], arrow_type(total.type)),
                        count.name: pa.array([1, 2], pa.int64())})
    duck = Duck()
    assert merged(duck, kind, partial)["a"].to_pylist() == [Decimal("0.000013333")]
    duck.close()


def test_an_average_without_room_before_its_point_is_refused_by_both(spark: SparkSession) -> None:
    kind = decimal(38, 5)
    with localcontext(prec=MAX_PRECISION):
        value = Decimal(10) ** 30 + Decimal(0).scaleb(-5)
    with pytest.raises(PySparkException, match="OVERFLOW|OUT_OF_RANGE"):
        spark.sql(f"SELECT avg(CAST({value:f}BD AS DECIMAL(38,5))) AS a").toArrow()
    columns = ", ".join(f"{built(one, 'v')} AS {one.name}" for one in average(kind).statistics)
    partial = spark.sql(f"SELECT {columns} FROM (SELECT CAST({value:f}BD AS DECIMAL(38,5)) AS v)").toArrow()
    duck = Duck()
    with pytest.raises(Error, match=OVERFLOW):
        merged(duck, kind, partial)
    duck.close()
