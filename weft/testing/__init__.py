"""Tests of continuous queries: rows go in, a tick runs, answers come out; docs/testing.md shows it.

    with weft.testing.engine(tmp_path) as engine:
        weft.testing.add_stream(engine, "packets", schema="ts timestamp, saddr string, length int", event_time="ts")
        engine.register("SELECT saddr, sum(length) AS bytes FROM packets GROUP BY saddr", name="bytes")
        weft.testing.feed(engine, "packets", [{"ts": "2026-01-01T00:00:00", "saddr": "a", "length": 10}])
        assert engine.query("bytes").result().to_pylist() == [{"saddr": "a", "bytes": 10}]

A fed tick is the tick of a running stream, from the plan to the commit, without a source and a checkpoint. Where
DuckDB can compute the rows' part as Spark does, no Spark is started; where it cannot, Spark does it, in this process.
Needed: what arrives fits into memory. Cost: a few milliseconds for every node of the network.

Weft's own tests drive ticks by hand, by weft/testing/inside.py: they reach into an engine there and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from weft.engine import Engine
from weft.plan.network import build_network
from weft.testing.fed import FedBatch, fed_table, is_portable_network
from weft.testing.inside import (
    FED,
    adopted,
    around_ticks,
    costs,
    fill_nothing,
    kinds_read,
    mark,
    move,
    next_mark,
    run,
    settle,
    start_anew,
    stay,
    ticker,
    wait_for_filling,
    without,
)

# For users of Weft.
__all__ = ["add_stream", "engine", "feed", "is_portable"]
# For Weft's own tests.
__all__ += ["FED", "adopted", "around_ticks", "costs", "fill_nothing", "kinds_read", "mark", "move", "next_mark"]
__all__ += ["run", "settle", "start_anew", "stay", "ticker", "wait_for_filling", "without"]

# What Spark needs for a few rows: two cores, and code that runs once is not compiled well.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
}


def engine(folder: str | os.PathLike[str], **options: Any) -> Engine:
    """An engine on a folder of the test's own, with a small Spark where it needs Spark; `options` are weft.Engine's."""
    if options.get("spark") is None:
        options["spark_settings"] = {**SETTINGS, **(options.get("spark_settings") or {})}
    return Engine(folder, **options)


def add_stream(engine: Engine, name: str, *, schema: str, event_time: str, watermark: str = "0 seconds") -> None:
    """Add a stream that has no source: its rows are fed. Event times may be any, however far ahead of the clock."""
    nowhere = os.path.join(engine._folder.root, "nowhere")
    engine.add_stream(
        name, source="parquet", path=nowhere, schema=schema, event_time=event_time, watermark=watermark, max_ahead="any"
    )


def feed(engine: Engine, stream: str, rows: Iterable[Mapping[str, Any]] | pa.Table, *, spark: bool = False) -> None:
    """Run a tick over these rows, dictionaries or an Arrow table; a column that a row lacks is NULL in it.

    Moments may be texts, in UTC unless they name another zone. With `spark` Spark computes the rows' part in any case.
    """
    ticks = ticker(engine, stream)
    table = fed_table(rows, ticks.stream)
    batch = FedBatch(next_mark(engine, stream), table, ticks.stream, engine)
    ticks.run(batch.on_spark() if spark else batch)


def is_portable(engine: Engine, sql: str) -> bool:
    """Whether fed rows of this query are computed without Spark."""
    query = engine.registry.preview(sql)
    return is_portable_network(build_network(query.row.stream, {query.name: query.needs}))
