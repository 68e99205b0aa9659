"""`python -m benchmarks.rows_psoup`: queries of PSoup's shapes, ten thousand of them against one.

A query has one to eight boolean factors over a dozen columns, as in section 5.1 of the paper: equalities, inequalities
and intervals, a fifth of the constants among few that many ask for. It keeps about one row in four thousand.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from benchmarks.diverse_queries import Asked
from benchmarks.diverse_rounds import Effort
from benchmarks.diverse_rows import tables, write_ticks
from benchmarks.diverse_runs import Ticks, Way, run_ticks
from benchmarks.diverse_workloads import Diverse, Queries
from benchmarks.measured import console, measure, show
from weft.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How many values a column has, and whether these are numbers with a fraction.
SMALL, LARGE, FRACTIONS = 256, 4_096, 1_000
KINDS = {**{f"c{place}": SMALL for place in range(8)}, "k0": LARGE, "k1": LARGE, "v": FRACTIONS, "w": FRACTIONS}
DOUBLES = frozenset({"v", "w"})
SCHEMA = "ts timestamp, " + ", ".join(f"{name} {'double' if name in DOUBLES else 'int'}" for name in KINDS)
MOST_FACTORS, POPULAR, POPULAR_SHARE = 8, 32, 0.2
SHARE, SPREAD = 1 / 4_000, 0.5
ROWS, PACE, COUNTS = 100_000, 2_000.0, (1, 100, 1_000, 10_000)


def rows_of_psoup(numbers: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """A dozen columns of evenly spread values."""
    return {
        name: pa.array(numbers.random(rows) * kinds if name in DOUBLES else numbers.integers(0, kinds, rows, np.int32))
        for name, kinds in KINDS.items()
    }


def psoup(count: int, seed: int = 17) -> Queries:
    """Queries of one to eight factors, all of them different."""
    choose, texts = random.Random(seed), dict[str, None]()
    while len(texts) < count:
        texts.setdefault(_predicate(choose))
    return {f"selection_{place}": Asked(where=text) for place, text in enumerate(texts)}


def _predicate(choose: random.Random) -> str:
    """A conjunction that keeps about one row in some thousands."""
    factors = choose.randint(1, MOST_FACTORS)
    share = SHARE * choose.lognormvariate(0, SPREAD)
    names, parts = choose.sample(sorted(KINDS), len(KINDS)), list[str]()
    while factors:
        name = names.pop()
        kinds = KINDS[name]
        least = 0.0 if name in DOUBLES else 1 / kinds
        # The last factor has to be as selective as is left, an equality before it no more than that.
        if factors == 1 and least > 2 * share and names:
            continue
        if least >= share / 2 and (factors == 1 or (least >= share and choose.random() < 0.5)):
            parts.append(f"{name} = {_popular(choose, kinds - 1)}")
            factors, share = factors - 1, share / least
        elif factors > 1 and choose.random() < 0.5:
            width = _width(name, share ** (2 / factors))
            low = min(_popular(choose, kinds - 1), kinds - width)
            parts.append(f"{name} >= {low} AND {name} < {low + width}")
            factors, share = factors - 2, share * kinds / width
        else:
            width = _width(name, share ** (1 / factors))
            parts.append(choose.choice((f"{name} < {width}", f"{name} >= {kinds - width}")))
            factors, share = factors - 1, share * kinds / width
        share = min(1.0, share)
    return " AND ".join(parts)


def _width(name: str, share: float) -> float:
    """How many values of a column are this share of them, one at least."""
    if name in DOUBLES:
        return round(max(0.01, share * KINDS[name]), 3)
    return max(1, round(share * KINDS[name]))


def _popular(choose: random.Random, most: int) -> int:
    """A constant: a multiple of 32 more often than others."""
    if choose.random() < POPULAR_SHARE:
        return choose.randrange(0, most + 1, POPULAR)
    return choose.randint(0, most)


def workload(count: int) -> Diverse:
    """So many queries of PSoup's shapes."""
    about = f"{count:,} queries of PSoup's shapes"
    return Diverse(f"psoup-{count}", about, partial(psoup, count), ROWS, PACE, rows_of_psoup, SCHEMA)


def measure_psoup(
    spark: SparkSession, work: Path, effort: Effort, counts: tuple[int, ...] = COUNTS
) -> list[dict[str, Any]]:
    """Rows per second with each number of queries, by turns, and those with the most over those with one."""
    write = tables(rows_of_psoup, ROWS, PACE, effort.count)
    files = write_ticks(work / "rows", write)
    runs: dict[int, list[Ticks]] = {count: [] for count in counts}
    # Java compiles what it runs often: whoever runs first would be slower than what follows.
    run_ticks(spark, workload(counts[0]), work / "rows", work / "state", Way(most=effort.warm_up))
    for turn in range(effort.rounds):
        for count in counts:
            way = Way("auto", effort.warm_up, effort.budget)
            checked = None if turn else files
            run = run_ticks(spark, workload(count), work / "rows", work / "state", way, checked)
            runs[count].append(run)
            _say(count, run)
    speeds = {count: median(ROWS / run.wall for run in own) for count, own in runs.items()}
    least, most = min(counts), max(counts)
    return [
        measure(
            f"rows per second with {most:,} selections of PSoup's shapes over with {least}",
            speeds[most] / speeds[least],
            "at least 0.5",
            0.5,
            speeds={f"{count:,} selections": speed for count, speed in speeds.items()},
            misjudged=median(run.misjudged for run in runs[most]),
        )
    ]


def _say(count: int, run: Ticks) -> None:
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.stages.items())
    checked = f", {run.compared} answers as DuckDB's" if run.compared else ""
    walls = " ".join(f"{wall:.2f}" for wall in run.walls)
    console.log(
        f"{count:,} selections: {ROWS / run.wall:,.0f} rows per second, warm tick {run.wall:.2f} s ({stages})\n"
        f"  {run.middle('partial_rows'):,.0f} partial rows, {run.middle('nodes'):,.0f} nodes{checked}; ticks {walls}\n"
        f"  predicted {run.prediction:.2f} of the measured time, {run.price:.2f} by prices alone"
    )


def main(
    quick: Annotated[bool, typer.Option(help="Fewer ticks, one round.")] = False,
    count: Annotated[list[int] | None, typer.Option(help="A number of queries; again for more.")] = None,
) -> None:
    """Measure queries of PSoup's shapes."""
    work = Path(tempfile.mkdtemp(prefix="weft-psoup-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    try:
        effort = Effort(4, 4, 1) if quick else Effort()
        show(measure_psoup(spark, work, effort, tuple(count or COUNTS)))
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    typer.run(main)
