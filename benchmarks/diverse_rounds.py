"""A workload in rounds: Weft under each policy, each query alone, and Spark's floor, by turns over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.diverse_alone import Alone
from benchmarks.diverse_rows import tables, write_ticks
from benchmarks.diverse_runs import Ticks, Way, floor, nothing, read, run_ticks
from benchmarks.diverse_workloads import Diverse
from benchmarks.measured import console, measure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A policy that was so many times slower than another in the first round is not the best in any round.
HOPELESS = 3.0
# Spark's floors by name: what a batch does, and whether Spark notes its progress as it does by itself.
FLOORS = {"nothing": (nothing, False), "nothing, as Spark comes": (nothing, True), "reading": (read, False)}


@dataclass(frozen=True)
class Effort:
    """How many ticks do not count, how many do, how many rounds there are, and the seconds that a run may take."""

    warm_up: int = 5
    ticks: int = 6
    rounds: int = 3
    budget: float = 300.0

    @property
    def count(self) -> int:
        return self.warm_up + self.ticks


@dataclass
class Found:
    """What all rounds of a workload showed, by side."""

    workload: Diverse
    runs: dict[str, list[Ticks]] = field(default_factory=dict)
    alone: list[float] = field(default_factory=list)
    loading: list[float] = field(default_factory=list)
    floors: dict[str, list[float]] = field(default_factory=dict)

    def wall(self, policy: str) -> float:
        """The warm tick."""
        return median(run.wall for run in self.runs[policy])

    @property
    def floor(self) -> float:
        """Spark's empty tick over the same files."""
        return median(self.floors["nothing"])

    @property
    def alone_seconds(self) -> float:
        """All queries, each by itself, over the rows of a tick; reading very many files is part of the work."""
        return median(self.alone) + (median(self.loading) if self.workload.files > 1 else 0.0)

    def ratio(self, seconds: float) -> float:
        """What a tick takes over the floor, over what the queries take alone."""
        return (seconds - self.floor) / self.alone_seconds

    def goes_on(self, policy: str) -> bool:
        """Whether a policy is worth another round; what Weft plans itself always is."""
        if policy == "auto" or policy not in self.runs:
            return True
        return self.wall(policy) <= HOPELESS * min(self.wall(other) for other in self.runs)


def measure_workload(
    spark: SparkSession, workload: Diverse, work: Path, policies: list[str], effort: Effort
) -> list[dict[str, Any]]:
    """Lines of the table for one workload: against each alone, and its plan against the two simple policies."""
    found = rounds(spark, workload, work, policies, effort)
    own = workload.sharing or "auto"
    if own not in found.runs:
        return []
    walls = {policy: found.wall(policy) for policy in found.runs}
    last = found.runs[own][-1]
    against_alone = measure(
        f"{workload.name}: warm tick over each alone, without Spark's floor",
        found.ratio(found.wall(own)),
        "at most 2",
        2.0,
        False,
        about=workload.about,
        queries=len(workload.make()),
        rows=workload.rows,
        wall=found.wall(own),
        alone=found.alone_seconds,
        floors={name: median(seconds) for name, seconds in found.floors.items()},
        stages=last.stages,
        partial_rows=last.middle("partial_rows"),
        nodes=last.middle("nodes"),
        walls=walls,
        prediction=median(run.prediction for run in found.runs[own]),
        price=median(run.price for run in found.runs[own]),
        misjudged=median(run.misjudged for run in found.runs[own]),
    )
    return [against_alone, *_against_policies(workload, own, walls)]


def _against_policies(workload: Diverse, own: str, walls: dict[str, float]) -> Iterator[dict[str, Any]]:
    simple = [wall for policy, wall in walls.items() if policy != "auto"]
    if own == "auto" and simple:
        yield measure(
            f"{workload.name}: speed as planned over the better of sharing all and nothing",
            min(simple) / walls["auto"],
            "at least 0.95",
            0.95,
        )


def worst_prediction(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far off the prediction of a tick is on the workload where it is off most."""
    factors = {one["what"].split(":")[0]: one["misjudged"] for one in results if "misjudged" in one}
    if not factors:
        return []
    worst = max(factors, key=lambda name: factors[name])
    what = f"prediction of a tick's time over its measurement, worst factor ({worst})"
    return [measure(what, factors[worst], "at most 1.5", 1.5, False)]


def rounds(spark: SparkSession, workload: Diverse, work: Path, policies: list[str], effort: Effort) -> Found:
    """Run all sides by turns; the answers of the first round are checked."""
    found = Found(workload)
    each = tables(workload.columns, workload.rows, workload.pace, effort.count)
    files = write_ticks(work / "rows", each, workload.files)
    # Java compiles what it runs often: whoever runs first would be slower than what follows.
    few = Way(workload.sharing or "auto", most=effort.warm_up, budget=effort.budget / 5)
    run_ticks(spark, workload, work / "rows", work / "state", few)
    for turn in range(effort.rounds):
        _run_alone(found, files[effort.warm_up :])
        for name, (function, plain) in FLOORS.items():
            seconds = floor(spark, workload, work / "rows", work / "floor", function, plain=plain)
            found.floors.setdefault(name, []).append(seconds)
        first = turn % len(policies)
        for policy in filter(found.goes_on, policies[first:] + policies[:first]):
            way = Way(policy, effort.warm_up, effort.budget)
            run = run_ticks(spark, workload, work / "rows", work / "state", way, None if turn else files)
            found.runs.setdefault(policy, []).append(run)
            say(found, policy, run)
    return found


def _run_alone(found: Found, files: list[list[Path]]) -> None:
    """Every query by itself over every tick that counts; the first answers of a new database do not count."""
    queries = found.workload.make()
    with Alone() as alone:
        for place, paths in enumerate([files[0], *files]):
            loading, seconds = alone.load(paths), alone.seconds(queries)
            if place:
                found.loading.append(loading)
                found.alone.append(seconds)


def say(found: Found, policy: str, run: Ticks) -> None:
    """One run, in some lines."""
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.stages.items())
    floors = ", ".join(f"{name} {median(seconds):.2f}" for name, seconds in found.floors.items())
    checked = f", {run.compared} answers as DuckDB's" if run.compared else ""
    walls = " ".join(f"{wall:.2f}" for wall in run.walls)
    console.log(
        f"{found.workload.name}, {policy}: warm tick {run.wall:.2f} s ({stages})\n"
        f"  {run.middle('partial_rows'):,.0f} partial rows, {run.middle('nodes'):,.0f} nodes, "
        f"{run.middle('jobs'):.0f} jobs{checked}; ticks {walls}\n"
        f"  each alone {found.alone_seconds:.3f} s, loading {median(found.loading):.3f} s; floor: {floors}\n"
        f"  ratio {found.ratio(run.wall):.2f}, predicted {run.prediction:.2f} of the measured time, "
        f"{run.price:.2f} by prices alone"
    )
