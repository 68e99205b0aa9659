"""Restart: an engine with 1,000 queries and an hour of state is ready within a minute, and reads before Spark is up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import weft
import weft.store.folder
import weft.testing
from benchmarks.workloads import SCHEMA, dashboards
from tests.engine.harness import write_tick
from tests.faults.restart import READS, chosen, digest, digest_all
from tests.simulation.level0 import PlainBatch
from tests.simulation.world import SharedDuck

ROOT = Path(__file__).parents[2]
QUERIES, HOUR, TICKS = 1000, 3600, 20
READY_SECONDS = 60
# From when the engine begins to open, before Spark is up.
FIRST_SECONDS = 15
START = 1_700_000_000
SECOND = 1_000_000
GROUPS = ("saddr", "daddr", "proto", "port", "proto, port", "saddr, proto")
AGGREGATES = ("sum(length)", "min(length)", "max(length)", "count(*)")


def plain_dashboards(count: int) -> dict[str, str]:
    """Queries like those of the benchmark, without what needs Spark to be computed."""
    random = Random("restart")
    queries = {}
    for place in range(count):
        group, slide = GROUPS[place % len(GROUPS)], random.choice((5, 10, 15, 20, 30))
        measures = ", ".join(f"{one} AS m{at}" for at, one in enumerate(random.sample(AGGREGATES, 2)))
        window = f"window(ts, '{slide * random.randint(1, 6)} seconds', '{slide} seconds')"
        queries[f"dashboard_{place}"] = f"SELECT {group}, {measures} FROM packets GROUP BY {window}, {group}"
    return queries


def packets(tick: int, count: int) -> list[dict[str, Any]]:
    """The rows of one of the ticks of an hour."""
    random, length = Random(f"packets {tick}"), HOUR // TICKS
    return [
        {
            "ts": (START + tick * length) * SECOND + place * length * SECOND // count,
            "saddr": f"10.0.0.{random.randrange(200)}",
            "daddr": f"10.0.1.{random.randrange(200)}",
            "proto": random.randrange(5),
            "port": random.randrange(100),
            "length": random.randint(40, 1500),
        }
        for place in range(count)
    ]


def add_packets(engine: weft.Engine, folder: Path) -> None:
    engine.add_stream("packets", source="parquet", path=folder / "in", schema=SCHEMA, event_time="ts",
                      options={"maxFilesPerTrigger": 1})


@pytest.fixture(scope="module")
def hour(quick_folder: Path) -> Iterator[tuple[Path, str, str]]:
    """A state with an hour of packets for 1,000 queries; the digests of what they answer."""
    with patch.object(weft.store.folder, "Duck", SharedDuck):
        engine = weft.Engine(quick_folder / "state")
    with engine:
        add_packets(engine, quick_folder)
        engine.register_all(plain_dashboards(QUERIES), keep="1 hour")
        for tick in range(TICKS):
            weft.testing.run(engine, "packets", PlainBatch(weft.testing.mark(tick), packets(tick, 600)))
        tables = [engine.query(name).result() for name in chosen(list(plain_dashboards(QUERIES)))]
        held = engine.metrics()["streams"]["packets"]
        print({key: held[key] for key in ("queries", "nodes", "state_rows", "state_bytes", "state_files")})
    yield quick_folder / "state", digest(tables[0]), digest_all(tables)


def restart(tell: Callable[[str], None], *arguments: Path) -> dict[str, dict[str, Any]]:
    """What a new process says, by what it was about."""
    command = [sys.executable, "-m", "tests.faults.restart", str(time.time()), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    tell(", ".join(f"{one['what']} after {one['seconds']} s" for one in said))
    return {one["what"]: one for one in said}


def test_a_thousand_queries_are_ready_at_once(hour: tuple[Path, str, str], tell: Callable[[str], None]) -> None:
    """A new process has its first result, and then a hundred, in seconds, all of them right, and without Spark."""
    folder, first, every = hour
    said = restart(tell, folder)
    assert said["opened"]["queries"] == QUERIES
    assert (said["first result"]["digest"], said["results"]["digest"]) == (first, every)
    assert said["first result"]["seconds"] - said["imported"]["seconds"] <= FIRST_SECONDS
    assert said["results"]["count"] == READS and said["results"]["rows"] > READS
    assert said["results"]["seconds"] <= READY_SECONDS


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"ts": pa.timestamp("us", tz="UTC"), "saddr": pa.string(), "daddr": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], kinds.get(name, pa.int32())) for name in rows[0]})


@pytest.mark.slow
def test_a_thousand_queries_go_on_within_a_minute(tmp_path: Path, tell: Callable[[str], None]) -> None:
    """The same with Spark and the benchmark's own queries: from the start of the process to the next tick committed."""
    for tick in range(TICKS):
        write_tick(tmp_path / "in", tick, as_table(packets(tick, 10_000)))
    with weft.Engine(tmp_path / "state", spark_settings={"spark.master": "local[2]"}) as engine:
        add_packets(engine, tmp_path)
        engine.register_all(dashboards(QUERIES), keep="1 hour")
        engine.run_available()
    write_tick(tmp_path / "in", TICKS, as_table(packets(TICKS, 10_000)))
    said = restart(tell, tmp_path / "state", tmp_path / "in")
    assert said["first result"]["seconds"] - said["imported"]["seconds"] <= FIRST_SECONDS
    assert said["results"]["seconds"] <= READY_SECONDS
    assert said["new tick committed"]["seconds"] <= READY_SECONDS
