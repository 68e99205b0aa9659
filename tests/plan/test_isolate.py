"""Halving finds exactly the queries that fail, in few trials."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.catalog import AggregateCatalog
from weft.plan.isolate import find_culprits, suspected_columns
from weft.plan.needs import analyse
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema
from weft.sql.query import StreamSchema

SCHEMA = StreamSchema("s", dict(parse_schema("ts timestamp, g int, v int, d int, w string")), "ts")


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


@pytest.mark.parametrize(("sql", "columns"), [
    ("SELECT g, sum(v / d) AS x FROM s GROUP BY g", ("d", "v")),
    ("SELECT sum(v / d) AS x FROM s WHERE w = 'a' GROUP BY g", ("d", "v", "w")),
    ("SELECT cast(w AS int) AS x, max(g) AS m FROM s GROUP BY cast(w AS int)", ("w",)),
    ("SELECT count(*) AS n FROM s WHERE g % d = 1", ("d", "g")),
    ("SELECT sum(v) FILTER (WHERE g / d > 1) AS x FROM s", ("d", "g")),
    ("SELECT max(g) AS m FROM s GROUP BY w", ("g", "w")),
])
def test_a_row_is_told_by_the_columns_that_can_fail(sql: str, columns: tuple[str, ...]) -> None:
    catalog = AggregateCatalog()
    assert suspected_columns(analyse(compile_query(sql, {"s": SCHEMA}, catalog), catalog)) == columns
