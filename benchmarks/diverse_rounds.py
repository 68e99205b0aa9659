"""A workload in rounds: Weft under each policy, each query alone, and Spark's floor, by turns over the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.diverse_alone import Alone
from benchmarks.diverse_rows import tables, write_ticks
from benchmarks.diverse_runs import Ticks, Way, floor, read, run_ticks
from benchmarks.diverse_workloads import Diverse
from benchmarks.measured import console, measure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Effort:
    """How many ticks do not count, how many do, how many rounds there are, and the seconds that a run may take."""

    warm_up: int = 5
    ticks: int = 6
    rounds: int = 3
    budget: float = 600.0


@dataclass
class Found:
    """What all rounds of a workload showed, by side."""

    workload: Diverse
    runs: dict[str, list[Ticks]] = field(default_factory=dict)
    alone: list[float] = field(default_factory=list)
    loading: list[float] = field(default_factory=list)
    floors: dict[str, list[float]] = field(default_factory=dict)

    def wall(self, policy: str) -> float:
        return median(run.wall for run in self.runs[policy])

    @property
    def floor(self) -> float:
        """Where a tick has very many files, Spark's floor is to read them."""
        return median(self.floors["read" if self.workload.files > 1 else "nothing"])

    @property
    def alone_seconds(self) -> float:
        """All queries, each by itself, over the rows of a tick."""
        return median(self.alone)

    def ratio(self, policy: str) -> float:
        """What Weft takes over the floor, over what the queries take alone."""
        return (self.wall(policy) - self.floor) / self.alone_seconds


def measure_workload(
    spark: SparkSession, workload: Diverse, work: Path, policies: list[str], effort: Effort
) -> list[dict[str, Any]]:
    """Lines of the table for one workload."""
    found = rounds(spark, workload, work, policies, effort)
    policy = workload.sharing or "auto"
    if policy not in found.runs:
        return []
    return [
        measure(
            f"{workload.name}: warm tick over each alone, without Spark's floor",
            found.ratio(policy),
            "at most 2",
            2.0,
            False,
            about=workload.about,
        )
    ]


def rounds(spark: SparkSession, workload: Diverse, work: Path, policies: list[str], effort: Effort) -> Found:
    """Run all sides by turns."""
    found = Found(workload)
    queries = workload.make()
    count = effort.warm_up + effort.ticks
    files = write_ticks(work / "rows", tables(workload.columns, workload.rows, workload.pace, count), workload.files)
    for turn in range(effort.rounds):
        with Alone() as alone:
            for paths in files[effort.warm_up - 1 :]:
                found.loading.append(alone.load(paths))
                found.alone.append(alone.seconds(queries))
        for name, function, plain in (("nothing", None, False), ("plain", None, True), ("read", read, False)):
            options = {} if function is None else {"function": function}
            seconds = floor(spark, workload, work / "rows", work / "floor", plain=plain, **options)
            found.floors.setdefault(name, []).append(seconds)
        for policy in policies:
            way = Way(policy, effort.warm_up, effort.budget)
            checked = files if turn == 0 else None
            run = run_ticks(spark, workload, work / "rows", work / "state", way, checked)
            found.runs.setdefault(policy, []).append(run)
            say(found, policy, run)
    return found


def say(found: Found, policy: str, run: Ticks) -> None:
    """One run, in a line or two."""
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.stages.items())
    floors = ", ".join(f"{name} {median(seconds):.2f}" for name, seconds in found.floors.items())
    console.log(
        f"{found.workload.name}, {policy}: warm tick {run.wall:.2f} s ({len(run.walls)} ticks: "
        f"{', '.join(f'{wall:.2f}' for wall in run.walls)}); {stages}; "
        f"{run.middle('partial_rows'):,.0f} partial rows, {run.middle('nodes'):,.0f} nodes, {run.middle('jobs'):.0f} "
        f"jobs; each alone {found.alone_seconds:.3f} s, loading {median(found.loading):.3f}; floor {floors}; "
        f"ratio {(run.wall - found.floor) / found.alone_seconds:.2f}; predicted {run.prediction:.2f} of the measured "
        f"time; {run.compared} answers checked"
    )
