"""How a run looks: a table that is redrawn on a terminal, a line a tick everywhere else."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from weft.terminal.output import cell, console, many, print_json, say, text_table
from weft.terminal.values import from_micros
from weft.tick.events import TickCommitted

if TYPE_CHECKING:
    from weft.engine import Engine

RATE_SECONDS = 10.0
COLUMNS = ["stream", "rows", "rows/s", "late", "ticks", "watermark", "queries", "nodes", "state", "jobs/tick", "s/tick"]


class Display(Protocol):
    """Shows the engine's metrics again and again."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None: ...

    def show(self, metrics: dict[str, Any], *, last: bool = False) -> None: ...

    def note(self, words: str) -> None: ...


def make_display(engine: Engine, *, plain: bool, as_json: bool = False) -> Display:
    """The display that fits where the output goes."""
    if as_json:
        return JsonDisplay(engine)
    return PlainDisplay(engine) if plain or not sys.stdout.isatty() else LiveDisplay()


class Rate:
    """Rows per second over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, now: float, rows: int) -> float:
        """The rate after seeing this many rows in all.

        >>> rate = Rate()
        >>> [rate.at(0.0, 0), rate.at(2.0, 100), rate.at(20.0, 100)]
        [0.0, 50.0, 0.0]
        """
        self._seen.append((now, rows))
        while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_SECONDS:
            self._seen.popleft()
        first = self._seen[0]
        return (rows - first[1]) / (now - first[0]) if now > first[0] else 0.0


class PlainDisplay:
    """A line for every tick."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ticks: deque[TickCommitted] = deque()
        self._end: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        self._end = self._engine.listen(self._ticks.append, [TickCommitted])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end()

    def show(self, metrics: dict[str, Any], *, last: bool = False) -> None:
        if last:
            # So that no tick is on its way any more.
            self._end()
        while self._ticks:
            self.show_tick(self._ticks.popleft())
        if last:
            self.sum_up(metrics)

    def show_tick(self, tick: TickCommitted) -> None:
        self.note(_line(tick))

    def sum_up(self, metrics: dict[str, Any]) -> None:
        for name, numbers in metrics["streams"].items():
            self.note(f"{name}: stopped after {many(numbers['rows'], 'row')} in {many(numbers['ticks'], 'tick')}, "
                      f"{numbers['late_rows']:,} too late for every window")

    def note(self, words: str) -> None:
        print(words, flush=True)


class JsonDisplay(PlainDisplay):
    """A JSON object a line for every tick."""

    def show_tick(self, tick: TickCommitted) -> None:
        names = ("stream", "batch_id", "rows", "jobs", "queries", "nodes", "partial_rows")
        told = {name: getattr(tick, name) for name in names}
        print_json({**told, "seconds": tick.took, "watermark": from_micros(tick.watermark)}, lines=True)

    def sum_up(self, metrics: dict[str, Any]) -> None:
        """Every line is a tick."""

    def note(self, words: str) -> None:
        say(words)


def _line(tick: TickCommitted) -> str:
    rate = tick.rows / tick.took if tick.took else 0
    return (f"{tick.stream}: tick {tick.batch_id}, {many(tick.rows, 'row')} ({rate:,.0f}/s), "
            f"{many(tick.queries, 'query', 'queries')} on {many(tick.nodes, 'node')}, {many(tick.jobs, 'Spark job')}, "
            f"{tick.took:.2f} s, watermark {cell(from_micros(tick.watermark))}")


def filling_bars(metrics: dict[str, Any]) -> list[str]:
    """A line with a bar for every stream whose late queries are being filled from kept rows.

    >>> filling_bars({"streams": {"packets": {"filled": 0.4}, "others": {"filled": None}}})
    ['packets: filling late queries from kept rows ████████············ 40 %']
    """
    shares = {name: numbers.get("filled") for name, numbers in metrics["streams"].items()}
    return [
        f"{name}: filling late queries from kept rows {'█' * int(20 * share):·<20} {100 * share:.0f} %"
        for name, share in shares.items()
        if share is not None
    ]


class LiveDisplay:
    """A table that is redrawn where it stands."""

    def __init__(self) -> None:
        self._live = Live(console=console(), refresh_per_second=4, transient=False)
        self._rates: dict[str, Rate] = {}
        self._note = "Ctrl-C stops after the tick that is under way"

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._live.stop()

    def show(self, metrics: dict[str, Any], *, last: bool = False) -> None:
        now = time.monotonic()
        rows = [self._row(name, numbers, now) for name, numbers in metrics["streams"].items()]
        table = text_table(COLUMNS, rows, right=[False, *(column != "watermark" for column in COLUMNS[1:])])
        bars = map(Text, filling_bars(metrics))
        self._live.update(Group(table, *bars, Text("stopped" if last else self._note, style="dim")))

    def note(self, words: str) -> None:
        self._note = words

    def _row(self, name: str, numbers: dict[str, Any], now: float) -> list[str]:
        tick = numbers["last_tick"]
        rate = self._rates.setdefault(name, Rate()).at(now, numbers["rows"])
        return [name, f"{numbers['rows']:,}", f"{rate:,.0f}", f"{numbers['late_rows']:,}", f"{numbers['ticks']:,}",
                cell(from_micros(numbers["watermark"])), f"{numbers['queries']:,}", f"{numbers['nodes']:,}",
                f"{numbers['state_bytes'] / 1e6:,.1f} MB", str(tick.get("jobs", "")),
                f"{sum(tick.get('seconds', {}).values()):.2f}"]
