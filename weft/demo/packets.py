"""A packet stream from a seed: addresses and ports skewed as traffic is, some packets out of order, a few too late.

A file is a tick (maxFilesPerTrigger = 1), so what is late follows from the files alone: a packet in file k counts for
the windows that end after the watermark at the start of tick k, which is the newest time in files 0 .. k-1 less the
delay. `Packets.watermarks` holds these, computed here and not by the engine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, saddr string, daddr string, proto int, port int, length int"
DELAY_SECONDS = 5
WATERMARK = f"{DELAY_SECONDS} seconds"
# Event time that a file covers: the stream runs faster than the clock, so that a minute shows many windows.
FILE_SECONDS = 10
START = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000
ADDRESSES = 200
PROTOCOLS = {6: 0.72, 17: 0.22, 1: 0.03, 47: 0.02, 50: 0.01}
PORTS = (443, 80, 53, 22, 25, 123, 3306, 5432, 6379, 8080, 8443, 993, 9092, 1883, 5060, 3389, *range(30000, 30084))
SMALLEST, LARGEST = 40, 1500
DISORDER, LATE = 0.05, 0.002

_SECOND = 1_000_000


@dataclass(frozen=True)
class Packets:
    """The files of a stream, in the order they arrive, and the watermark before each; None before the first."""

    files: tuple[pa.Table, ...]
    watermarks: tuple[int | None, ...]

    @property
    def rows(self) -> int:
        return sum(file.num_rows for file in self.files)

    def first(self, count: int) -> Packets:
        """The first files alone."""
        return Packets(self.files[:count], self.watermarks[:count])

    def late_for(self, index: int, ends: np.ndarray) -> np.ndarray:
        """Which packets of a file come after the window that ends at `ends` was closed."""
        watermark = self.watermarks[index]
        return np.zeros(len(ends), bool) if watermark is None else ends <= watermark


def make_packets(*, rows: int, files: int, seed: int) -> Packets:
    """The whole stream; the same for the same arguments."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, files * FILE_SECONDS * _SECOND, rows))
    arrival = times + _delays(random, rows)
    table = pa.table({
        "ts": pa.array(START + times, pa.timestamp("us", tz="UTC")),
        "saddr": _addresses(random, rows, "10.0"), "daddr": _addresses(random, rows, "10.1"),
        "proto": pa.array(random.choice(list(PROTOCOLS), rows, p=list(PROTOCOLS.values())), pa.int32()),
        "port": pa.array(np.array(PORTS)[_zipf(random, rows, len(PORTS))], pa.int32()),
        "length": pa.array(_lengths(random, rows), pa.int32())})
    # A packet that would arrive after the end comes with the last file.
    file_index = np.minimum(arrival // (FILE_SECONDS * _SECOND), files - 1)
    order = np.lexsort((arrival, file_index))
    table, bounds = table.take(pa.array(order)), np.searchsorted(file_index[order], np.arange(files + 1))
    tables = tuple(table.slice(bounds[k], bounds[k + 1] - bounds[k]) for k in range(files))
    return Packets(tables, tuple(_watermarks(tables)))


def write_packets(packets: Packets, folder: Path) -> Iterator[Path]:
    """Write the files in turn, each at once whole and with a time of its own: Spark takes them in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    first = int(datetime.now(UTC).timestamp()) - len(packets.files)
    for index, table in enumerate(packets.files):
        path = folder / file_name(index)
        hidden = path.with_name(f".{path.name}")
        pq.write_table(table, hidden)
        os.utime(hidden, (first + index, first + index))
        os.replace(hidden, path)
        yield path


def file_name(index: int) -> str:
    return f"packets-{index:05}.parquet"


def _delays(random: np.random.Generator, rows: int) -> np.ndarray:
    """How much later than its time each packet arrives: most at once, some within the watermark, a few far behind."""
    kind = random.random(rows)
    small = random.integers(0, (DELAY_SECONDS - 1) * _SECOND, rows)
    large = random.integers(3 * DELAY_SECONDS * _SECOND, 30 * DELAY_SECONDS * _SECOND, rows)
    return np.where(kind < LATE, large, np.where(kind < LATE + DISORDER, small, 0))


def _zipf(random: np.random.Generator, rows: int, kinds: int) -> np.ndarray:
    """Ranks, the first the most frequent: the r-th about 1/r as often."""
    weights = 1 / np.arange(1, kinds + 1)
    return random.choice(kinds, rows, p=weights / weights.sum())


def _addresses(random: np.random.Generator, rows: int, net: str) -> pa.Array:
    names = [f"{net}.{rank // 50}.{rank % 50 + 1}" for rank in range(ADDRESSES)]
    return pa.DictionaryArray.from_arrays(_zipf(random, rows, ADDRESSES).astype(np.int32), names).cast(pa.string())


def _lengths(random: np.random.Generator, rows: int) -> np.ndarray:
    """Acknowledgements, full frames, and everything in between."""
    kind = random.random(rows)
    between = random.integers(SMALLEST, LARGEST + 1, rows)
    return np.where(kind < 0.4, random.integers(SMALLEST, 80, rows), np.where(kind < 0.75, LARGEST, between))


def _watermarks(files: tuple[pa.Table, ...]) -> Iterator[int | None]:
    newest: int | None = None
    for file in files:
        yield None if newest is None else newest - DELAY_SECONDS * _SECOND
        times = np.asarray(file["ts"].cast(pa.int64()))
        newest = max([*([] if newest is None else [newest]), *([int(times.max())] if len(times) else [])], default=None)
