"""The two sides of the comparison: Weft with many queries, and one Structured Streaming query for each."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.workloads import SCHEMA
from weft import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP_TICKS = 2


@dataclass
class Run:
    """What one run of Weft showed."""

    queries: int
    register_seconds: float
    ticks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def rows_per_second(self) -> float:
        """Of the median tick after warm-up: rows over the time of the whole tick, Spark's own overhead included."""
        steady = self.ticks[WARM_UP_TICKS:]
        return float(median(tick["rows"] / tick["wall"] for tick in steady))

    @property
    def jobs(self) -> int:
        return int(max(tick["jobs"] for tick in self.ticks))


class Bench:
    """Runs Weft on a folder of packets, each time with a new state folder, in one Spark session."""

    def __init__(self, spark: SparkSession, packets: Path, work: Path) -> None:
        self.spark, self._packets, self._work = spark, packets, work
        self._turn = 0

    def open(
        self, queries: dict[str, str], *, eager: bool = True, retain: str | None = None
    ) -> tuple[Engine, Run]:
        """An engine with these queries registered, and nothing processed yet."""
        self._turn += 1
        state = self._work / f"state-{self._turn}"
        shutil.rmtree(state, ignore_errors=True)
        engine = Engine(state, spark=self.spark)
        engine.add_stream(
            "packets",
            source="parquet",
            path=self._packets,
            schema=SCHEMA,
            event_time="ts",
            watermark="2 seconds",
            options={"maxFilesPerTrigger": 1},
            retain=retain,
        )
        begin = time.monotonic()
        engine.register_all(queries, eager=eager)
        return engine, Run(len(queries), time.monotonic() - begin)

    def process(self, engine: Engine, run: Run) -> Run:
        """Process everything; a tick's time is from its predecessor's end to its own."""
        ticker = engine._runners.ticker("packets")
        tick, last = ticker.run, [time.monotonic()]

        def timed(*arguments: Any) -> None:
            tick(*arguments)
            now = time.monotonic()
            assert ticker.last is not None
            run.ticks.append({**ticker.last.numbers(), "wall": now - last[0]})
            last[0] = now

        ticker.run = timed  # type: ignore[method-assign]
        engine.run_available()
        return run

    def separate(self, queries: dict[str, str]) -> tuple[float, dict[str, pa.Table]]:
        """One streaming query each, all at once as a user would run them; seconds, and every window of each."""
        session = self.spark
        reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        reader.parquet(str(self._packets)).withWatermark("ts", "2 seconds").createOrReplaceTempView("packets")
        begin = time.monotonic()
        running, schemas = [], {}
        for name, sql in queries.items():
            windowed = sql.replace("SELECT ", "SELECT window.end AS window_end, ", 1)
            place = self._work / "separate" / name
            shutil.rmtree(place, ignore_errors=True)
            frame = session.sql(windowed)
            schemas[name] = frame.schema
            running.append(
                frame.writeStream.format("parquet")
                .option("path", str(place / "out"))
                .option("checkpointLocation", str(place / "checkpoint"))
                .outputMode("append")
                .trigger(availableNow=True)
                .start()
            )
        for query in running:
            query.awaitTermination()
        seconds = time.monotonic() - begin
        # A query that has closed no window has written no file, and a reader cannot see the columns of nothing.
        return seconds, {
            name: session.read.schema(schema).parquet(str(self._work / "separate" / name / "out")).toArrow()
            for name, schema in schemas.items()
        }
