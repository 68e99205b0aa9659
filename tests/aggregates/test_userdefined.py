"""Aggregates of the user's own: their conditions hold, their parts are guarded, and they take nobody's name."""

from __future__ import annotations

import pytest

from tests.sql.fakes import STREAMS
from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import MAX_STATISTICS, define_aggregate
from weft.algebra.functions import FORBIDDEN, FUNCTIONS, NONDETERMINISTIC, OPERATORS
from weft.errors import SqlError
from weft.plan.needs import analyse
from weft.sql.bind import compile_query

SHARE = {
    "parameters": "x int, y int",
    "statistics": {"s": "sum(x) FILTER (WHERE x > y)", "n": "count_if(y > 0)"},
    "merge": {"s": "sum", "n": "sum"},
    "result": "s / n",
}
INVERSE = {"parameters": "x int", "statistics": {"s": "sum(1 / x) FILTER (WHERE x > 5)"}, "merge": {"s": "sum"},
           "result": "s"}


def catalog() -> AggregateCatalog:
    found = AggregateCatalog()
    for name, definition in {"share": SHARE, "inverse": INVERSE}.items():
        found = found.plus(define_aggregate(name, definition, found))
    return found


def statistics(select: str, where: str = "") -> set[str]:
    query = compile_query(f"SELECT {select} FROM packets {where}", STREAMS, catalog())
    return {str(one) for part in analyse(query, catalog()).parts for one in part.statistics}


@pytest.mark.parametrize("outer", ["", "proto = 6", "length > port", "proto / port > 1", "proto = 6 OR port = 1"])
def test_the_condition_of_a_statistic_holds_together_with_that_of_the_call(outer: str) -> None:
    both = f"{outer and f'({outer}) AND '}"
    mine = statistics("share(length, port)" + (f" FILTER (WHERE {outer})" if outer else ""))
    written = statistics(f"sum(length) FILTER (WHERE {both}length > port), count(*) FILTER (WHERE {both}port > 0)")
    assert mine == written


def test_a_condition_over_a_constant_that_always_holds_is_none() -> None:
    assert statistics("share(length, 1)") == statistics("sum(length) FILTER (WHERE length > 1), count(*)")


@pytest.mark.parametrize("where", ["", "WHERE length <> 0"])
def test_what_can_fail_is_computed_only_for_rows_that_count(where: str) -> None:
    assert statistics("inverse(length)", where) == statistics("sum(1 / length) FILTER (WHERE length > 5)", where)
    assert "case when" in str(statistics("inverse(length)", where))


@pytest.mark.parametrize("name", sorted({
    *(name for name in FUNCTIONS if name.isidentifier()), *OPERATORS, *NONDETERMINISTIC, *FORBIDDEN, "window",
    "count_if", "percentile_cont", "cast", "try_cast", "extract", "position", "case", "if", "long", "decimal",
}))
def test_no_name_is_taken_that_means_something_in_sql(name: str) -> None:
    with pytest.raises(SqlError) as refused:
        define_aggregate(name, INVERSE, AggregateCatalog())
    assert refused.value.code == "bad-name" and refused.value.hint


def test_a_string_does_not_grow_through_an_aggregate_either() -> None:
    grown = AggregateCatalog().plus(define_aggregate("longest", {
        "parameters": "x string", "statistics": {"s": "max(repeat(x, 100))"}, "merge": {"s": "max"}, "result": "s",
    }, AggregateCatalog()))
    compile_query("SELECT longest(repeat(saddr, 100)) FROM packets", STREAMS, grown)
    with pytest.raises(SqlError) as refused:
        compile_query("SELECT longest(repeat(saddr, 101)) FROM packets", STREAMS, grown)
    assert refused.value.code == "too-large"


def wide(count: int, result: str = "s0") -> AggregateCatalog:
    """An aggregate with so many statistics."""
    statistics = {f"s{n}": f"sum(x + {n})" for n in range(count)}
    definition = {"parameters": "x int", "statistics": statistics, "merge": dict.fromkeys(statistics, "sum"),
                  "result": result}
    return AggregateCatalog().plus(define_aggregate("wide", definition, AggregateCatalog()))


def test_an_aggregate_has_at_most_so_many_statistics() -> None:
    wide(MAX_STATISTICS)
    with pytest.raises(SqlError) as refused:
        wide(MAX_STATISTICS + 1)
    assert refused.value.code == "too-large" and str(MAX_STATISTICS) in refused.value.message and refused.value.hint


def test_a_query_has_at_most_so_many_statistics() -> None:
    known = wide(30)
    for calls, fits in ((20, True), (21, False)):
        sql = "SELECT " + ", ".join(f"wide(length - {100 * n}) AS c{n}" for n in range(calls)) + " FROM packets"
        query = compile_query(sql, STREAMS, known)
        if fits:
            assert len(analyse(query, known).parts[0].statistics) == 601  # and the count of rows
            continue
        with pytest.raises(SqlError) as refused:
            analyse(query, known)
        assert refused.value.code == "too-large" and "630 statistics" in refused.value.message


def test_the_results_of_all_calls_have_a_bound() -> None:
    doubled = "s0"
    for n in range(11):
        doubled = f"nullif({doubled}, {n})"
    known = wide(1, doubled)
    query = compile_query("SELECT " + ", ".join(f"wide(length - {n}) AS c{n}" for n in range(5)) + " FROM packets",
                          STREAMS, known)
    with pytest.raises(SqlError) as refused:
        analyse(query, known)
    assert refused.value.code == "too-large" and "parts" in refused.value.message
