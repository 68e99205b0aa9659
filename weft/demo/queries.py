"""A thousand different queries on the packets, from a seed; each can be asked of plain Spark too, window by window."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from weft.demo.packets import ADDRESSES, PORTS, PROTOCOLS, START

GROUPS = ("saddr", "daddr", "proto", "port", "proto, port", "saddr, proto")
SLIDES = (5, 10, 15, 20, 30)
AGGREGATES = ("sum(length) AS bytes", "count(*) AS packets", "avg(length) AS mean", "min(length) AS shortest",
              "max(length) AS longest", "stddev(length) AS spread", "count_if(length > 1000) AS large",
              "sum(length) FILTER (WHERE proto = 17) AS udp_bytes")
LONGEST = 60
THRESHOLDS = (100, 250, 500, 750, 1000, 1250)
_SECOND = 1_000_000


@dataclass(frozen=True, kw_only=True)
class DemoQuery:
    """A query in parts; its window's range and slide in seconds, both zero for a query without a window."""

    name: str
    select: str
    groups: str = ""
    where: str = ""
    having: str = ""
    tail: str = ""
    seconds: int = 0
    slide: int = 0

    @property
    def sql(self) -> str:
        """The text that is registered."""
        return self._text("packets", self.select, self.having)

    def batch_sql(self, view: str, end: int | None) -> str:
        """The same question to plain Spark: its own window function over the rows in a view, for a single window."""
        if end is None:
            return self._text(view, self.select, self.having)
        window = f"window.end = timestamp_micros({end})"
        return self._text(view, self.select, f"({self.having}) AND {window}" if self.having else window)

    def _text(self, source: str, select: str, having: str) -> str:
        columns = f"{self.groups}, {select}" if self.groups else select
        window = f"window(ts, '{self.seconds} seconds', '{self.slide} seconds')" if self.slide else ""
        by = ", ".join(part for part in (window, self.groups) if part)
        return " ".join(part for part in (
            f"SELECT {columns} FROM {source}", f"WHERE {self.where}" if self.where else "",
            f"GROUP BY {by}" if by else "", f"HAVING {having}" if having else "", self.tail) if part)

    def ends(self, until: int) -> range:
        """The ends of its windows that hold packets and are closed at `until`, in microseconds."""
        slide = self.slide * _SECOND
        return range(START // slide * slide + slide, until + 1, slide) if slide else range(0)

    def last_ends(self, moments: np.ndarray) -> np.ndarray:
        """The end of the last window that each moment belongs to."""
        return moments // (self.slide * _SECOND) * (self.slide * _SECOND) + self.seconds * _SECOND


FEATURED = (
    DemoQuery(name="top_talkers", select="sum(length) AS bytes, count(*) AS packets", groups="saddr",
              tail="ORDER BY bytes DESC, saddr LIMIT 3", seconds=60, slide=10),
    DemoQuery(name="busy_ports", select="count(*) AS packets, avg(length) AS mean", groups="port",
              having="count(*) > 100", tail="ORDER BY packets DESC, port LIMIT 3", seconds=30, slide=5),
    DemoQuery(name="sizes", select="percentile(length, 0.5) AS half, percentile(length, 0.99) AS most", groups="proto",
              tail="ORDER BY proto LIMIT 3", seconds=20, slide=20),
    DemoQuery(name="reached", select="count(DISTINCT daddr) AS addresses", where="proto = 6", seconds=30, slide=10),
)


def make_queries(*, count: int, seed: int) -> list[DemoQuery]:
    """The featured queries and as many others as it takes."""
    random = Random(seed)
    kinds = ((_dashboard, 46), (_entity, 30), (_large, 12), (_alert, 6), (_sizes, 3), (_distinct, 2), (_totals, 1))
    makers, weights = zip(*kinds, strict=True)
    chosen = random.choices(makers, weights, k=max(0, count - len(FEATURED)))
    return [*FEATURED, *(make(f"q{index:05}", random) for index, make in enumerate(chosen))][:count]


def _window(random: Random) -> dict[str, Any]:
    slide = random.choice(SLIDES)
    return {"slide": slide, "seconds": slide * random.randint(1, min(6, LONGEST // slide))}


def _select(random: Random) -> str:
    return ", ".join(random.sample(AGGREGATES, random.randint(1, 3)))


def _dashboard(name: str, random: Random) -> DemoQuery:
    """A panel: numbers for every address, port or protocol."""
    where = random.choice(["", f"proto = {random.choice(list(PROTOCOLS))}"])
    return DemoQuery(name=name, select=_select(random), groups=random.choice(GROUPS), where=where, **_window(random))


def _entity(name: str, random: Random) -> DemoQuery:
    """An address or port that somebody watches."""
    rank = random.randrange(ADDRESSES)
    host = f"{rank // 50}.{rank % 50 + 1}"
    where = random.choice([f"saddr = '10.0.{host}'", f"daddr = '10.1.{host}'", f"port = {random.choice(PORTS)}"])
    return DemoQuery(name=name, select=_select(random), where=where, **_window(random))


def _large(name: str, random: Random) -> DemoQuery:
    """Only packets over a length."""
    return DemoQuery(name=name, select=_select(random), groups=random.choice(["saddr", "port", "proto"]),
                     where=f"length > {random.choice(THRESHOLDS)}", **_window(random))


def _alert(name: str, random: Random) -> DemoQuery:
    """Who is over a limit."""
    groups = random.choice(["saddr", "daddr", "port"])
    return DemoQuery(name=name, select="count(*) AS packets, sum(length) AS bytes", groups=groups,
                     having=f"count(*) > {random.choice([50, 200, 1000])}",
                     tail=f"ORDER BY bytes DESC, {groups} LIMIT 10", **_window(random))


def _sizes(name: str, random: Random) -> DemoQuery:
    """The spread of packet lengths, exactly."""
    share = random.choice([0.1, 0.5, 0.9, 0.95, 0.99])
    return DemoQuery(name=name, select=f"percentile(length, {share}) AS length, median(length) AS half", groups="proto",
                     **_window(random))


def _distinct(name: str, random: Random) -> DemoQuery:
    """How many addresses were reached, exactly."""
    return DemoQuery(name=name, select="count(DISTINCT daddr) AS addresses", groups=random.choice(["", "proto"]),
                     **_window(random))


def _totals(name: str, random: Random) -> DemoQuery:
    """A running total over all that has arrived."""
    return DemoQuery(name=name, select=_select(random), groups=random.choice(["saddr", "port", "proto"]))
