"""What a tick says happened, as plain values: `engine.listen()` hands them to whoever wants to know.

Events of a stream come in the order of its ticks, each once. Within a tick come the queries that it stopped, the span
of time that it closed, then the tick itself, when all of its seconds are known. A tick that fails says so instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class TickCommitted:
    """A tick that is committed and over, in numbers; watermarks are microseconds of event time, None before any row.

    `seconds` are by stage, Spark's own around the tick included. `priced_seconds` are what it should have taken by the
    prices that plans are made by, `predicted_seconds` these by what the ticks before took; both are known where a tick
    learned its facts. `kernel` says what computed it from rows: `spark` or `duckdb`. `rewritten` are the stored rows
    that it sealed or merged into other files.
    """

    stream: str
    batch_id: int
    rows: int
    dead: int
    jobs: int
    queries: int
    nodes: int
    partial_rows: int
    kernel: str
    priced_seconds: float | None
    predicted_seconds: float | None
    amounts: Mapping[str, float]
    committed_at: str
    watermark_before: int | None
    watermark: int | None
    seconds: Mapping[str, float]
    rewritten: int = 0

    @property
    def took(self) -> float:
        """All of its seconds."""
        return sum(self.seconds.values())

    def closed(self) -> tuple[WindowsClosed, ...]:
        """The span of time that it closed, if any."""
        if self.watermark is None or self.watermark == self.watermark_before:
            return ()
        return (WindowsClosed(self.stream, self.batch_id, self.watermark_before, self.watermark),)

    def numbers(self) -> dict[str, Any]:
        """What the catalog, the metrics and the log say of the tick, without its stream."""
        told = asdict(self)
        del told["stream"], told["watermark_before"], told["watermark"]
        return told


@dataclass(frozen=True)
class WindowsClosed:
    """The watermark of a stream went on: every window that ends after `before` and not after `watermark` is closed.

    `before` is None at the first rows. Which windows of a query are closed, its slide says. A tick that failed or a
    process that died after a commit says nothing: then the next `before` is not the last `watermark`.
    """

    stream: str
    batch_id: int
    before: int | None
    watermark: int


@dataclass(frozen=True)
class QueriesStopped:
    """Queries that failed on a row and run no more, each with the reason; all others go on."""

    stream: str
    batch_id: int
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class TickFailed:
    """A tick that raised an error, which ends the stream here. It runs again at the next start."""

    stream: str
    batch_id: int
    error: str


Event = TickCommitted | WindowsClosed | QueriesStopped | TickFailed
EVENTS: tuple[type[Event], ...] = (TickCommitted, WindowsClosed, QueriesStopped, TickFailed)
