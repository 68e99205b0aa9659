"""The cell of a value, as Spark finds it: the last cut at or below it, wherever the cuts are."""

from __future__ import annotations

from bisect import bisect_right
from random import Random
from typing import TYPE_CHECKING

import pytest

from weft.spark.cells import Search, jump_into, layers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def random_cuts(random: Random) -> list[int]:
    """Evenly spread, in clusters, at the ends of the type, or few."""
    kind = random.choice(["even", "cluster", "ends", "few", "spread"])
    if kind == "even":
        step, begin = random.choice([1, 2, 7, 1000]), random.randint(-5000, 5000)
        return [begin + step * place for place in range(random.randint(8, 400))]
    if kind == "cluster":
        return [random.choice([0, 10**6, -(10**12)]) + random.randint(0, 60) for _ in range(100)]
    if kind == "ends":
        return [SMALLEST + 1, *range(-4, 5), LARGEST - 1, LARGEST]
    return [random.randint(-(10**9), 10**9) for _ in range(5 if kind == "few" else 3000)]


def test_every_value_finds_its_cell(spark: SparkSession) -> None:
    random = Random("cells")
    searches, points_of, values = [], {}, {SMALLEST, LARGEST, 0, None}
    for place in range(24):
        points = sorted({SMALLEST, *random_cuts(random)})
        points_of[f"s{place}"] = points
        searches.append(Search(f"s{place}", "v", tuple(_literal(point) for point in points), jump_into(points)))
        near = random.sample(points, min(8, len(points)))
        values |= {min(LARGEST, max(SMALLEST, point + off)) for point in near for off in (-1, 0, 1, 13)}
    assert sum(search.jump is not None for search in searches) > 8
    assert max(len(list(search.steps())) for search in searches if search.jump is None) > 3
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.maxFields", "400")
    rows = session.createDataFrame([(value,) for value in values], "v bigint")
    rows.createOrReplaceTempView("numbers")
    results = ", ".join(search.result() for search in searches)
    answers = session.sql(f"SELECT v, {results} FROM {layers(searches)}".replace("{rows}", "numbers")).collect()
    assert len(answers) == len(values)
    for row in answers:
        for name, points in points_of.items():
            expected = None if row.v is None else points[bisect_right(points, row.v) - 1]
            assert row[name] == expected, f"{name}: {row.v}"


@pytest.mark.parametrize("count", [8, 100, 1000])
def test_even_cuts_take_a_step_or_two(count: int) -> None:
    points = [-(2**31), *range(0, count * 5, 5)]
    search = Search("s", "v", tuple(map(str, points)), jump_into(points))
    assert len(list(search.steps())) <= 2
    assert len(list(Search("s", "v", tuple(map(str, points))).steps())) == count.bit_length()


def test_cuts_in_one_heap_are_halved_as_ever() -> None:
    points = [-(2**31), *range(100), 10**9]
    assert jump_into(points) is None


def _literal(value: int) -> str:
    return "CAST('-9223372036854775808' AS BIGINT)" if value == SMALLEST else f"{value}L"
