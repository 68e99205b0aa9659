"""What else is to be reached: two thousand alerts, first ticks, small ticks, and the kernels that aggregate rows."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.checks import count_equal
from benchmarks.diverse_rounds import Effort
from benchmarks.diverse_rows import START, packets, tables, write_ticks
from benchmarks.diverse_runs import Ticks, Way, opened, process, run_ticks
from benchmarks.diverse_workloads import Diverse, alerts, workloads
from benchmarks.measured import console, measure
from benchmarks.workloads import ROWS_PER_SECOND, SCHEMA, dashboards
from weft import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Adds the stream `packets` to an engine.
Source = Callable[[Engine], None]
MANY, FEW, ALERT_ROWS = 2_000, 20, 100_000
DASHBOARDS, PACKETS, SMALL = 1_000, 1_000_000, 5_000
# What a tick does when its rows are committed already.
AFTER_COMMIT = ("finish", "tend", "sweep")


def many_alerts(spark: SparkSession, work: Path, effort: Effort) -> list[dict[str, Any]]:
    """Rows per second with very many different alerts over those with few, by turns."""
    sides = {count: Diverse("alerts", "", partial(alerts, count), ALERT_ROWS, 400.0) for count in (FEW, MANY)}
    files = write_ticks(work / "rows", tables(sides[FEW].columns, ALERT_ROWS, sides[FEW].pace, effort.count))
    speeds: dict[int, list[float]] = {count: [] for count in sides}
    run_ticks(spark, sides[FEW], work / "rows", work / "state", Way(most=effort.warm_up, budget=effort.budget / 5))
    for turn in range(effort.rounds):
        for count, workload in sides.items():
            way = Way("auto", effort.warm_up, effort.budget)
            run = run_ticks(spark, workload, work / "rows", work / "state", way, None if turn else files)
            speeds[count].append(ALERT_ROWS / run.wall)
            say(f"{count:,} alerts", run)
    medians = {count: median(found) for count, found in speeds.items()}
    return [
        measure(
            f"rows per second with {MANY:,} different alerts over with {FEW}",
            medians[MANY] / medians[FEW],
            "at least 0.3",
            0.3,
            speeds={f"{count:,} alerts": speed for count, speed in medians.items()},
        )
    ]


def first_ticks(spark: SparkSession, work: Path, effort: Effort) -> list[dict[str, Any]]:
    """The second tick that queries see over the tenth; a first engine has Spark compile what it compiles once."""
    found = []
    for workload in workloads():
        if workload.name not in ("alerts", "groupings"):
            continue
        write_ticks(work / "rows", tables(workload.columns, workload.rows, workload.pace, 11))
        factors = []
        for turn in range(effort.rounds + 1):
            way = Way("auto", 9, effort.budget, waits=False)
            run = run_ticks(spark, workload, work / "rows", work / "state", way)
            say(f"{workload.name}, {'first' if turn else 'warming up'}", run)
            # The tenth and its neighbours: a tick that seals blocks takes longer than others.
            factors.append(run.walls[min(1, len(run.walls) - 1)] / median(run.walls[8:] or run.walls[-1:]))
        what = f"{workload.name}: the second tick after registering over the tenth"
        found.append(measure(what, median(factors[1:]), "at most 1.5", 1.5, False))
    return found


def small_ticks(spark: SparkSession, work: Path, effort: Effort) -> list[dict[str, Any]]:
    """From Spark's trigger to our commit, in small ticks with many dashboards."""
    write_ticks(work / "rows", tables(packets, SMALL, 200.0, effort.count))
    # The first round is for Java to warm up.
    found = [_small_round(spark, work, effort) for _ in range(effort.rounds + 1)][1:]
    until_commit, whole = (median(times[side] for run in found for times in run) for side in range(2))
    what = f"a tick of {SMALL:,} rows with {DASHBOARDS:,} dashboards, from trigger to commit, ms"
    about = f"{whole:.0f} ms until closed windows are finished and slices sealed"
    return [measure(what, until_commit, "at most 250", 250.0, False, about=about)]


def _small_round(spark: SparkSession, work: Path, effort: Effort) -> list[tuple[float, float]]:
    """Milliseconds from the trigger to the commit, and to the end of all that the tick does, for each tick."""
    with opened(spark, work / "state", Way()) as engine:
        from_files(engine, work / "rows")
        engine.register_all(dashboards(DASHBOARDS), eager=True)
        run = process(engine, Way("auto", effort.warm_up, effort.budget), "packets")
        query = engine._runners.by_stream["packets"]._query
        assert query is not None
        triggers = {one.batchId: _moment(one.timestamp) for one in query.recentProgress if "addBatch" in one.durationMs}
    say(f"{SMALL:,} rows, {DASHBOARDS:,} dashboards", run)
    found = []
    for numbers in (run.numbers[place] for place in run.steady if run.numbers[place]["batch_id"] in triggers):
        # The moment is noted when the tick is over: what came after the commit is known by its stages.
        passed = (_moment(numbers["committed_at"]) - triggers[numbers["batch_id"]]).total_seconds()
        after = sum(numbers["seconds"].get(stage, 0.0) for stage in AFTER_COMMIT)
        found.append(((passed - after) * 1_000, passed * 1_000))
    return found


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def kernels(spark: SparkSession, work: Path, effort: Effort) -> list[dict[str, Any]]:
    """Rows per second with the kernel that Weft chooses over the Spark kernel, of files and of another source."""
    few = replace(effort, warm_up=min(3, effort.warm_up), ticks=min(5, effort.ticks))
    write_ticks(work / "rows", tables(packets, PACKETS, 1e6 / ROWS_PER_SECOND, few.count))
    return [
        *_compare_kernels(spark, work, few, "Parquet files", partial(from_files, folder=work / "rows"), 0, 1.5),
        *_compare_kernels(spark, work, few, "no files", partial(from_generator, spark=spark), few.count, 1.0),
    ]


def _compare_kernels(
    spark: SparkSession, work: Path, effort: Effort, name: str, source: Source, most: int, bound: float
) -> list[dict[str, Any]]:
    what = f"{DASHBOARDS:,} dashboards, {name}: rows per second over the Spark kernel"
    if "kernel" not in inspect.signature(Engine).parameters:
        console.log(f"{what}: not measurable, the engine has one kernel")
        return [{"what": what, "value": "not measurable", "target": f"at least {bound}", "reached": False}]
    speeds: dict[str, list[float]] = {"auto": [], "spark": []}
    for turn in range(effort.rounds + 1):
        answers: dict[str, Any] = {}
        for kernel, found in speeds.items():
            way = Way("auto", effort.warm_up, effort.budget, most=most, kernel=kernel)
            with opened(spark, work / "state", way) as engine:
                source(engine)
                engine.register_all(dashboards(DASHBOARDS), eager=True)
                run = process(engine, way, "packets")
                # The first round is for Java to warm up, and for the answers.
                if turn:
                    found.append(run.middle("rows") / run.wall)
                else:
                    _compare_answers(engine, kernel, answers)
            say(f"{DASHBOARDS:,} dashboards, {name}, kernel {kernel}", run)
    medians = {kernel: median(found) for kernel, found in speeds.items()}
    ratio = medians["auto"] / medians["spark"]
    detail = {f"{DASHBOARDS:,} dashboards, {name}, kernel {kernel}": speed for kernel, speed in medians.items()}
    return [measure(what, ratio, f"at least {bound}", bound, speeds=detail)]


def _compare_answers(engine: Engine, kernel: str, answers: dict[str, Any]) -> None:
    """Keep some answers of the first kernel, and compare those of the second."""
    if not answers:
        answers |= {f"dashboard_{place}": engine.query(f"dashboard_{place}").results() for place in range(12)}
        return
    equal, checked = count_equal(engine, answers)
    if not checked or equal < checked:
        raise AssertionError(f"kernel {kernel!r}: {checked - equal} of {checked} dashboards have other answers")


def from_files(engine: Engine, folder: Path) -> None:
    """Packets from Parquet, a file a tick."""
    engine.add_stream(
        "packets",
        source="parquet",
        path=folder,
        schema=SCHEMA,
        event_time="ts",
        watermark="2 seconds",
        options={"maxFilesPerTrigger": 1},
    )


def from_generator(engine: Engine, spark: SparkSession) -> None:
    """Packets that Spark makes up as it reads them, so many a tick: a source without files."""
    rows = spark.readStream.format("rate-micro-batch").options(
        rowsPerBatch=PACKETS, numPartitions=2, startTimestamp=START // 1_000, advanceMillisPerBatch=1_000
    )
    columns = [
        f"timestamp_micros({START} + value * {1_000_000 // ROWS_PER_SECOND}) AS ts",
        "concat('10.0.0.', pmod(hash(value, 1), 200)) AS saddr",
        "concat('10.0.1.', pmod(hash(value, 2), 200)) AS daddr",
        "pmod(hash(value, 3), 5) AS proto",
        "pmod(hash(value, 4), 100) AS port",
        "40 + pmod(hash(value, 5), 1461) AS length",
    ]
    frame = rows.load().selectExpr(*columns)
    engine.add_stream("packets", dataframe=frame, event_time="ts", watermark="2 seconds")


def say(what: str, run: Ticks) -> None:
    """One run, in a line or two."""
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.stages.items())
    walls = " ".join(f"{wall:.2f}" for wall in run.walls)
    console.log(f"{what}: warm tick {run.wall:.2f} s ({stages}); {run.middle('nodes'):,.0f} nodes; ticks {walls}")


Target = Callable[["SparkSession", Path, Effort], list[dict[str, Any]]]
TARGETS: dict[str, tuple[str, Target]] = {
    "many": ("2,000 different alerts against 20, 100,000 rows a tick", many_alerts),
    "first": ("the second tick after registering against the tenth", first_ticks),
    "small": ("5,000 rows a tick with 1,000 dashboards", small_ticks),
    "kernels": ("1,000 dashboards with the kernel that Weft chooses against the Spark kernel", kernels),
}


def measure_target(spark: SparkSession, name: str, work: Path, effort: Effort) -> list[dict[str, Any]]:
    """Lines of the table for one of them."""
    found = TARGETS[name][1](spark, work, effort)
    shutil.rmtree(work, ignore_errors=True)
    return found
