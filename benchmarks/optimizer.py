"""`python -m benchmarks.optimizer`: the engine's plans against the simple policies, predicates, and planning time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measured import console, measure, show
from benchmarks.plan_report import write_report
from benchmarks.plan_targets import planning, plans_against_policies, predicate_index
from weft.spark.session import local_session


def main(
    repeat: Annotated[int, typer.Option(help="Runs of each side.")] = 3,
    output: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("docs/benchmarks"),
) -> None:
    """Measure the optimizer in the engine."""
    results = planning(measure)
    work = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    try:
        results += plans_against_policies(spark, work, repeat, measure, console.log)
        results += predicate_index(spark, work, repeat, measure)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    show(results)
    write_report(output, results)


if __name__ == "__main__":
    typer.run(main)
