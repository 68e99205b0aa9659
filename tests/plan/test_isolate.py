"""Halving finds exactly the queries that fail, in few trials."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.schema import FeedSchema
from weft.plan.isolate import failing_alike, find_culprits, suspected_columns
from weft.plan.needs import analyse
from weft.plan.placement import Placement
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

FORMS = (Placement(), Placement(matches=True), Placement(truths=True))
SCHEMA = FeedSchema("s", dict(parse_schema("ts timestamp, g int, v int, d int, w string")), "ts")


@given(st.integers(0, 200), st.sets(st.integers(0, 199), max_size=5))
def test_all_culprits_are_found_and_nobody_else(count: int, guilty: set[int]) -> None:
    names = [f"q{number}" for number in range(count)]
    bad = {f"q{number}": f"reason {number}" for number in guilty if number < count}
    trials = 0

    def trial(some: Sequence[str]) -> str:
        nonlocal trials
        trials += 1
        return next((bad[name] for name in some if name in bad), "")

    assert find_culprits(names, trial) == bad
    assert trials <= 1 + 2 * len(bad) * (count.bit_length() + 1)


@pytest.mark.parametrize("form", FORMS)
def test_queries_that_compare_one_expression_with_many_limits_fail_alike(form: Placement) -> None:
    catalog = AggregateCatalog()

    def alike(*texts: str) -> list[set[int]]:
        needs = {f"{place:04}": analyse(compile_query(sql, {"s": SCHEMA}, catalog), catalog, form)
                 for place, sql in enumerate(texts)}
        return [{int(name) for name in names} for names in failing_alike(needs).values()]

    def count(where: str, window: str = "10 seconds") -> str:
        return f"SELECT g, count(*) AS n FROM s WHERE {where} GROUP BY window(ts, '{window}'), g"

    assert alike(*(count(f"v / d > {limit}") for limit in range(500))) == [set(range(500))]
    apart = [count("v / d > 1"), count("v / d > 1", "20 seconds"), count("v / d < 1"), count("v / (d - 1) > 1"),
             count("v > 1 OR w = 'a'"), count("v / d > 1 AND g = 1"), count("v / d > 1 AND g = 2"), count("d <> 0 AND v / d > 1"),
             "SELECT sum(v) AS n FROM s WHERE v / d > 1 GROUP BY window(ts, '10 seconds'), g"]
    assert alike(*apart) == [{place} for place in range(len(apart))]


@pytest.mark.parametrize(("sql", "columns"), [
    ("SELECT g, sum(v / d) AS x FROM s GROUP BY g", ("d", "v")),
    ("SELECT sum(v / d) AS x FROM s WHERE w = 'a' GROUP BY g", ("d", "v", "w")),
    ("SELECT cast(w AS int) AS x, max(g) AS m FROM s GROUP BY cast(w AS int)", ("w",)),
    ("SELECT count(*) AS n FROM s WHERE g % d = 1", ("d", "g")),
    ("SELECT sum(v) FILTER (WHERE g / d > 1) AS x FROM s", ("d", "g")),
    ("SELECT max(g) AS m FROM s GROUP BY w", ("g", "w")),
])
@pytest.mark.parametrize("form", FORMS)
def test_a_row_is_told_by_the_columns_that_can_fail(sql: str, columns: tuple[str, ...], form: Placement) -> None:
    catalog = AggregateCatalog()
    assert suspected_columns(analyse(compile_query(sql, {"s": SCHEMA}, catalog), catalog, form)) == columns
