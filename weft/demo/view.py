"""How the demo looks: a picture that is redrawn where it stands on a terminal, a line a tick everywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol, Self

import pyarrow as pa
from rich.columns import Columns
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.demo.progress import Progress
from weft.terminal.output import cell, console, rows_table
from weft.terminal.values import from_micros

FEATURED_ROWS = 3


class DemoView(Protocol):
    """Shows progress when told to."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None: ...

    def phase(self, words: str) -> None: ...

    def refresh(self) -> None: ...


def make_view(progress: Progress, *, plain: bool) -> DemoView:
    """The view that fits where the output goes."""
    return PlainDemo(progress) if plain or not sys.stdout.isatty() else LiveDemo(progress)


class PlainDemo:
    """A line for every phase and for every tick."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._shown = progress, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        return None

    def phase(self, words: str) -> None:
        self._progress.phase = words
        self._line(words)

    def refresh(self) -> None:
        progress = self._progress
        while self._shown < len(progress.ticks):
            tick = progress.ticks[self._shown]
            self._shown += 1
            done = sum(tick.rows for tick in progress.ticks[: self._shown])
            self._line(f"tick {tick.batch_id}: {tick.rows:,} rows in {tick.took:.2f} s, {tick.jobs} Spark jobs, "
                       f"{done / progress.rows:.0%} of all rows; {progress.windows_closed:,} windows closed, "
                       f"{_top(progress)}")

    def _line(self, words: str) -> None:
        print(f"{time.monotonic() - self._progress.started:5.1f} s  {words}", flush=True)


def _top(progress: Progress) -> str:
    """The leader of the first featured query, so that a plain log shows a result changing too."""
    table = progress.results.get("top_talkers")
    if table is None or not table.num_rows:
        return "no result yet"
    first = table.slice(0, 1).to_pylist()[0]
    return f"top talker {first['saddr']} with {first['bytes']:,} bytes"


class LiveDemo:
    """A picture, drawn four times a second."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._live = Live(console=console(), refresh_per_second=4, get_renderable=self._picture)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._live.stop()

    def phase(self, words: str) -> None:
        self._progress.phase = words

    def refresh(self) -> None:
        return None

    def _picture(self) -> Group:
        progress = self._progress
        seconds = time.monotonic() - progress.started
        bar = Table.grid(padding=(0, 2))
        bar.add_row(Text(f"{seconds:5.1f} s", style="dim"), Text(progress.phase, style="bold"))
        bar.add_row(f"{progress.rows_done / max(1, progress.rows):7.0%}",
                    ProgressBar(total=max(1, progress.rows), completed=progress.rows_done, width=60))
        results = [_result(name, table) for name, table in sorted(progress.results.items()) if table.num_rows]
        return Group(bar, Panel(_numbers(progress), title="weft demo", title_align="left", expand=False),
                     Columns(results, padding=(0, 4)))


def _result(name: str, table: pa.Table) -> Table:
    """The newest window of a featured query, under its name and end."""
    end = cell(table["window_end"][0].as_py())
    return rows_table(table.drop_columns(["window_start", "window_end"]), title=f"{name}, until {end}",
                      limit=FEATURED_ROWS)


def _numbers(progress: Progress) -> Table:
    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    last = progress.ticks[-1] if progress.ticks else None
    nodes = f"on {last.nodes if last else 0} nodes, {progress.base_nodes} of them computed from rows"
    watermark = "none yet" if progress.watermark is None else cell(from_micros(progress.watermark))
    lines = [
        ("rows", f"{progress.rows_done:,}", f"of {progress.rows:,}"),
        ("rows per second", f"{progress.rows_per_second:,.0f}", "over the time of all ticks but the first"),
        ("queries", f"{len(progress.queries):,}", nodes),
        ("windows closed", f"{progress.windows_closed:,}", f"watermark {watermark}"),
        ("rows too late", f"{progress.late_rows:,}", "for every window of every query"),
        ("Spark jobs per tick", f"{last.jobs if last else 0}", f"{last.took if last else 0:.2f} s the last tick"),
        ("work saved", f"{progress.saved:,.0f} x", "rows aggregated by separate queries over rows aggregated here"),
        ("", f"{progress.separate_work:,}", "rows for separate queries: queries x rows"),
        ("", f"{progress.shared_work:,}", "rows here: base nodes x rows + partial rows made by ticks"),
    ]
    for line in lines:
        table.add_row(*line)
    return table
