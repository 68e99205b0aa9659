"""`python -m benchmarks.diverse`: queries that have little to share, against asking every one of them by itself."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.diverse_rounds import Effort, measure_workload
from benchmarks.diverse_workloads import workloads
from benchmarks.measured import console, show
from weft.spark.session import local_session

POLICIES = ("auto", "everything", "nothing")


def main(
    only: Annotated[list[str] | None, typer.Option(help="A workload to measure; all of them without.")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="A way to share: auto, everything or nothing.")] = None,
    quick: Annotated[bool, typer.Option(help="Fewer ticks, one round.")] = False,
    budget: Annotated[float, typer.Option(help="Seconds after which a run of Weft ends with the tick it is in.")] = 600,
    list_: Annotated[bool, typer.Option("--list", help="Say what can be measured, and end.")] = False,
) -> None:
    """Measure diverse queries."""
    known = {one.name: one for one in workloads()}
    if list_:
        for one in known.values():
            console.print(f"{one.name}: {one.about}")
        return
    effort = Effort(3, 2, 1, budget) if quick else Effort(budget=budget)
    work = Path(tempfile.mkdtemp(prefix="weft-diverse-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    results = []
    try:
        for name in only or known:
            policies = [known[name].sharing or "auto"] if policy is None and only else list(policy or POLICIES)
            results += measure_workload(spark, known[name], work / name, policies, effort)
            shutil.rmtree(work / name, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    show(results)


if __name__ == "__main__":
    typer.run(main)
