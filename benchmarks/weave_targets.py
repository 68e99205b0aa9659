"""The numbers that Weave Share has to reach, each with its target and whether it was reached."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.weave_workloads import ANY_SLIDE, OF_A_DAY, simulated, small_sets
from weft.plan import IncrementalWeave, Operations, Window, exhaustive, weave_share

Log = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """One line of the report; `target` is empty where a number is only told."""

    what: str
    value: str
    target: str = ""
    reached: bool = True


SWITCHES = {
    "naive": {"cost_lookup": False, "edge_bitmap": False, "probing_order": False},
    "cost lookup": {"cost_lookup": True, "edge_bitmap": False, "probing_order": False},
    "and edge bitmap": {"cost_lookup": True, "edge_bitmap": True, "probing_order": False},
    "and probing order": {"cost_lookup": True, "edge_bitmap": True, "probing_order": True},
}


def against_exhaustive(sets: int, log: Log) -> list[Target]:
    """How often the plan is the cheapest there is, and how much dearer at worst: greedy alone, and refined."""
    best: dict[bool, int] = {False: 0, True: 0}
    worst: dict[bool, float] = {False: 0.0, True: 0.0}
    for number, (windows, rate) in enumerate(small_sets(sets), start=1):
        least = exhaustive(windows, rate=rate).cost
        for refine in (False, True):
            cost = weave_share(windows, rate=rate, refine=refine).cost
            best[refine] += cost == least
            worst[refine] = max(worst[refine], float(cost / least) - 1)
        if number % 100 == 0:
            log(f"{number} of {sets} sets: refined is the cheapest in {best[True]}, greedy alone in {best[False]}")
    share = {refine: best[refine] / sets for refine in best}
    return [
        Target(
            f"refined: cheapest plan found, of {sets} sets of 8 windows",
            f"{share[True]:.1%}",
            "at least 95 %",
            share[True] >= 0.95,
        ),
        Target("refined: dearer than the cheapest, at worst", f"{worst[True]:.2%}", "at most 2 %", worst[True] <= 0.02),
        Target(f"greedy alone: cheapest plan found, of {sets}", f"{share[False]:.1%}"),
        Target("greedy alone: dearer than the cheapest, at worst", f"{worst[False]:.2%}"),
    ]


def count_operations(queries: int, log: Log) -> tuple[list[Target], dict[str, int]]:
    """What the speed-ups save, on the workload of Figure 14; the plan is the same with each of them."""
    windows = simulated(queries, skew=0.7, most_overlap=10)
    totals: dict[str, int] = {}
    costs = set()
    for name, switches in SWITCHES.items():
        operations = Operations()
        plan = weave_share(windows, rate=100, operations=operations, merge_twins=False, **switches)
        totals[name] = operations.total
        costs.add(plan.cost)
        log(f"{name}: {operations}")
    assert len(costs) == 1, "the speed-ups must not change the plan"
    fewer = totals["naive"] / totals["and probing order"]
    return [
        Target(
            f"counted operations for {queries} windows, naive over all three speed-ups",
            f"{fewer:,.0f}",
            "at least 1,000",
            fewer >= 1_000,
        )
    ], totals


def planning_time(queries: int, log: Log) -> list[Target]:
    """Planning from nothing, and adding one more, where windows have a common period and where they have none."""
    found = []
    for name, slides in (("slides that divide a day", OF_A_DAY), ("any slides up to 100,000 s", ANY_SLIDE)):
        windows = simulated(queries + 100, slides=slides)
        for rate in (50, 10_000):
            begin = time.process_time()
            weave_share(windows[:queries], rate=rate)
            seconds = time.process_time() - begin
            added = _adding(windows, queries, rate)
            log(f"{name}, rate {rate}: {seconds:.1f} s, one more {median(added):.2f} ms, at most {max(added):.2f} ms")
            found += [
                Target(
                    f"planning {queries:,} windows, {name}, {rate:,} rows/s, seconds",
                    f"{seconds:.1f}",
                    "at most 10",
                    seconds <= 10,
                ),
                Target(
                    f"adding one to {queries:,} windows, {name}, {rate:,} rows/s, ms, the slowest of 100",
                    f"{max(added):.1f}",
                    "at most 20",
                    max(added) <= 20,
                ),
            ]
    return found


def _adding(windows: list[Window], queries: int, rate: int) -> list[float]:
    """Milliseconds of the processor for each of the last windows."""
    weave = IncrementalWeave(windows[:queries], rate=rate, automatic=False)
    found = []
    for window in windows[queries:]:
        begin = time.process_time()
        weave.add(window)
        found.append((time.process_time() - begin) * 1000)
    return found


def incremental(queries: int, log: Log) -> list[Target]:
    """Windows one by one at a tolerance of 20 %, against a plan made from nothing, every 50 windows."""
    windows = simulated(queries)
    weave = IncrementalWeave(rate=50, tolerance=0.2)
    worse = []
    for count, window in enumerate(windows, start=1):
        weave.add(window)
        if count % 50 == 0:
            worse.append(float(weave.plan.cost / weave_share(windows[:count], rate=50).cost) - 1)
        if count % 250 == 0:
            log(f"{count} windows: {weave.reconstructions} reconstructions, at worst {max(worse):.1%} dearer")
    return [
        Target(
            f"{queries:,} windows one by one: dearer than made from nothing, at worst",
            f"{max(worse):.1%}",
            "at most 20 %",
            max(worse) <= 0.2,
        ),
        Target(
            f"{queries:,} windows one by one: reconstructions",
            str(weave.reconstructions),
            f"fewer than {queries // 10}",
            weave.reconstructions < queries // 10,
        ),
    ]
