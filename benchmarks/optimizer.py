"""`python -m benchmarks.optimizer`: the engine's plans against the simple policies, predicates, and planning time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.checks import text_of
from benchmarks.plan_report import write_report
from benchmarks.plan_targets import planning, plans_against_policies, predicate_index
from weft.spark.session import local_session

console = Console()


def main(
    repeat: Annotated[int, typer.Option(help="Runs of each side.")] = 2,
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
    table = Table("what", "measured", "target", "reached")
    for one in results:
        table.add_row(one["what"], text_of(one["value"]), one["target"], "yes" if one["reached"] else "NO")
    console.print(table)
    write_report(output, results)


def measure(
    what: str, value: float, target: str, bound: float, more_is_better: bool = True, **detail: Any
) -> dict[str, Any]:
    """One line of the table."""
    reached = value >= bound if more_is_better else value <= bound
    console.log(f"{what}: {text_of(value)} ({target}, {'reached' if reached else 'NOT reached'})")
    return {"what": what, "value": value, "target": target, "reached": reached, **detail}


if __name__ == "__main__":
    typer.run(main)
