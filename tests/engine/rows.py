"""Random rows from a seed: NULLs in every column, NaN, infinities, both zeros, extremes, unicode, skew and disorder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

MOMENT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema([
    ("ts", MOMENT), ("k", pa.string()), ("c", pa.string()), ("i", pa.int32()), ("n", pa.int32()), ("b", pa.int64()),
    ("e", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64()), ("g", pa.float32()),
    ("d", pa.decimal128(10, 2)), ("w", pa.decimal128(20, 4)), ("f", pa.bool_()), ("s", pa.int16()), ("t", pa.int8()),
    ("day", pa.date32()), ("at", MOMENT), ("u", pa.int64())])
DDL = ("ts timestamp, k string, c string, i int, n int, b bigint, e bigint, x double, y double, z double, g float, "
       "d decimal(10,2), w decimal(20,4), f boolean, s smallint, t tinyint, day date, at timestamp, u bigint")

KEYS = ["a", "b", "A", "", "ä", "日本", "😀", "a'b", "{part0}", "z\\w", " a", "%_"]
WEIGHTS = [40, 20, 10, 8, 6, 5, 4, 3, 2, 2, 2, 2]
SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0]
INTS = [-(2**31), 2**31 - 1, 0, -1, 1]
LONGS = [-(2**63), 2**63 - 1, 2**53 + 1, 0, -1]
# The beginnings of streams: an ordinary day, the hour that summer time skips, and three places where arithmetic bends.
BEGINNINGS = ["2026-03-02T10:00:00", "2026-03-29T00:58:00", "1969-12-31T23:58:00", "1970-01-01T00:00:00",
              "2261-12-31T23:57:00"]
NULLS = 0.07


@dataclass(frozen=True)
class Ticks:
    """The rows of a stream, one list a tick, with the delay of its watermark."""

    rows: tuple[tuple[dict[str, Any], ...], ...]
    delay: timedelta

    @property
    def all(self) -> list[dict[str, Any]]:
        return [row for tick in self.rows for row in tick]

    @property
    def watermark(self) -> datetime:
        """Where the watermark stands after the last tick."""
        return max(row["ts"] for row in self.all if row["ts"] is not None) - self.delay


def random_ticks(random: Random, *, ticks: int, size: int, span: timedelta, delay: timedelta, late: float = 0.0,
                 begin: datetime | None = None) -> Ticks:
    """Rows in arrival order, out of order by at most the delay; every `ts` and `u` is unique.

    Of these the share `late` comes later than that, by up to half of the whole span.
    """
    begin = begin or datetime.fromisoformat(random.choice(BEGINNINGS)).replace(tzinfo=UTC)
    arrivals = sorted(random.random() for _ in range(size))
    numbers = random.sample(range(-size, size), size)
    # A tick with dead rows takes a job more, so not every stream has them.
    timeless = random.choice([0.0, 0.0, 0.03])
    moments: set[datetime] = set()
    rows = []
    for number, arrival in zip(numbers, arrivals, strict=True):
        moment = begin + arrival * span - random.choice([0.0, random.random()]) * delay
        if random.random() < late:
            moment -= random.random() * span / 2
        while moment in moments:
            moment += timedelta(microseconds=1)
        moments.add(moment)
        rows.append(_row(random, moment if random.random() >= timeless else None, number, begin))
    edges = [0, *sorted(random.sample(range(1, size), ticks - 1)), size]
    return Ticks(tuple(tuple(rows[a:b]) for a, b in zip(edges, edges[1:], strict=False)), delay)


def _row(random: Random, moment: datetime | None, number: int, begin: datetime) -> dict[str, Any]:
    # Multiples of 1/64: sums of them are exact in any order, so they may be compared with and sorted by.
    exact = random.randint(-4000, 4000) / 64
    row = {
        "ts": moment,
        "k": random.choices(KEYS, WEIGHTS)[0],
        "c": f"c{min(random.randrange(30), random.randrange(30))}",
        "i": min(random.randint(0, 9), random.randint(0, 9)),
        "n": random.choice(INTS) if random.random() < 0.2 else random.randint(-(2**31), 2**31 - 1),
        "b": random.randint(-(10**12), 10**12),
        "e": random.choice(LONGS) if random.random() < 0.4 else random.randint(-(2**63), 2**63 - 1),
        "x": random.choice(SPECIAL) if random.random() < 0.1 else random.randint(-200, 200) / 64,
        "y": exact,
        "z": random.gauss(100.0, 17.0),
        "g": random.randint(-64, 64) / 64,
        "d": Decimal(random.randint(-9999, 9999)).scaleb(-2),
        "w": Decimal(random.randint(-(10**15), 10**15)).scaleb(-4),
        "f": random.random() < 0.7,
        "s": random.choice([-(2**15), 2**15 - 1, *range(-3, 9)]),
        "t": random.choice([-128, 127, *range(-3, 4)]),
        "day": date(2026, 1, 1) + timedelta(days=random.randint(-3, 3)),
        "at": begin + timedelta(minutes=random.randint(-90, 90), microseconds=random.randint(0, 3)),
        "u": number,
    }
    return {name: None if name != "ts" and random.random() < NULLS else value for name, value in row.items()}


def as_table(rows: list[dict[str, Any]] | tuple[dict[str, Any], ...]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)
