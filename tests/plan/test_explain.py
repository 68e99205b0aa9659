"""What explain says of conditions and expressions is in the words of whoever wrote them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.schema import FeedSchema
from weft.plan.bound import bound_of
from weft.plan.explain import explain_network, explain_query
from weft.plan.needs import Needs, analyse
from weft.plan.network import build_network
from weft.plan.proposal import explain_proposal
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

STREAM = FeedSchema("s", dict(parse_schema("ts timestamp, k string, i int, b bigint, temp double, m decimal(9,2), day date")), "ts")


def needs(select: str, where: str = "") -> Needs:
    text = f"SELECT {select} AS a FROM s {where} GROUP BY window(ts, '1 minute')"
    return analyse(compile_query(text, {"s": STREAM}, AggregateCatalog()), AggregateCatalog())


@pytest.mark.parametrize("condition", ["temp > 30", "temp <= 30", "temp >= 30.5", "temp = 30", "i > 5", "b <> 7", "m <= 5.25", "day >= DATE '2026-01-31'",
                                       "ts < TIMESTAMP '2026-01-31 12:00:00'", "k IN ('a', 'b')", "k LIKE 'a%' AND temp > 30"])
def test_a_condition_is_told_as_it_was_written(condition: str) -> None:
    """The thresholds are cuts between cells, of which the one above 30 is 30.000000000000004: nobody wrote that."""
    query = needs("count(*)", f"WHERE {condition}")
    said = explain_query("q", query, build_network("s", {"q": query}), None, bound_of(query, timedelta(hours=1), 0))
    parts = set(condition.split(" AND "))
    assert parts == set(next(line for line in said.splitlines() if "keeps rows with" in line).partition("with ")[2].split(" AND "))
    assert not any(word in said for word in ("double '", "unix_micros", "datediff", "$", "timestamp '2"))


def test_statistics_and_nodes_are_told_in_words_of_sql() -> None:
    before, after = needs("count(*)"), needs("sum(b) FILTER (WHERE temp > 30)")
    alone, both = build_network("s", {"a": before}), build_network("s", {"a": before, "b": after})
    assert "adds sum(b) FILTER (WHERE temp > 30)" in explain_proposal(after, alone, both, None, bound_of(after, None, 0))
    assert "statistics count(*), sum(b) FILTER (WHERE temp > 30)" in explain_network(both)
    timed = needs("max_by(k, ts)", "WHERE ts < TIMESTAMP '2026-01-31 12:00:00'")
    said = explain_network(build_network("s", {"t": timed}))
    assert "cells(ts): 1 cut" in said and "node (cells(ts)) from rows" in said and "max_by(k, ts)" in said
