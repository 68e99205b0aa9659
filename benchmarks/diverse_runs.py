"""One run of Weft over a workload, tick by tick, and Spark's floor below it: a tick that does nothing."""

from __future__ import annotations

import gc
import math
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.diverse_alone import check_answers
from benchmarks.diverse_workloads import Diverse
from weft import Engine
from weft.spark.starting import start_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Ticks:
    """The ticks of one run: how long each took from the end of the one before, and what it said of itself."""

    warm_up: int
    walls: list[float] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)
    compared: int = 0

    @property
    def steady(self) -> range:
        """The ticks that count; the last, where the run was ended before its warm-up was over."""
        return range(min(self.warm_up, len(self.walls) - 1), len(self.walls))

    @property
    def wall(self) -> float:
        """Seconds of the median tick, with what Spark does around it."""
        return median(self.walls[place] for place in self.steady)

    @property
    def prediction(self) -> float:
        """What the ticks were predicted to take over what they took, without what Spark does around them."""
        return self._over_taken("predicted_seconds")

    @property
    def price(self) -> float:
        """What the ticks should take by the prices that plans are made by over what they took."""
        return self._over_taken("priced_seconds")

    def _over_taken(self, name: str) -> float:
        taken = sum(sum(self.numbers[place]["seconds"].values()) for place in self.steady)
        return float(sum(self.numbers[place][name] or 0.0 for place in self.steady) / taken)

    @property
    def misjudged(self) -> float:
        """By what factor the prediction is off, whether too high or too low."""
        return max(self.prediction, 1 / self.prediction) if self.prediction else math.inf

    def middle(self, name: str) -> float:
        """The median of one number."""
        return median(self.numbers[place][name] for place in self.steady)

    @property
    def stages(self) -> dict[str, float]:
        """The median seconds of every stage that takes a hundredth of a second, longest first."""
        names = {name for place in self.steady for name in self.numbers[place]["seconds"]}
        found = {name: median(self.numbers[place]["seconds"].get(name, 0.0) for place in self.steady) for name in names}
        return {name: found[name] for name in sorted(found, key=lambda name: -found[name]) if found[name] >= 0.01}


@dataclass(frozen=True)
class Way:
    """How a run goes: the policy, the ticks that do not count, and when it ends at the latest."""

    sharing: str = "auto"
    warm_up: int = 5
    budget: float = 600.0
    # Whether the search is waited for between two ticks of the warm-up, as if the stream had pauses.
    waits: bool = True
    # After so many ticks a stream that has no end is ended; 0 for a stream that comes to an end by itself.
    most: int = 0
    # Which kernel aggregates rows, where the engine can be told.
    kernel: str | None = None


@contextmanager
def opened(spark: SparkSession, state: Path, way: Way) -> Iterator[Engine]:
    """An engine with a new state folder, which goes with it."""
    shutil.rmtree(state, ignore_errors=True)
    # An engine and its ticks hold each other: what they cached would stay for the next run.
    gc.collect()
    further: dict[str, Any] = {} if way.kernel is None else {"kernel": way.kernel}
    with Engine(state, spark=spark, sharing=way.sharing, **further) as engine:
        yield engine
    shutil.rmtree(state, ignore_errors=True)


def run_ticks(
    spark: SparkSession, workload: Diverse, folder: Path, state: Path, way: Way, files: list[list[Path]] | None = None
) -> Ticks:
    """All ticks of a workload; with `files` some answers are checked when they are done."""
    queries = workload.make()
    with opened(spark, state, way) as engine:
        engine.add_stream(
            "events",
            source="parquet",
            path=folder,
            schema=workload.schema,
            event_time="ts",
            options={"maxFilesPerTrigger": workload.files},
        )
        engine.register_all({name: query.weft() for name, query in queries.items()}, keep=workload.keep)
        ticks = process(engine, way)
        check_counted(engine, ticks, workload.rows)
        if files is not None:
            seen = [path for tick in files[: len(ticks.walls)] for path in tick]
            ticks.compared = check_answers(engine, queries, seen)
    return ticks


def check_counted(engine: Engine, ticks: Ticks, rows: int) -> None:
    """Raise where a tick left rows out, or a query was stopped: then it is not the same work on both sides."""
    stopped = [query.name for query in engine.queries() if query.status == "failed"]
    odd = [one["batch_id"] for one in ticks.numbers if one["rows"] != rows or one["dead"]]
    if stopped or odd:
        raise AssertionError(f"queries that were stopped: {stopped[:5]}; ticks with other rows: {odd[:5]}")


def process(engine: Engine, way: Way, stream: str = "events") -> Ticks:
    """Run all ticks there are, or as many as are asked for or there is time for."""
    ticker = engine._runners.ticker(stream)
    tick, ticks, done = ticker.run, Ticks(way.warm_up), threading.Event()
    begin = time.monotonic()
    last = [begin]

    def timed(*arguments: Any) -> None:
        tick(*arguments)
        now = time.monotonic()
        assert ticker.last is not None
        ticks.walls.append(now - last[0])
        ticks.numbers.append(ticker.last.numbers())
        if way.waits and len(ticks.walls) <= way.warm_up:
            ticker.planner.optimizer.wait()
        last[0] = time.monotonic()
        if last[0] - begin > way.budget or len(ticks.walls) == way.most:
            # The batch after this is not begun.
            engine._runners.runner(stream)._stopping = True
            done.set()

    ticker.run = timed  # type: ignore[method-assign]
    if not way.most:
        engine.run_available()
        return ticks
    engine.start()
    while not done.wait(1) and engine.running:
        pass
    engine.stop()
    return ticks


def nothing(rows: DataFrame, batch_id: int) -> None:
    """What a tick of Spark's floor does."""


def read(rows: DataFrame, batch_id: int) -> None:
    """Read the rows of a batch once, and do nothing with them."""
    rows.write.format("noop").mode("overwrite").save()


def floor(
    spark: SparkSession,
    workload: Diverse,
    folder: Path,
    work: Path,
    function: Callable[[DataFrame, int], None] = nothing,
    *,
    plain: bool = False,
    warm_up: int = 2,
) -> float:
    """Seconds from one batch to the next of a stream over the same files that does nothing, or only this.

    It starts with the settings that Weft starts its own with; with `plain` as Spark does by itself.
    """
    shutil.rmtree(work, ignore_errors=True)
    moments: list[float] = []

    def timed(rows: DataFrame, batch_id: int) -> None:
        function(rows, batch_id)
        moments.append(time.monotonic())

    reader = spark.readStream.schema(workload.schema).option("maxFilesPerTrigger", workload.files)
    rows = reader.parquet(str(folder))
    writer = rows.writeStream.foreachBatch(timed).option("checkpointLocation", str(work)).trigger(availableNow=True)
    query = writer.start() if plain else start_query(writer, spark, str(work))
    query.awaitTermination()
    gaps = [after - before for before, after in zip(moments, moments[1:], strict=False)]
    return median(gaps[min(warm_up, len(gaps) - 1) :])
