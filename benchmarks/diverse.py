"""`python -m benchmarks.diverse`: queries that have little to share, against asking every one of them by itself."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.diverse_report import write_report
from benchmarks.diverse_rounds import Effort, measure_workload, worst_prediction
from benchmarks.diverse_targets import TARGETS, measure_target
from benchmarks.diverse_workloads import Diverse, workloads
from benchmarks.measured import console, show
from weft.spark.session import local_session

POLICIES = ("auto", "everything", "nothing")


def main(
    only: Annotated[list[str] | None, typer.Option(help="What to measure, by name; again for more.")] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="A way to share; without it all three, or auto with --only.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer ticks, one round, no report.")] = False,
    budget: Annotated[float, typer.Option(help="Seconds after which a run ends with the tick that it is in.")] = 300,
    names: Annotated[bool, typer.Option("--list", help="Say what can be measured, and end.")] = False,
    output: Annotated[Path, typer.Option(help="Where the report of all goes.")] = Path("docs/benchmarks"),
) -> None:
    """Measure diverse queries."""
    known = {one.name: one for one in workloads()}
    if names:
        for name, about in _abouts(known).items():
            console.print(f"{name}: {about}")
        return
    unknown = [*set(only or ()).difference(known, TARGETS), *set(policy or ()).difference(POLICIES)]
    if unknown:
        raise typer.BadParameter(f"there is no {unknown[0]!r}; see --list")
    effort = Effort(4, 3, 1, budget) if quick else Effort(budget=budget)
    policies = list(policy or (("auto",) if only else POLICIES))
    results = _measure(known, only or [*known, *TARGETS], policies, effort)
    show(results)
    if not (only or policy or quick):
        write_report(output, results)


def _abouts(known: dict[str, Diverse]) -> dict[str, str]:
    targets = {name: about for name, (about, _) in TARGETS.items()}
    return {**{name: one.about for name, one in known.items()}, **targets}


def _measure(known: dict[str, Diverse], chosen: list[str], policies: list[str], effort: Effort) -> list[dict[str, Any]]:
    work = Path(tempfile.mkdtemp(prefix="weft-diverse-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    results: list[dict[str, Any]] = []
    try:
        for name in chosen:
            if name in TARGETS:
                results += measure_target(spark, name, work / name, effort)
            else:
                one = known[name]
                own = [one.sharing] if one.sharing is not None else policies
                results += measure_workload(spark, one, work / name, own, effort)
            shutil.rmtree(work / name, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    return [*results, *worst_prediction(results)]


if __name__ == "__main__":
    typer.run(main)
