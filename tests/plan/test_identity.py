"""Hazard: a plan changes what a fragment means. Its name is made of its meaning, so another meaning has another name."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import combinations

import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.expressions import Call, Literal, Slot
from weft.algebra.schema import FeedSchema
from weft.algebra.types import BOOLEAN, decimal
from weft.algebra.windows import Sliced
from weft.plan.finish import Family, Request
from weft.plan.needs import Needs, analyse
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

COLUMNS = "ts timestamp, i int, j int, x double, k string"
WIDER = COLUMNS.replace("i int", "i bigint")


def needs(select: str, *, by: str = "k", columns: str = COLUMNS, where: str = "") -> Needs:
    text = f"SELECT {select} AS a FROM s {where} GROUP BY window(ts, '1 minute'), {by}"
    aggregates = AggregateCatalog()
    stream = FeedSchema("s", dict(parse_schema(columns)), "ts")
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
        [f"sum(CAST(NULL AS {kind}))" for kind in ("INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(6, 2)")],
        [f"max(CAST(NULL AS {kind}))" for kind in ("BOOLEAN", "STRING", "DATE", "TIMESTAMP", "TINYINT", "SMALLINT")],
        [f"max(CASE WHEN i > 0 THEN NULL ELSE CAST(NULL AS {kind}) END)" for kind in ("INT", "BIGINT", "STRING")],
        [f"max(coalesce(CAST(NULL AS {kind}), i))" for kind in ("INT", "BIGINT", "DOUBLE")],
        [f"sum(CAST('1.5' AS {kind}))" for kind in ("DOUBLE", "FLOAT", "DECIMAL(5, 2)", "DECIMAL(5, 1)", "DECIMAL(6, 1)")],
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


def test_names_have_96_bits() -> None:
    found = needs("sum(i)", where="WHERE j > 5")
    dimensions = {one.name for part in found.parts for one in part.dimensions}
    for name in (*statistics(found), *nodes(found), *dimensions, *(one.slot for one in found.measures)):
        assert re.fullmatch(r"[a-z]+_[0-9a-f]{24}", name), name


def test_null_keys_of_other_types_are_other_keys() -> None:
    apart = [f"coalesce(CAST(NULL AS {kind}), i)" for kind in ("INT", "BIGINT", "DOUBLE")]
    apart += [f"CAST(NULL AS {kind})" for kind in ("INT", "DOUBLE", "DATE")]
    for one, other in combinations(apart, 2):
        assert nodes(needs("count(*)", by=one)) != nodes(needs("count(*)", by=other)), (one, other)


def test_families_whose_parameters_have_other_types_have_another_name() -> None:
    window = needs("count(*)").window
    assert isinstance(window, Sliced)
    kinds = (decimal(3, 1), decimal(4, 1))
    families = [
        Family(
            "node",
            (),
            Call("<", (Slot("d", decimal(9, 2)), Slot("p0", kind)), BOOLEAN),
            (Request("q", window, (Literal(Decimal("1.5"), kind),)),),
        )
        for kind in kinds
    ]
    assert families[0].id != families[1].id


def test_what_means_the_same_has_the_same_name() -> None:
    assert statistics(needs("sum(i + j)")) == statistics(needs("sum(j + i)"))
    assert nodes(needs("count(*)", by="k, i")) == nodes(needs("sum(j)", by="i, k"))
    first, second = (needs("count(*)", where=f"WHERE {text}") for text in ("i > 5 AND j < 3", "3 > j AND 5 < i"))
    assert nodes(first) == nodes(second)


@pytest.mark.parametrize("condition", ["m < {}", "m >= {}", "m = {}", "m IN ({}, 1.00)", "x < {}D", "x = {}D", "x < {}", "x IN ({}D, 1D)", "x <=> {}D"])
def test_there_is_one_zero_to_compare_with(condition: str) -> None:
    """Sets of cuts take the two zeros for one, and files of partial rows know their cuts by text: a history was lost."""
    columns = f"{COLUMNS}, m decimal(9,2)"
    plus, minus = (needs("count(*)", columns=columns, where=f"WHERE {condition.format(zero)}") for zero in ("0.0", "-0.0"))
    assert plus == minus and repr(plus.cuts) == repr(minus.cuts) and nodes(plus) == nodes(minus)
    filtered = [needs(f"sum(i) FILTER (WHERE {condition.format(zero)})", columns=columns) for zero in ("0.0", "-0.0")]
    assert statistics(filtered[0]) == statistics(filtered[1])


def test_the_order_of_least_and_greatest_matters_where_zeros_have_signs() -> None:
    """Of -0.0 and 0.0, which are equal, Spark answers with the first."""
    for function in ("least", "greatest"):
        doubles = [needs("count(*)", by=f"{function}({both})") for both in ("x, -0.0D", "-0.0D, x")]
        whole = [needs("count(*)", by=f"{function}({both})") for both in ("i, 7", "7, i")]
        assert nodes(doubles[0]) != nodes(doubles[1])
        assert nodes(whole[0]) == nodes(whole[1])
