"""Workloads of queries that have little to share: people's alerts, group-bys of their own, lists of ORs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.diverse_mixed import mixed_alerts, top_lists
from benchmarks.diverse_queries import DAY, HOUR, MINUTE, SECOND, Asked
from benchmarks.diverse_rows import (
    COLUMNS,
    KINDS,
    MIXED_SCHEMA,
    SCHEMA,
    WIDE,
    WIDE_SCHEMA,
    Columns,
    mixed,
    plain,
    wide,
)

Queries = dict[str, Asked]


@dataclass(frozen=True)
class Diverse:
    """Queries by name over ticks of so many rows, in so many files, that come at a pace."""

    name: str
    about: str
    make: Callable[[], Queries]
    rows: int
    # Microseconds from a row to the next.
    pace: float
    columns: Columns = plain
    schema: str = SCHEMA
    files: int = 1
    # The only policy that the workload is about, if it is about one.
    sharing: str | None = None
    keep: str | None = None


def one_alert(choose: random.Random) -> str:
    """Three conditions on three columns, which a row in some hundreds meets."""
    one, other = choose.sample(range(COLUMNS), 2)
    least = choose.randrange(KINDS[other] // 3, KINDS[other] - 1)
    return f"c{one} = {choose.randrange(KINDS[one])} AND c{other} > {least} AND v > {choose.randrange(700, 990)}"


def alerts(count: int, seed: int = 11) -> Queries:
    """Alerts of three conditions, all of them different."""
    choose, texts = random.Random(seed), {}
    while len(texts) < count:
        texts.setdefault(one_alert(choose))
    return {f"alert_{place}": Asked(where=text) for place, text in enumerate(texts)}


def groupings(count: int = 150, seed: int = 12) -> Queries:
    """Sets of one to three of twelve columns, all of them different."""
    choose, sets = random.Random(seed), {}
    while len(sets) < count:
        sets.setdefault(tuple(sorted(choose.sample(range(COLUMNS), choose.randint(1, 3)))))
    return {
        f"group_{place}": Asked(keys=tuple(f"c{column}" for column in columns)) for place, columns in enumerate(sets)
    }


def ors(count: int = 300, seed: int = 13) -> Queries:
    """One query of very many conditions, any of which is enough."""
    choose = random.Random(seed)
    return {"any_of_them": Asked(where=" OR ".join(one_alert(choose) for _ in range(count)))}


def sparse(count: int = 33, seed: int = 14) -> Queries:
    """Random queries over rows that come every few minutes, with windows up to a month."""
    choose = random.Random(seed)
    windows = [(5 * HOUR, 0), (12 * HOUR, 6 * HOUR), (DAY, 0), (DAY, 6 * HOUR), (3 * DAY, DAY), (7 * DAY, DAY),
               (14 * DAY, 7 * DAY), (30 * DAY, 5 * DAY)]
    groups = [(), ("c0",), ("c1",), ("c2", "c3"), ("c4",), ("c5", "c6"), ("c0", "c7"), ("c1", "c2", "c4")]
    filters = ["", "c0 = 3", "c1 > 4", "v > 500", "c2 IN (1, 2, 5)", "c3 = 1 OR c4 = 2", "v BETWEEN 100 AND 300",
               "c5 <> 0 AND v < 800", "c6 > 7 AND c7 < 5", "NOT c0 = 1", "c1 + c2 > 12"]
    measures = ["count(*) AS n", "sum(v) AS s", "avg(v) AS a", "min(v) AS low", "max(v) AS high",
                "count(DISTINCT c7) AS kinds", "percentile(v, 0.9) AS p", "median(v) AS m", "stddev_pop(v) AS d"]
    found = {}
    for place in range(count):
        length, slide = windows[place % len(windows)]
        chosen = ", ".join(choose.sample(measures, choose.randint(1, 3)))
        found[f"sparse_{place}"] = Asked(chosen, choose.choice(filters), choose.choice(groups), length, slide)
    return found


def many_columns(count: int = 100, sums: int = 200, seed: int = 15) -> Queries:
    """Conditions on a column each, and a query with very many sums."""
    choose = random.Random(seed)
    columns = choose.sample(range(WIDE), count)
    found = {
        f"column_{column}": Asked("count(*) AS n", f"x{column} > {choose.randrange(300, 800)}") for column in columns
    }
    return {**found, "sums": Asked(", ".join(f"sum(x{place}) AS s{place}" for place in range(sums)))}


def few(count: int = 5) -> Queries:
    """Some small queries, as anybody has them."""
    return {f"few_{place}": Asked(keys=(f"c{place}",), where=f"v > {place * 100}") for place in range(count)}


def instants(count: int = 238, seed: int = 16) -> Queries:
    """Diverse queries over windows from a microsecond to a day."""
    choose = random.Random(seed)
    lengths = [1, 10, 1_000, 100_000, SECOND, 7 * SECOND, 10 * SECOND, MINUTE, 90 * SECOND, 5 * MINUTE, HOUR,
               6 * HOUR, DAY]
    measures = ["count(*) AS n", "sum(v) AS s", "avg(v) AS a", "min(v) AS low", "max(v) AS high", "sum(c3) AS c"]
    found = {}
    for place in range(count):
        length = lengths[place % len(lengths)]
        keys = tuple(f"c{column}" for column in sorted(choose.sample(range(COLUMNS), choose.randint(0, 2))))
        where = choose.choice(("", one_alert(choose), f"v > {choose.randrange(1_000)}", "c0 = 1 OR c5 > 6"))
        slide = length // choose.choice((1, 1, 2, 5)) if length > 1 else 0
        chosen = ", ".join(choose.sample(measures, choose.randint(1, 3)))
        found[f"instant_{place}"] = Asked(chosen, where, keys, length, slide)
    return found


def workloads() -> list[Diverse]:
    """The rows of the table, and two more."""
    few_hundred = partial(alerts, 200)
    second = 2_000
    return [
        Diverse("alerts", "200 alerts of three conditions over 12 columns", few_hundred, 20_000, second),
        Diverse("alerts-nothing", "the same, nothing shared", few_hundred, 20_000, second, sharing="nothing"),
        Diverse("groupings", "150 different group-by sets of 12 columns", groupings, 20_000, second),
        Diverse("ors", "one query of 300 OR-ed conditions", ors, 50_000, second / 2),
        Diverse("sparse", "33 random queries, windows from 5 hours to 30 days", sparse, 2_000, 170 * SECOND,
                keep="90 days"),
        Diverse("wide", "300 columns, 100 conditions on one each, 200 sums", many_columns, 10, 4 * SECOND, wide,
                WIDE_SCHEMA),
        Diverse("files", "2,000 files of one row", few, 2_000, 20_000, files=2_000),
        Diverse("instants", "238 diverse queries, windows from 1 microsecond to a day", instants, 150, 4 * SECOND),
        Diverse("mixed", "500 mixed alerts and group-bys with texts, doubles and NULLs", mixed_alerts, 20_000, second,
                mixed, MIXED_SCHEMA),
        Diverse("topk", "100 top lists by different keys, with HAVING", top_lists, 20_000, second),
    ]
