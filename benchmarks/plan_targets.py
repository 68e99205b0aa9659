"""What the optimizer must reach: plans against simple policies, predicates by the thousand, ten thousand queries."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.plan_workloads import KINDS, SCHEMA, Workload, query, workloads, write_rows
from benchmarks.plans import MEASURED, compare_policies, run_policy
from weft import Engine
from weft.optimize.planning import make_plan
from weft.plan.facts import Facts
from weft.plan.prices import Costs
from weft.plan.search import Search

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Measure = Callable[..., dict[str, Any]]
PREDICATES = (1, 10, 100, 1_000, 5_000)
ARBITRARY = 10


def plans_against_policies(
    spark: SparkSession, work: Path, repeat: int, measure: Measure, log: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Rows per second of the optimizer's plan over the better of sharing everything and sharing nothing."""
    found, ratios, predictions = [], [], []
    for workload in workloads():
        runs = compare_policies(spark, workload, work, repeat, log)
        speeds = {policy: median(speed for run in mine for speed in run.speeds) for policy, mine in runs.items()}
        best = max(speed for policy, speed in speeds.items() if policy != "auto")
        ratios.append(speeds["auto"] / best)
        factor = median(run.prediction for run in runs["auto"])
        predictions.append(max(factor, 1 / factor))
        last = runs["auto"][-1]
        trees = "1 tree" if last.trees == 1 else f"{last.trees} trees"
        found.append(
            measure(
                f"{workload.name}: rows per second as planned over the better of sharing all and nothing",
                ratios[-1],
                "at least 0.95",
                0.95,
                about=workload.about,
                speeds=speeds,
                queries=len(workload.queries),
                plan=f"{last.nodes} nodes, {last.base} from rows, {trees} of slices",
                prediction=factor,
                price=median(run.price for run in runs["auto"]),
            )
        )
    reached = sum(ratio >= 1.5 for ratio in ratios)
    return [
        *found,
        measure(f"workloads, of {len(ratios)}, on which it is at least 1.5 times as fast", reached, "at least 2", 2),
        measure(
            "prediction of a tick's time over its measurement, worst factor",
            max(predictions),
            "at most 1.5",
            1.5,
            False,
        ),
    ]


def predicates(count: int) -> dict[str, str]:
    """Distinct predicates: ranges on one column, equalities on another, and some arbitrary ones beside them."""
    found = {}
    for place in range(count):
        where = f"amount > {place}" if place % 2 == 0 else f"user = {place}"
        if place % 10 == 9 and place < ARBITRARY * 10:
            where = f"pmod(amount, {place + 7}) = {place % 5} AND shop > 2"
        found[f"p{place}"] = query("", "'10 seconds'", where=f"WHERE {where}")
    return found


def predicate_index(spark: SparkSession, work: Path, repeat: int, measure: Measure) -> list[dict[str, Any]]:
    """Rows per second by how many distinct predicates there are, by turns."""
    folder = work / "predicates"
    shutil.rmtree(folder, ignore_errors=True)
    rows, pace = 500_000, 25_000
    write_rows(folder, rows, pace, 5 + MEASURED)
    speeds: dict[int, list[float]] = {count: [] for count in PREDICATES}
    for _ in range(repeat):
        for count in PREDICATES:
            workload = Workload("predicates", "", rows, pace, predicates(count), eager=False)
            speeds[count] += run_policy(spark, workload, folder, work / "state", "auto").speeds
    medians = {count: median(speeds[count]) for count in PREDICATES}
    return [
        measure(
            "rows per second with 1,000 distinct predicates over with 1",
            medians[1_000] / medians[1],
            "at least 0.5",
            0.5,
            speeds={f"{count:,}": speed for count, speed in medians.items()},
        )
    ]


def many_queries(count: int, seed: int = 5) -> dict[str, str]:
    """Queries with predicates and group-bys of many kinds, over windows of many kinds."""
    choose = random.Random(seed)
    found = {}
    for place in range(count):
        group = ", ".join(sorted(choose.sample(list(KINDS), choose.randint(0, 3))))
        slide = choose.choice((5, 7, 10, 12, 15, 20, 30, 60))
        atoms = [
            f"user = {choose.randint(0, 50_000)}",
            f"amount > {choose.randint(0, 10_000)}",
            f"millis BETWEEN {choose.randint(0, 400)} AND {choose.randint(401, 999)}",
            f"pmod(amount, {choose.randint(2, 9)}) = 1",
        ]
        where = " AND ".join(choose.sample(atoms, choose.randint(0, 2)))
        window = f"'{slide * choose.randint(1, 12)} seconds', '{slide} seconds'"
        found[f"q{place}"] = query(group, window, where=f"WHERE {where}" if where else "")
    return found


def planning(measure: Measure, count: int = 10_000) -> list[dict[str, Any]]:
    """The seconds from registered queries to a plan: both forms of each, the search, and the network."""
    folder = tempfile.mkdtemp(prefix="weft-planning-")
    with Engine(folder) as engine:
        engine.add_stream("events", source="parquet", path=folder, schema=SCHEMA, event_time="ts")
        engine.register_all(many_queries(count))
        queries = engine.registry.queries("events")
        begin = time.monotonic()
        facts = Facts(500_000, 20_000_000, {}, 5)
        search = Search({name: one.choice for name, one in queries.items()}, facts, Costs())
        placements = search.run().placements
        placed = {name: one.elsewhere(placements[name]) for name, one in queries.items()}
        plan = make_plan("events", (0, 0), placed, engine.planner("events").optimizer, facts)
        seconds = time.monotonic() - begin
    shutil.rmtree(folder, ignore_errors=True)
    about = f"{len(search.shapes):,} shapes, {search.tried} candidates, {len(plan.network.nodes):,} nodes"
    return [
        measure(
            f"planning {count:,} queries with predicates and group-bys from nothing, seconds",
            seconds,
            "at most 60",
            60,
            False,
            about=about,
        )
    ]
