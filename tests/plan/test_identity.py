"""Hazard: a plan changes what a fragment means. Its name is made of its meaning, so another meaning has another name."""

from __future__ import annotations

from itertools import combinations

import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import StreamSchema
from weft.plan.needs import Needs, analyse
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

COLUMNS = "ts timestamp, i int, j int, x double, k string"
WIDER = COLUMNS.replace("i int", "i bigint")


def needs(select: str, *, by: str = "k", columns: str = COLUMNS, where: str = "") -> Needs:
    text = f"SELECT {select} AS a FROM s {where} GROUP BY window(ts, '1 minute'), {by}"
    aggregates = AggregateCatalog()
    stream = StreamSchema("s", dict(parse_schema(columns)), "ts")
    return analyse(compile_query(text, {"s": stream}, aggregates), aggregates)


def statistics(found: Needs) -> frozenset[str]:
    return frozenset(one.name for part in found.parts for one in part.statistics)


def nodes(found: Needs) -> tuple[str, ...]:
    return tuple(part.node for part in found.parts)


@pytest.mark.parametrize(
    "apart",
    [
        ["sum(i)", "sum(j)", "sum(i + 1)", "sum(i + 2)", "sum(i) FILTER (WHERE j > 0)", "sum(i) FILTER (WHERE j > 1)"],
        ["min(i)", "max(i)", "min(i + j)", "min(i - j)", "max_by(i, j)", "max_by(j, i)"],
        ["sum(x)", "sum(x * x)", "sum(cast(x AS int))", "sum(cast(x AS bigint))", "sum(cast(x AS decimal(9,2)))"],
    ],
    ids=lambda one: one[0],
)
def test_statistics_of_another_meaning_have_another_name(apart: list[str]) -> None:
    for one, other in combinations(apart, 2):
        assert statistics(needs(one)) != statistics(needs(other)), (one, other)


def test_nodes_of_other_group_expressions_have_another_name() -> None:
    apart = ["k", "i", "i + 1", "i + 2", "k, i", "upper(k)", "lower(k)", "cast(i AS string)", "cast(i AS double)"]
    for one, other in combinations(apart, 2):
        assert nodes(needs("count(*)", by=one)) != nodes(needs("count(*)", by=other)), (one, other)


def test_a_column_of_another_type_is_another_column() -> None:
    assert statistics(needs("sum(i)")) != statistics(needs("sum(i)", columns=WIDER))
    assert nodes(needs("count(*)", by="i")) != nodes(needs("count(*)", by="i", columns=WIDER))


def test_what_means_the_same_has_the_same_name() -> None:
    assert statistics(needs("sum(i + j)")) == statistics(needs("sum(j + i)"))
    assert nodes(needs("count(*)", by="k, i")) == nodes(needs("sum(j)", by="i, k"))
    first, second = (needs("count(*)", where=f"WHERE {text}") for text in ("i > 5 AND j < 3", "3 > j AND 5 < i"))
    assert nodes(first) == nodes(second)
