"""`python -m benchmarks.rows`: what kept rows cost, and what they give. Both sides in one run, by turns."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmarks.measured import console, measure, show
from benchmarks.sides import Bench, Run
from benchmarks.workloads import dashboards, write_packets
from weft.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 1_000


@dataclass(frozen=True)
class Scene:
    """Where things are measured: a Spark, packets, a folder for states, and how often each side is run."""

    spark: SparkSession
    packets: Path
    work: Path
    repeat: int


def keeping(scene: Scene) -> Iterator[dict[str, Any]]:
    """Rows per second under dashboards, of a stream that keeps its rows over the same stream that does not."""
    bench, queries = Bench(scene.spark, scene.packets, scene.work), dashboards(QUERIES)
    runs: dict[str | None, list[Run]] = {None: [], "forever": []}
    kept = 0
    for turn in range(scene.repeat + 1):
        for retain in runs if turn % 2 else reversed(runs):
            engine, run = bench.open(queries, eager=False, retain=retain)
            with engine:
                bench.process(engine, run)
                rows = engine.state_of("packets").kept
                assert (rows.rows == engine.state_of("packets").totals["rows"]) == (retain is not None)
                kept = max(kept, rows.bytes // max(1, rows.rows))
                console.log(f"retain={retain}: {run.rows_per_second:,.0f} rows/s, kernels {_kernels(run)}")
            if turn:
                runs[retain].append(run)
    speed = {retain: median(run.rows_per_second for run in turns) for retain, turns in runs.items()}
    what = f"rows/s with retain over without, {QUERIES:,} dashboards"
    detail = {"with": speed["forever"], "without": speed[None]}
    yield measure(what, speed["forever"] / speed[None], "at least 0.6", 0.6, **detail)
    yield measure("bytes that a kept row takes", kept, "at most 40", 40, more_is_better=False)


def _kernels(run: Run) -> str:
    return ", ".join(sorted({tick["kernel"] for tick in run.ticks}))


MEASURED: tuple[Callable[[Scene], Iterator[dict[str, Any]]], ...] = (keeping,)


def main(
    rows: Annotated[int, typer.Option(help="Packets to process in each run.")] = 8_000_000,
    repeat: Annotated[int, typer.Option(help="Runs of each side.")] = 3,
    only: Annotated[str, typer.Option(help="The name of what to measure alone.")] = "",
) -> None:
    """Measure kept rows."""
    work = Path(tempfile.mkdtemp(prefix="weft-rows-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    try:
        console.log(f"writing {rows:,} packets")
        write_packets(work / "packets", rows)
        scene = Scene(spark, work / "packets", work, repeat)
        results = [line for each in MEASURED if only in ("", each.__name__) for line in each(scene)]
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    show(results)
    raise typer.Exit(0 if all(line["reached"] for line in results) else 1)


if __name__ == "__main__":
    typer.run(main)
