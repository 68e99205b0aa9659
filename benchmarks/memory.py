"""The memory of a driver with 10,000 queries, in a process of its own that does nothing else.

Run by `make bench`; prints the most that Python and the JVM together ever held, in GB.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import typer

from benchmarks.workloads import SCHEMA, alerts
from weft import Engine


def main(packets: Path, state: Path, queries: int = 10_000) -> None:
    """Register the alerts, process all packets, and say how much memory that took."""
    with Engine(state) as engine:
        engine.add_stream(
            "packets",
            source="parquet",
            path=packets,
            schema=SCHEMA,
            event_time="ts",
            watermark="2 seconds",
            options={"maxFilesPerTrigger": 1},
        )
        engine.register_all(alerts(queries), eager=True)
        engine.run_available()
        print(peak())


def peak() -> float:
    """The most memory that this process and the JVM under it ever held, in GB."""
    mine = f"PPid:\t{os.getpid()}"
    children = (status.read_text(errors="ignore") for status in Path("/proc").glob("[0-9]*/status"))
    jvms = [text for text in children if "Name:\tjava" in text and mine in text]
    # Not getrusage: there a new process starts with the memory of the one that started it.
    return sum(_most(text) for text in (Path("/proc/self/status").read_text(), *jvms))


def _most(status: str) -> float:
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**20


def measure(packets: Path, state: Path) -> float:
    """The same, measured in a new process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(packets), str(state)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    typer.run(main)
