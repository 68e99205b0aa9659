"""A query's bound: slices times groups, counted against what the slicing and the values themselves say."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

import weft
from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import StreamSchema
from weft.algebra.windows import Window
from weft.plan.bound import Bound, bound_of, slices_over
from weft.plan.needs import analyse
from weft.plan.slices import slicing
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_duration, parse_schema

COLUMNS = "ts timestamp, saddr string, proto int, length int, ok boolean, small tinyint, rate double"
SCHEMA = StreamSchema("packets", dict(parse_schema(COLUMNS)), "ts")
MINUTE = "window(ts, '1 minute')"
SECOND = 1_000_000


def bound(sql: str, keep: str = "1 hour", delay: int = 10 * SECOND) -> Bound:
    needs = analyse(compile_query(sql, {"packets": SCHEMA}, AggregateCatalog()), AggregateCatalog())
    return bound_of(needs, None if keep == "forever" else parse_duration(keep), delay)


def by(expression: str, where: str = "true") -> Bound:
    return bound(f"SELECT count(*) AS n FROM packets WHERE {where} GROUP BY {MINUTE}, {expression}")


@pytest.mark.parametrize("length", range(1, 8))
def test_slices_are_the_most_that_any_stretch_of_time_meets(length: int) -> None:
    for slide, span in product(range(1, length + 1), range(1, 15)):
        window = Window(range=timedelta(seconds=length), slide=timedelta(seconds=slide))
        edges = slicing([window])
        assert edges is not None
        # Stretches that begin on an edge, and between two; looked at in steps that miss no slice.
        starts = [start * SECOND // 2 for start in range(2 * slide + 1)]
        met = max(len({edges.floor(start + step * SECOND // 4) for step in range(4 * span)}) for start in starts)
        assert slices_over(window, span * SECOND) == met, (slide, span)


def test_a_bound_counts_what_is_kept_one_range_and_the_watermark() -> None:
    found = bound(f"SELECT sum(length) AS bytes FROM packets GROUP BY {MINUTE}")
    assert (found.slices, found.groups, found.rows, found.unbounded_because) == (60 + 1 + 2, 1, 63, None)
    assert str(found) == "at most 63 slices of 1 group: 63 rows"


@pytest.mark.parametrize(
    ("expression", "where", "groups"),
    [
        ("ok", "true", 3),
        ("ok IS NULL", "true", 2),
        ("proto % 7", "true", 14),
        ("pmod(proto, 7)", "true", 8),
        ("hour(ts)", "true", 25),
        ("small", "true", 257),
        ("ok, proto % 2", "true", 3 * 4),
        ("ok", "length > 100", 3 * 3),
        ("ok", "length > 100 AND length <= 500 AND rate < 0.5", 3 * 4 * 3),
        ("ok", "saddr LIKE '10.%'", 3 * 3),
        ("CASE WHEN length > 9 THEN 'long' ELSE 'short' END", "true", 2),
    ],
)
def test_groups_that_can_be_counted(expression: str, where: str, groups: int) -> None:
    found = by(expression, where)
    assert (found.groups, found.rows, found.different) == (groups, 63 * groups, ())


@pytest.mark.parametrize(
    ("expression", "where", "different"),
    [
        ("saddr", "true", ("saddr",)),
        ("ok, saddr", "proto = 6", ("proto", "saddr")),
        ("rate % 7", "true", ("(rate % 7.0)",)),
        ("length % proto", "true", ("(length % proto)",)),
    ],
)
def test_groups_that_nobody_can_count_are_named(expression: str, where: str, different: tuple[str, ...]) -> None:
    found = by(expression, where)
    assert (found.slices, found.groups, found.rows, len(found.different)) == (63, None, None, len(different))
    assert found.unbounded_because is None
    assert str(found).startswith("at most 63 slices, each with a row for every different (")


def test_distinct_values_are_groups_too() -> None:
    sql = f"SELECT count(DISTINCT saddr) AS n, sum(length) AS bytes FROM packets GROUP BY {MINUTE}"
    assert bound(sql).different == ("saddr",)
    assert bound(sql.replace("saddr", "ok")).groups == 1 + 3


def test_what_has_no_bound_says_why() -> None:
    forever = bound(f"SELECT count(*) AS n FROM packets GROUP BY {MINUTE}", keep="forever")
    assert (forever.slices, forever.rows) == (None, None)
    assert str(forever) == "no bound: its windows are kept for ever"
    totals = bound("SELECT saddr, count(*) AS n FROM packets GROUP BY saddr")
    assert str(totals) == "no bound: totals are kept for every (saddr) there ever is"
    few = bound("SELECT ok, count(*) AS n FROM packets GROUP BY ok", keep="forever")
    assert (few.rows, str(few)) == (3, "at most 3 totals")


def test_a_registered_query_shows_its_bound(tmp_path: Path) -> None:
    with weft.Engine(tmp_path) as engine:
        engine.add_stream("packets", source="rate", schema="ts timestamp, ok boolean", event_time="ts",
                          watermark="10 seconds")
        query = engine.register(f"SELECT ok, count(*) AS n FROM packets GROUP BY {MINUTE}, ok", name="q", keep="1 hour")
        assert query.bound.rows == 189
        assert query.metrics()["bound"] == str(query.bound) == "at most 63 slices of 3 groups: 189 rows"
        assert f"  state: {query.bound}" in query.explain().splitlines()
