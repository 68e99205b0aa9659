"""Packet headers of two links: fifteen minutes of ordinary traffic, and from minute six to nine one customer host that
floods the backbone. Run it, then `weft run`."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = int(datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp()) * 1_000_000
MINUTES = 15
SECOND = 1_000_000


def packets(random: np.random.Generator, rows: int, *, minutes: tuple[int, int], senders: list[str]) -> pa.Table:
    """Packets of some minutes, the first senders and receivers the busiest, a few seconds out of order."""
    weights = 1 / np.arange(1, len(senders) + 1)
    times = random.integers(minutes[0] * 60 * SECOND, minutes[1] * 60 * SECOND, rows)
    return pa.table({
        "ts": pa.array(START + times, pa.timestamp("us", tz="UTC")),
        "saddr": pa.array(np.array(senders)[random.choice(len(senders), rows, p=weights / weights.sum())]),
        "daddr": pa.array([f"192.168.1.{host}" for host in random.zipf(1.6, rows) % 50 + 1]),
        "id": pa.array(random.integers(0, 2**31, rows), pa.int64()),
        "length": pa.array(np.where(random.random(rows) < 0.5, 1500, random.integers(40, 1500, rows)), pa.int32())})


def write(table: pa.Table, folder: Path) -> None:
    """One file a minute of arrival; a packet arrives up to five seconds after its time."""
    folder.mkdir(parents=True, exist_ok=True)
    times = np.asarray(table["ts"].cast(pa.int64()))
    arrival = (times - START + np.random.default_rng(len(times)).integers(0, 5 * SECOND, len(times))) // (60 * SECOND)
    for minute in range(MINUTES + 1):
        path = folder / f"minute-{minute:02}.parquet"
        pq.write_table(table.filter(pa.array(arrival == minute)), path)
        # Spark takes files in the order of their times, and these were all made at once.
        os.utime(path, (1_700_000_000 + minute, 1_700_000_000 + minute))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=30_000, help="packets on the backbone, but for the flood")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path(__file__).parent / "in")
    chosen = options.parse_args()
    random = np.random.default_rng(chosen.seed)
    customer = [f"10.7.0.{host}" for host in range(1, 11)]
    others = [f"10.{net}.0.{host}" for net in range(1, 6) for host in range(1, 9)]
    normal = packets(random, chosen.rows, minutes=(0, MINUTES), senders=others)
    own = packets(random, chosen.rows // 5, minutes=(0, MINUTES), senders=customer)
    flood = packets(random, chosen.rows // 3, minutes=(6, 9), senders=["10.7.0.3"])
    write(pa.concat_tables([normal, own, flood]), chosen.out / "backbone")
    write(pa.concat_tables([own, flood]), chosen.out / "customer")


if __name__ == "__main__":
    main()
