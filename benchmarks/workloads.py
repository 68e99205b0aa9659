"""The two seeded workloads: packets, dashboards over them, and alerts on single entities."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, saddr string, daddr string, proto int, port int, length int"
ROWS_PER_SECOND = 50_000
BATCH_ROWS = 1_000_000
START = 1_700_000_000_000_000

GROUPS = ("saddr", "daddr", "proto", "port", "proto, port", "saddr, proto")
AGGREGATES = ("sum", "count", "avg", "min", "max", "stddev")
SLIDES = (5, 10, 15, 20, 30)


def write_packets(folder: Path, rows: int, seed: int = 7) -> None:
    """Packets in event-time order, one file a micro-batch: 200 addresses, 5 protocols, 100 ports."""
    folder.mkdir(parents=True, exist_ok=True)
    random_numbers = np.random.default_rng(seed)
    sources = np.array([f"10.0.0.{place}" for place in range(200)])
    targets = np.array([f"10.0.1.{place}" for place in range(200)])
    for batch in range(rows // BATCH_ROWS):
        first = batch * BATCH_ROWS
        moments = START + (np.arange(first, first + BATCH_ROWS) * 1_000_000) // ROWS_PER_SECOND
        table = pa.table(
            {
                "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
                "saddr": sources[random_numbers.integers(0, 200, BATCH_ROWS)],
                "daddr": targets[random_numbers.integers(0, 200, BATCH_ROWS)],
                "proto": random_numbers.integers(0, 5, BATCH_ROWS).astype(np.int32),
                "port": random_numbers.integers(0, 100, BATCH_ROWS).astype(np.int32),
                "length": random_numbers.integers(40, 1501, BATCH_ROWS).astype(np.int32),
            }
        )
        # The file source takes files in the order of their modification times.
        path = folder / f"batch-{batch:04}.parquet"
        pq.write_table(table, path)


def dashboards(count: int, seed: int = 1) -> dict[str, str]:
    """Queries over all group-bys in turn; six of them are one for each dimension set."""
    choose = random.Random(seed)
    queries = {}
    for place in range(count):
        group = GROUPS[place % len(GROUPS)]
        slide = choose.choice(SLIDES)
        length = slide * choose.randint(1, 6)
        chosen = choose.sample(AGGREGATES, choose.randint(1, 3))
        measures = ", ".join(f"{name}(length) AS {name}_length" for name in chosen)
        where = choose.choice(("", f"WHERE proto = {choose.randint(0, 4)}"))
        queries[f"dashboard_{place}"] = (
            f"SELECT {group}, {measures} FROM packets {where} "
            f"GROUP BY window(ts, '{length} seconds', '{slide} seconds'), {group}"
        )
    return queries


def alerts(count: int, seed: int = 2) -> dict[str, str]:
    """Queries for one entity each, a threshold on its traffic; lengths are asked for in steps of ten bytes."""
    choose = random.Random(seed)
    queries = {}
    for place in range(count):
        slide = choose.choice(SLIDES)
        length = slide * choose.randint(1, 6)
        atoms = [
            f"saddr = '10.0.0.{choose.randint(0, 199)}'",
            f"daddr = '10.0.1.{choose.randint(0, 199)}'",
            f"port = {choose.randint(0, 99)}",
            f"length > {choose.randint(4, 149) * 10}",
        ]
        where = " AND ".join(choose.sample(atoms, choose.randint(1, 2)))
        queries[f"alert_{place}"] = (
            f"SELECT count(*) AS packets, sum(length) AS bytes FROM packets WHERE {where} "
            f"GROUP BY window(ts, '{length} seconds', '{slide} seconds') "
            f"HAVING sum(length) > {choose.randint(1, 400) * 1000 * length // 5}"
        )
    return queries
