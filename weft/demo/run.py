"""The demo from start to end: make packets and queries, run the stream, show it, compare, clean up."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from weft.demo.compare import Comparison, compare, pick_windows
from weft.demo.packets import SCHEMA, WATERMARK, Packets, make_packets, write_packets
from weft.demo.progress import Progress
from weft.demo.queries import FEATURED, DemoQuery, make_queries
from weft.demo.view import DemoView, make_view
from weft.errors import EngineError
from weft.terminal.running import StopSignals, Worker
from weft.terminal.spark_output import jvm_output_to
from weft.tick.events import TickCommitted

if TYPE_CHECKING:
    from weft.engine import Engine

MARK = "weft-demo"
LOOK_SECONDS = 0.25
# How often a file arrives; ticks of a thousand queries take about as long on two cores.
FILE_INTERVAL = 1.5
MOST_WAITING = 3
LONGEST_SECONDS = 60
STREAM = "packets"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks for."""

    rows: int
    queries: int
    seconds: float
    seed: int
    windows: int
    folder: Path | None
    plain: bool


def run_demo(options: Options) -> bool:
    """Run it all; whether every answer was right."""
    from weft.engine import Engine

    queries = make_queries(count=options.queries, seed=options.seed)
    progress = Progress(options.rows, queries)
    with _folder(options.folder) as folder, StopSignals() as signals:
        asked = signals.asked
        engine = Engine(folder / "state")
        engine.listen(progress.add, [TickCommitted])
        try:
            with make_view(progress, plain=options.plain) as view:
                packets = _prepare(engine, options, queries, folder, view)
                packets = _stream(engine, packets, options, folder, progress, view, asked)
                compared = _compare(engine, packets, options, folder, progress, view, asked)
            _summary(progress, packets, queries, compared)
            if options.folder is not None:
                print(f"\nThe state stays: weft queries --state {folder / 'state'}")
        finally:
            engine.close()
    equal = all(not comparison.difference for comparison in compared)
    return equal and progress.late_rows == dropped_packets(packets, queries)


def _prepare(engine: Engine, options: Options, queries: list[DemoQuery], folder: Path, view: DemoView) -> Packets:
    """Packets, queries and Spark, all at once: Spark takes the longest to come."""
    view.phase(f"starting Spark, making {options.rows:,} packets, registering {len(queries):,} queries")
    with jvm_output_to(folder / "state" / "spark"):
        starting = Worker(lambda: _ready(engine))
        files = max(3, round(options.seconds / FILE_INTERVAL))
        packets = make_packets(rows=options.rows, files=files, seed=options.seed)
        (folder / "in").mkdir()
        engine.add_stream(STREAM, source="parquet", path=folder / "in", schema=SCHEMA, event_time="ts",
                          watermark=WATERMARK, options={"maxFilesPerTrigger": 1})
        begin = time.monotonic()
        engine.register_all({query.name: query.sql for query in queries})
        took = time.monotonic() - begin
        starting.join()
    view.phase(f"{len(queries):,} queries registered in {took:.1f} s; the stream runs")
    return packets


def _ready(engine: Engine) -> None:
    _ = engine.spark


def _stream(engine: Engine, packets: Packets, options: Options, folder: Path, progress: Progress, view: DemoView,
            asked: threading.Event) -> Packets:
    """Let packets arrive at their pace and wait until all are counted; returns the packets that arrived.

    On a busy machine files wait for ticks, and after some time no more of them come: the demo should end.
    """
    progress.base_nodes = len(engine.network(STREAM).base)
    arriving = write_packets(packets, folder / "in")
    interval = options.seconds / len(packets.files)
    # The first file is there before the start, so that the first tick, which compiles, is not empty.
    next(arriving)
    sent, due = 1, time.monotonic() + interval
    end = due + max(LONGEST_SECONDS, 2 * options.seconds)
    engine.start()
    while (sent < len(packets.files) or len(progress.ticks) < sent) and engine.running:
        if asked.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        if now > end and sent < len(packets.files):
            packets = packets.first(sent)
            progress.rows = packets.rows
        if now >= due and sent < len(packets.files) and sent - len(progress.ticks) < MOST_WAITING:
            next(arriving)
            sent, due = sent + 1, due + interval
        _look(engine, progress)
        view.refresh()
        asked.wait(LOOK_SECONDS)
    engine.stop()
    _look(engine, progress)
    view.refresh()
    return packets


def _look(engine: Engine, progress: Progress) -> None:
    """Take over what changed with the last tick."""
    numbers = engine.metrics()["streams"][STREAM]
    if numbers["watermark"] != progress.watermark:
        progress.results = {query.name: engine.query(query.name).result() for query in FEATURED
                            if query in progress.queries}
    progress.watermark, progress.late_rows = numbers["watermark"], numbers["late_rows"]


def _compare(engine: Engine, packets: Packets, options: Options, folder: Path, progress: Progress, view: DemoView,
             asked: threading.Event) -> list[Comparison]:
    watermark = progress.watermark or 0
    picked = pick_windows(progress.queries, watermark, count=options.windows, seed=options.seed)
    view.phase(f"comparing {len(picked)} windows with plain Spark SQL")
    compared: list[Comparison] = []
    for comparison in compare(engine, packets, folder / "in", picked):
        compared.append(comparison)
        progress.phase = f"comparing with plain Spark SQL: {len(compared)} of {len(picked)} windows"
        if asked.is_set():
            raise KeyboardInterrupt
    return compared


def dropped_packets(packets: Packets, queries: list[DemoQuery]) -> int:
    """How many packets came after every window that they belong to was closed, by the generator's account."""
    kinds = {(query.slide, query.seconds): query for query in queries if query.slide}
    count = 0
    for index, file in enumerate(packets.files):
        times = np.asarray(file["ts"].cast(pa.int64()))
        ends = np.max([query.last_ends(times) for query in kinds.values()], axis=0) if kinds else times
        count += int(packets.late_for(index, ends).sum())
    return count


def _summary(progress: Progress, packets: Packets, queries: list[DemoQuery], compared: list[Comparison]) -> None:
    ticks = progress.ticks
    jobs = sorted({tick.jobs for tick in ticks})
    rows = sum(comparison.rows for comparison in compared)
    equal = sum(not comparison.difference for comparison in compared)
    dropped = dropped_packets(packets, queries)
    print(f"""
{progress.rows_done:,} rows in {len(ticks)} ticks, {progress.rows_per_second:,.0f} rows per second
{len(queries):,} queries on {ticks[-1].nodes} nodes, {progress.base_nodes} of them computed from rows
{progress.windows_closed:,} windows closed, {' or '.join(map(str, jobs))} Spark jobs per tick
{progress.late_rows:,} rows too late for every window, {dropped:,} by the generator's account
work: {len(queries):,} separate queries would each aggregate every row: {progress.separate_work:,}
      here every row is aggregated once for each of {progress.base_nodes} base nodes, plus
      {sum(tick.partial_rows for tick in ticks):,} partial rows that ticks made: {progress.shared_work:,}
      that is {progress.saved:,.0f} times less
{equal} of {len(compared)} windows of random queries equal to plain Spark SQL over the same rows ({rows:,} result rows)
      rows that came after a window was closed are left out on both sides, by the rule and file by file
total {time.monotonic() - progress.started:.0f} s""")
    for comparison in compared:
        if comparison.difference:
            print(f"DIFFERS: {comparison}")


@contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    """A folder that is the demo's own and empty: a temporary folder, or the user's, which holds nothing else."""
    if chosen is None:
        with tempfile.TemporaryDirectory(prefix="weft-demo-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    if chosen.exists() and any(chosen.iterdir()) and not (chosen / MARK).exists():
        raise EngineError("folder-not-empty", f"{chosen} holds something else than a demo",
                          hint="Name a folder that is empty or not there.")
    for part in ("in", "state"):
        shutil.rmtree(chosen / part, ignore_errors=True)
    chosen.mkdir(parents=True, exist_ok=True)
    (chosen / MARK).write_text("made by `weft demo`, which may delete in/ and state/ beside this file\n")
    yield chosen.absolute()
