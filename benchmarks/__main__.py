"""`make bench`: the sharing benchmark on this machine, as a table, as Markdown and as a plot.

Medians of several runs, both sides in one run and by turns; the first ticks of every run are warm-up.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any

import typer

from benchmarks.checks import count_equal, count_equal_to_spark
from benchmarks.measured import console, measure, show
from benchmarks.memory import measure as measure_memory
from benchmarks.report import write_report
from benchmarks.sides import Bench, Run
from benchmarks.workloads import alerts, dashboards, write_packets
from weft.spark.session import local_session

READ_GROUPS = (
    "SELECT saddr, proto, sum(length) AS bytes FROM packets "
    "GROUP BY window(ts, '60 seconds', '5 seconds'), saddr, proto"
)


def main(
    rows: Annotated[int, typer.Option(help="Packets to process in each run.")] = 10_000_000,
    repeat: Annotated[int, typer.Option(help="Runs of each side.")] = 3,
    separate: Annotated[int, typer.Option(help="Separate streaming queries to measure.")] = 24,
    separate_rows: Annotated[int, typer.Option(help="Packets for the separate queries.")] = 2_000_000,
    output: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("docs/benchmarks"),
) -> None:
    """Measure sharing: dashboards and alerts, few queries and many, and the user's alternative."""
    work = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = local_session(work / "spark")
    try:
        console.log(f"writing {rows:,} packets")
        write_packets(work / "packets", rows)
        write_packets(work / "few", separate_rows)
        bench = Bench(spark, work / "packets", work)
        console.log("warming up")
        _warm_up(Bench(spark, work / "few", work / "warm"))
        results = [
            *_compare(bench, "dashboards", dashboards, 1_000, 6, repeat, 0.5),
            *_compare(bench, "alerts", alerts, 10_000, 100, repeat, 0.3),
            *_against_separate(spark, work, separate, separate_rows),
            *_jobs(Bench(spark, work / "few", work / "jobs")),
            *_registering(bench),
            *_reading(bench),
        ]
        spark.stop()
        used = measure_memory(work / "packets", work / "memory")
        results.append(measure("driver memory with 10,000 queries, GB (Python and JVM)", used, "at most 4", 4.0, False))
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    show(results)
    write_report(output, results, rows)


def _warm_up(bench: Bench) -> None:
    """The JVM compiles what it runs often; the first runs of all would be slower than what follows."""
    for queries in (dashboards(1_000), dashboards(6), alerts(100)):
        engine, run = bench.open(queries)
        bench.process(engine, run)
        _close(engine)


def _jobs(bench: Bench) -> list[dict[str, Any]]:
    """Spark jobs a tick with very many queries and with very few."""
    jobs = {}
    for count in (10_000, 10):
        engine, run = bench.open(alerts(count))
        jobs[count] = bench.process(engine, run).jobs
        _close(engine)
    return [measure("Spark jobs per tick with 10,000 queries over with 10", jobs[10_000] / jobs[10], "1", 1, False)]


def _compare(
    bench: Bench, name: str, workload: Any, many: int, few: int, repeat: int, bound: float
) -> list[dict[str, Any]]:
    """Rows per second with many queries over rows per second with few, by turns."""
    runs: dict[int, list[Run]] = {many: [], few: []}
    checked = equal = 0
    for turn in range(repeat):
        for count in (many, few):
            engine, run = bench.open(workload(count))
            runs[count].append(bench.process(engine, run))
            console.log(f"{name} {count}: {run.rows_per_second:,.0f} rows/s; last tick {run.ticks[-1]['seconds']}")
            if turn == 0:
                names = [f"{name[:-1]}_{place}" for place in range(0, count, max(1, count // 12))]
                good, of = count_equal_to_spark(engine, bench.spark, str(bench._packets), names)
                equal, checked = equal + good, checked + of
            _close(engine)
    speed = {count: median(run.rows_per_second for run in runs[count]) for count in runs}
    jobs = {count: max(run.jobs for run in runs[count]) for count in runs}
    return [
        measure(
            f"{name}: rows per second with {many:,} queries over with {few:,}",
            speed[many] / speed[few],
            f"at least {bound}",
            bound,
            speed={f"{name} {count:,}": value for count, value in speed.items()},
        ),
        measure(
            f"{name}: Spark jobs per tick with {many:,} queries over with {few:,}",
            jobs[many] / jobs[few],
            "1",
            1,
            False,
        ),
        measure(f"{name}: newest windows equal to plain Spark SQL, of {checked}", equal, "all", checked),
    ]


def _against_separate(spark: Any, work: Path, count: int, rows: int) -> list[dict[str, Any]]:
    """Weft with 1,000 dashboards against as many separate streaming queries, scaled from a few."""
    bench = Bench(spark, work / "few", work / "few-work")
    queries = dashboards(1_000)
    some = {name: queries[name] for name in list(queries)[:count]}
    seconds, answers = bench.separate(some)
    console.log(f"{count} separate streaming queries over {rows:,} rows: {seconds:.1f} s")
    engine, run = bench.open(queries)
    begin = time.monotonic()
    bench.process(engine, run)
    shared = time.monotonic() - begin
    equal, checked = count_equal(engine, answers)
    _close(engine)
    if not checked:
        raise typer.BadParameter(f"no query closed a window on both sides in {rows:,} rows: give more --separate-rows")
    ratio = (rows / shared) / (rows / (seconds * 1_000 / count))
    return [
        measure(
            f"dashboards: rows per second with 1,000 queries over 1,000 separate ones (from {count})",
            ratio,
            "at least 300",
            300,
            speed={"1,000 separate": rows / (seconds * 1_000 / count)},
        ),
        measure(
            f"dashboards: queries whose every window equals its separate query's, of {checked}", equal, "all", checked
        ),
    ]


def _registering(bench: Bench) -> list[dict[str, Any]]:
    found = []
    for count, bound in ((1_000, 10), (10_000, 60)):
        engine, run = bench.open(alerts(count))
        _close(engine)
        found.append(
            measure(f"registering {count:,} queries, seconds", run.register_seconds, f"at most {bound}", bound, False)
        )
    return found


def _reading(bench: Bench) -> list[dict[str, Any]]:
    """Reading a result of 1,000 groups while 1,000 queries run: lazily made and finished ahead."""
    found = []
    for eager in (True, False):
        engine, run = bench.open(dashboards(1_000), eager=eager)
        query = engine.register(READ_GROUPS, name="read", eager=eager)
        worker = threading.Thread(target=bench.process, args=(engine, run))
        worker.start()
        seconds: list[float] = []
        while worker.is_alive():
            begin = time.monotonic()
            table = query.result()
            if table.num_rows >= 1_000:
                seconds.append(time.monotonic() - begin)
            time.sleep(0.02)
        worker.join()
        _close(engine)
        kind = "finished ahead" if eager else "merged when read"
        found += [
            measure(
                f"reading 1,000 groups {kind} while the stream runs, median ms",
                median(seconds) * 1000,
                "at most 5",
                5,
                False,
            ),
            measure(
                f"reading 1,000 groups {kind} while the stream runs, 99th percentile ms",
                quantiles(seconds, n=100)[98] * 1000,
                "at most 25",
                25,
                False,
            ),
        ]
    return found


def _close(engine: Any) -> None:
    """Close the engine; the Spark session is not its own and stays."""
    engine.close()


if __name__ == "__main__":
    typer.run(main)
