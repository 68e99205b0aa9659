"""A tick as a list of named stages: what each takes of what was made before it, and what it makes.

Kept: a stage runs once, in the order of the list, when all that it takes is there. A stage that lacks an input is
passed over, and so are the stages that take what it would have made. Every stage's seconds go under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from weft.optimize.planning import Plan
from weft.spark.batch import BatchOutput
from weft.spark.compute import Arrived
from weft.spark.dead import DeadLetters
from weft.store.derive import NewRows
from weft.watch.stopwatch import Stopwatch

Part = TypeVar("Part")


@dataclass(frozen=True)
class Arrival:
    """The batch that the tick is of, and the clock of its stages."""

    batch: Arrived
    watch: Stopwatch


@dataclass(frozen=True)
class Opened:
    """The stream is ready for a batch that is not committed yet; its watermark until now."""

    watermark: int | None


@dataclass(frozen=True)
class Planned:
    """What is registered is known, as of a revision of the catalog; and the Spark jobs that there were before."""

    revision: int
    jobs: int


@dataclass(frozen=True)
class Computed:
    """What the batch held, new rows of every node by a plan, the rows that count for nothing."""

    plan: Plan
    output: BatchOutput
    new: NewRows
    letters: DeadLetters


@dataclass(frozen=True)
class Committed:
    """The tick is visible, whole; the watermark from now on."""

    watermark: int | None


@dataclass(frozen=True)
class Finished:
    """How many files of finished windows were stored."""

    files: int


@dataclass(frozen=True)
class Tended:
    """Closed slices are sealed, and small files merged: how many stored rows were written anew for it."""

    rewritten: int


@dataclass(frozen=True)
class Swept:
    """What nobody can need is deleted."""


class Made:
    """What a tick has made so far, by kind."""

    def __init__(self, arrival: Arrival) -> None:
        self._parts: dict[type[object], object] = {Arrival: arrival}

    def get(self, kind: type[Part]) -> Part | None:
        """The part of this kind, None where it was not made."""
        part = self._parts.get(kind)
        return part if isinstance(part, kind) else None

    def put(self, part: object) -> None:
        """Keep what a stage made; None is kept as nothing."""
        if part is not None:
            self._parts[type(part)] = part


@dataclass(frozen=True)
class Stage:
    """A step of a tick. `run` is called with what it `reads`, then with what is `beside`, None where that is missing.

    It returns what the stage makes, and None where nothing is left to be done.
    """

    name: str
    reads: tuple[type[object], ...]
    makes: type[object]
    run: Callable[..., object]
    beside: tuple[type[object], ...] = ()


def run_stages(stages: Sequence[Stage], arrival: Arrival, without: Collection[str] = ()) -> Made:
    """Run the stages of a tick, but for the stages that `without` names, and return what they made."""
    made = Made(arrival)
    for stage in stages:
        inputs = [made.get(kind) for kind in stage.reads]
        if stage.name in without or None in inputs:
            continue
        with arrival.watch.stage(stage.name):
            made.put(stage.run(*inputs, *(made.get(kind) for kind in stage.beside)))
    return made
