"""The engine's own plans against sharing everything and sharing nothing, measured by turns on the same rows."""

from __future__ import annotations

import gc
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.plan_workloads import SCHEMA, Workload, write_rows
from weft import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first ticks compile and fill the windows; those of the optimizer also teach it what the stream is like.
# Both that are run again and again are measured at the same ticks: some of them seal blocks, and some do not.
WARM_UP = {"auto": 6, "everything": 6, "nothing": 2}
MEASURED = 4
# With more queries than this, each by itself is more than Spark can plan.
MOST_APART = 400


@dataclass
class PlanRun:
    """What a run showed: rows per second by tick, prediction and price over measurement, answers, the plan."""

    speeds: list[float]
    prediction: float
    price: float
    answers: dict[str, pa.Table]
    nodes: int
    base: int
    trees: int

    @property
    def rows_per_second(self) -> float:
        return median(self.speeds)


def run_policy(spark: SparkSession, workload: Workload, folder: Path, state: Path, policy: str) -> PlanRun:
    """All ticks of a workload under one policy."""
    shutil.rmtree(state, ignore_errors=True)
    with Engine(state, spark=spark, sharing=policy) as engine:
        engine.add_stream(
            "events", source="parquet", path=folder, schema=SCHEMA, event_time="ts", options={"maxFilesPerTrigger": 1}
        )
        engine.register_all(workload.queries, eager=workload.eager)
        ticker = engine._runners.ticker("events")
        tick, walls, ticks = ticker.run, [time.monotonic()], []
        warm_up = WARM_UP[policy]

        def timed(*arguments: Any) -> None:
            tick(*arguments)
            if len(ticks) < warm_up:
                # What would happen between two ticks of a stream that has pauses.
                ticker.planner.optimizer.wait()
            walls.append(time.monotonic())
            assert ticker.last is not None
            ticks.append(ticker.last.numbers())

        ticker.run = timed  # type: ignore[method-assign]
        engine.run_available()
        steady = range(warm_up, len(ticks))
        network = engine.network("events")
        names = sorted(workload.queries)
        chosen = names[:: max(1, len(names) // 12)]
        return PlanRun(
            [ticks[place]["rows"] / (walls[place + 1] - walls[place]) for place in steady],
            *(
                sum(ticks[place][name] for place in steady)
                / sum(sum(ticks[place]["seconds"].values()) for place in steady)
                for name in ("predicted_seconds", "priced_seconds")
            ),
            {name: engine.query(name).results() for name in chosen},
            len(network.nodes),
            len(network.base),
            len(network.trees),
        )


def compare_policies(
    spark: SparkSession, workload: Workload, work: Path, repeat: int, log: Any = print
) -> dict[str, list[PlanRun]]:
    """Every policy, by turns; all must give the same answers."""
    runs: dict[str, list[PlanRun]] = {}
    for policy, warm_up in WARM_UP.items():
        folder = work / f"events-{policy}"
        shutil.rmtree(folder, ignore_errors=True)
        write_rows(folder, workload.rows, workload.rows_per_second, warm_up + MEASURED)
    for turn in range(repeat):
        for policy in WARM_UP:
            if policy == "nothing" and (len(workload.queries) > MOST_APART or turn > 0):
                continue
            # An engine and its ticks hold each other: what they cached would stay for the next run.
            gc.collect()
            found = run_policy(spark, workload, work / f"events-{policy}", work / f"state-{policy}", policy)
            runs.setdefault(policy, []).append(found)
            log(
                f"{workload.name}, {policy}, run {turn + 1}: {found.rows_per_second:,.0f} rows/s, "
                f"{found.nodes} nodes, {found.base} from rows, {found.trees} trees, "
                f"predicted {found.prediction:.2f} of the measured time, {found.price:.2f} by prices alone"
            )
            _check_equal(workload, policy, found.answers, runs["auto"][0].answers)
    return runs


def _check_equal(workload: Workload, policy: str, found: dict[str, pa.Table], expected: dict[str, pa.Table]) -> None:
    """The windows that both have are the same; one run may have gone on for longer than the other."""
    compared = 0
    for name, table in found.items():
        last = min((pc.max(one["window_end"]).as_py() for one in (table, expected[name]) if one.num_rows), default=None)
        if last is None:
            continue
        mine, other = (one.filter(pc.less_equal(one["window_end"], last)) for one in (table, expected[name]))
        keys = [(column, "ascending") for column in mine.column_names]
        compared += mine.num_rows
        if not mine.sort_by(keys).equals(other.sort_by(keys)):
            raise AssertionError(f"{workload.name}: {name} has other answers with sharing={policy!r}")
    if not compared:
        raise AssertionError(f"{workload.name}: no window to compare")
