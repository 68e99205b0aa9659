"""Seconds by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

# What belongs to no stage: between two of them, which should be next to nothing.
OTHER = "other"


@dataclass
class Stopwatch:
    """Seconds by stage, and since the watch began to run."""

    seconds: dict[str, float] = field(default_factory=dict)
    begin: float = field(default_factory=time.monotonic)
    # Of the stages that are under way, the seconds that belong to stages inside of them.
    _inside: list[float] = field(default_factory=list, repr=False)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what passes meanwhile under this name; of a stage inside another stage, under its own name only."""
        begin = time.monotonic()
        self._inside.append(0.0)
        try:
            yield
        finally:
            passed = time.monotonic() - begin
            own = passed - self._inside.pop()
            if self._inside:
                self._inside[-1] += passed
            self.seconds[name] = round(self.seconds.get(name, 0.0) + own, 4)

    def stop(self) -> dict[str, float]:
        """The seconds of all stages until now, and what belongs to none of them: together all the time that passed."""
        return whole(self.seconds, time.monotonic() - self.begin, OTHER)


def whole(seconds: Mapping[str, float], passed: float, rest: str) -> dict[str, float]:
    """Add the stage `rest`, so that the stages make up all the time that passed.

    >>> whole({"a": 1.0, "b": 0.5}, 1.75, "rest")
    {'a': 1.0, 'b': 0.5, 'rest': 0.25}
    """
    return {**seconds, rest: round(max(0.0, passed - sum(seconds.values())), 4)}


def added(seconds: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """Add the seconds of two clocks, by stage."""
    return {name: round(seconds.get(name, 0.0) + more.get(name, 0.0), 4) for name in {**seconds, **more}}
