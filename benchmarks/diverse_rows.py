"""The rows of the diverse workloads: seeded, in event-time order, so many files of Parquet a tick."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_000_000_000
COLUMNS = 12
# How many values a column has: from 8 to 19.
KINDS = [8 + place for place in range(COLUMNS)]
SCHEMA = "ts timestamp, " + ", ".join(f"c{place} int" for place in range(COLUMNS)) + ", v double"
MIXED_SCHEMA = f"{SCHEMA}, host string, path string, size bigint, d0 double, d1 double"
WIDE = 300
WIDE_SCHEMA = "ts timestamp, " + ", ".join(f"x{place} int" for place in range(WIDE))
# Spark takes files in the order of their times: those of a tick are a second before those of the next.
FIRST_FILE_TIME = 1_700_000_000

# The columns of so many rows, but for their time.
Columns = Callable[[np.random.Generator, int], dict[str, pa.Array]]


def plain(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Twelve columns with few values, and a number."""
    values = {f"c{place}": pa.array(random.integers(0, KINDS[place], rows, np.int32)) for place in range(COLUMNS)}
    return {**values, "v": pa.array(random.random(rows) * 1_000)}


def mixed(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """The same, some of them NULL, with texts, sizes, and doubles with few values that are NULL at times."""

    def holes(values: np.ndarray, share: float) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < share)

    found = plain(random, rows)
    for name in ("c1", "c4", "v"):
        found[name] = holes(found[name].to_numpy(), 0.05)
    hosts = np.array([f"{kind}-{number}" for kind in ("web", "db", "cache", "queue") for number in range(10)])
    paths = np.array([f"/{area}/{what}" for area in ("api", "static", "admin") for what in ("a", "b", "list", "x%y")])
    return {
        **found,
        "host": holes(hosts[random.integers(0, len(hosts), rows)], 0.02),
        "path": pa.array(paths[random.integers(0, len(paths), rows)]),
        "size": pa.array(random.integers(0, 100_000, rows)),
        "d0": holes(random.integers(0, 12, rows) / 4.0, 0.1),
        "d1": holes(random.integers(-5, 5, rows) / 10.0, 0.2),
    }


def wide(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Three hundred numbers."""
    return {f"x{place}": pa.array(random.integers(0, 1_000, rows, np.int32)) for place in range(WIDE)}


def packets(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """What the dashboards of the sharing benchmark are about."""

    def addresses(network: str) -> pa.Array:
        names = np.array([f"{network}.{place}" for place in range(200)])
        return pa.array(names[random.integers(0, len(names), rows)])

    numbers = {"proto": (0, 5), "port": (0, 100), "length": (40, 1_501)}
    return {
        "saddr": addresses("10.0.0"),
        "daddr": addresses("10.0.1"),
        **{name: pa.array(random.integers(*ends, rows, np.int32)) for name, ends in numbers.items()},
    }


def tables(columns: Columns, rows: int, pace: float, ticks: int, seed: int = 3) -> Iterator[pa.Table]:
    """The rows of every tick; `pace` is the microseconds from a row to the next, more or less."""
    random = np.random.default_rng(seed)
    for tick in range(ticks):
        places = np.arange(tick * rows, (tick + 1) * rows) + random.random(rows)
        moments = pa.array(START + (places * pace).astype(np.int64), pa.timestamp("us", tz="UTC"))
        yield pa.table({"ts": moments, **columns(random, rows)})


def write_ticks(folder: Path, each: Iterator[pa.Table], files: int = 1) -> list[list[Path]]:
    """Write every tick into so many files; the files by tick."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written = []
    for tick, table in enumerate(each):
        size = -(-table.num_rows // files)
        paths = [folder / f"tick-{tick:04}-{part:04}.parquet" for part in range(files)]
        for part, path in enumerate(paths):
            pq.write_table(table.slice(part * size, size), path)
            os.utime(path, (FIRST_FILE_TIME + tick, FIRST_FILE_TIME + tick))
        written.append(paths)
    return written
