"""Ticks by hand, for Weft's own tests: they reach into an engine here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import pyarrow as pa

from weft.engine import Engine
from weft.plan.placement import Placement
from weft.plan.prices import Costs
from weft.segments.segment import SegmentRow
from weft.spark.checkpoint import BatchMark
from weft.spark.compute import Arrived
from weft.tick.ticker import Ticker

# The checkpoint that fed batches say they are of.
FED = "fed"


def ticker(engine: Engine, stream: str) -> Ticker:
    """What runs the ticks of a stream, for tests of its own parts."""
    return engine._runners.ticker(stream)


def run(engine: Engine, stream: str, batch: Arrived) -> None:
    """Run the tick of a batch that the test made, for example of partial rows that it computed itself."""
    ticker(engine, stream).run(batch)


def mark(number: int, checkpoint: str = FED, digest: str | None = None) -> BatchMark:
    """The identity of a batch."""
    return BatchMark(checkpoint, number, f"offsets {number}" if digest is None else digest)


def next_mark(engine: Engine, stream: str, checkpoint: str = FED) -> BatchMark:
    """The identity of the batch after the newest committed batch."""
    return mark(engine.state_of(stream).batch_id + 1, checkpoint)


def adopted(engine: Engine, stream: str, batch: BatchMark) -> BatchMark:
    """A batch of a checkpoint that was adopted, under the number that it has in the stream."""
    return ticker(engine, stream).numbered(batch)


def start_anew(engine: Engine, stream: str) -> None:
    """Be as the catalog is, as a stream does when it starts."""
    ticker(engine, stream).start_anew()


def move(engine: Engine, stream: str, placements: Mapping[str, str | Placement]) -> None:
    """Have the next tick keep the rows of queries elsewhere: in the tree of that name, or as the placement says."""
    placed = {name: to if isinstance(to, Placement) else Placement(to) for name, to in placements.items()}
    engine.planner(stream).place(placed)


def stay(engine: Engine, stream: str) -> None:
    """From now on the optimizer moves no query of the stream by itself."""
    engine.planner(stream).optimizer.moves = lambda *_: {}  # type: ignore[method-assign]


def settle(engine: Engine, stream: str) -> None:
    """Wait for the search beside the ticks: what it finds must not depend on how fast a machine is."""
    engine.planner(stream).optimizer.wait()


def fill_nothing(engine: Engine, stream: str) -> None:
    """From now on queries of the stream that come late get nothing of the rows that are kept."""
    engine.planner(stream).begin_fillings = lambda: None  # type: ignore[method-assign]


def wait_for_filling(engine: Engine, stream: str) -> None:
    """Wait until no kept rows are being counted for queries that came later."""
    ticker(engine, stream).filler.wait()


def costs(engine: Engine, stream: str) -> Costs:
    """The prices that the stream's plans are judged by."""
    return engine.planner(stream).optimizer.costs


@contextmanager
def without(engine: Engine, stream: str, *stages: str) -> Iterator[None]:
    """Leave stages out of the stream's ticks, to show what they are for."""
    ticks = ticker(engine, stream)
    names = {stage.name for stage in ticks.stages}
    assert names.issuperset(stages), f"the stages of a tick are {', '.join(sorted(names))}"
    with patch.object(ticks, "without", frozenset(stages)):
        yield


@contextmanager
def around_ticks(engine: Engine, stream: str, act: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Put something around every tick of a stream: `act` is called with the tick, to run it or not."""
    ticks = ticker(engine, stream)
    tick = ticks.run
    with patch.object(ticks, "run", lambda batch: act(lambda: tick(batch))):
        yield


@contextmanager
def kinds_read(engine: Engine) -> Iterator[list[str]]:
    """The kinds of the files that answers are read from meanwhile: `tick`, `block`, `result` for finished windows."""
    kinds: list[str] = []
    get = engine.cache.get

    def noted(segment: SegmentRow) -> pa.Table:
        kinds.append(segment.kind)
        return get(segment)

    with patch.object(engine.cache, "get", noted):
        yield kinds
