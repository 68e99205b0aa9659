"""Workloads on which sharing everything, sharing nothing, or something in between is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = (
    "ts timestamp, country int, device int, os int, plan int, status int, region int, shop int, channel int, "
    "account int, user int, session bigint, amount int, millis double"
)
KINDS = {"country": 8, "device": 4, "os": 5, "plan": 3, "status": 4, "region": 6, "shop": 9, "channel": 3}
ACCOUNTS, USERS = 5_000, 50_000
START = 1_700_000_000_000_000


@dataclass(frozen=True)
class Workload:
    """Queries by name over rows that come at a pace, so many in a tick."""

    name: str
    about: str
    rows: int
    rows_per_second: int
    queries: dict[str, str]
    eager: bool


def write_rows(folder: Path, rows: int, rows_per_second: int, ticks: int, seed: int = 3) -> None:
    """One file a tick, in event-time order."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    for tick in range(ticks):
        moments = START + (np.arange(tick * rows, (tick + 1) * rows) * 1_000_000) // rows_per_second
        table = pa.table(
            {
                "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
                **{name: random.integers(0, kinds, rows).astype(np.int32) for name, kinds in KINDS.items()},
                "account": random.integers(0, ACCOUNTS, rows).astype(np.int32),
                "user": random.integers(0, USERS, rows).astype(np.int32),
                "session": random.integers(0, 1 << 40, rows),
                "amount": random.integers(1, 10_000, rows).astype(np.int32),
                "millis": random.random(rows) * 1_000,
            }
        )
        pq.write_table(table, folder / f"tick-{tick:04}.parquet")


def query(group: str, window: str, what: str = "count(*) AS n, sum(amount) AS t", where: str = "") -> str:
    """One query over the stream `events`."""
    by = ", ".join(filter(None, (f"window(ts, {window})", group)))
    return f"SELECT {', '.join(filter(None, (group, what)))} FROM events {where} GROUP BY {by}"


def small_groups() -> dict[str, str]:
    """Every pair of eight columns with few values: 28 group-bys of which none holds another."""
    names = list(KINDS)
    pairs = [(one, two) for place, one in enumerate(names) for two in names[place + 1 :]]
    return {f"pair_{place}": query(", ".join(pair), "'10 seconds'") for place, pair in enumerate(pairs)}


def four_rhythms() -> dict[str, str]:
    """Long windows of four families whose edges do not fit each other, by account."""
    windows = [f"'{step * times} seconds', '{step} seconds'" for step in (7, 9, 10, 11) for times in (8, 12, 16)]
    measures = ("count(*) AS n", "sum(amount) AS t")
    return {
        f"rhythm_{place}": query("account", window, measure)
        for place, (window, measure) in enumerate((window, measure) for window in windows for measure in measures)
    }


def rare_predicates() -> dict[str, str]:
    """Few queries, each about one user, one session and one amount: values that nobody else asks for."""
    return {
        f"rare_{place}": query(
            "status",
            "'10 seconds'",
            where=f"WHERE user = {place * 17} AND session > {place << 36} AND amount <> {place}",
        )
        for place in range(12)
    }


def many_predicates() -> dict[str, str]:
    """Two thousand thresholds on one column and as many single users."""
    window, numbers = "'10 seconds'", range(2_000)
    thresholds = {f"over_{place}": query("", window, where=f"WHERE amount > {place * 5}") for place in numbers}
    users = {f"user_{place}": query("", window, where=f"WHERE user = {place * 25}") for place in numbers}
    return thresholds | users


def few_queries() -> dict[str, str]:
    """Four queries that have little to share."""
    return {
        "by_user": query("user", "'60 seconds', '20 seconds'"),
        "by_country": query("country", "'10 seconds'"),
        "errors": query("region", "'30 seconds'", where="WHERE status = 3"),
        "slow": query("", "'20 seconds'", "max(millis) AS m"),
    }


def mixed() -> dict[str, str]:
    """Some of everything."""
    parts = (small_groups(), four_rhythms(), rare_predicates(), few_queries())
    return {name: sql for part in parts for name, sql in part.items()}


def workloads() -> list[Workload]:
    """All of them."""
    make: list[tuple[str, Callable[[], dict[str, str]], int, int, bool]] = [
        ("small groups, high rate", small_groups, 500_000, 25_000, False),
        ("four rhythms, many windows, low rate", four_rhythms, 200_000, 5_000, True),
        ("rare predicates, high rate", rare_predicates, 500_000, 25_000, True),
        ("many predicates", many_predicates, 500_000, 25_000, True),
        ("few queries", few_queries, 500_000, 25_000, True),
        ("mixed, low rate", mixed, 200_000, 5_000, True),
    ]
    return [
        Workload(name, (queries.__doc__ or "").rstrip("."), rows, pace, queries(), eager)
        for name, queries, rows, pace, eager in make
    ]
