"""The streams that this process runs: a ticker and a runner for each, started together and stopped together.

Kept: all streams start, or none; every stream is stopped, whatever another raises. pyspark is loaded with the first
runner, and the tick's modules with the first ticker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from weft.errors import EngineError
from weft.feeds.sources import Roots
from weft.watch.status import StreamStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from weft.optimize.planners import Planners
    from weft.read.kept_rows import KeptRowsReader
    from weft.read.state_reader import StateReader
    from weft.registry.registry import Registry
    from weft.spark.engine_session import EngineSession
    from weft.spark.runner import Runner
    from weft.store.folder import StateFolder
    from weft.tick.bus import Bus
    from weft.tick.ticker import Ticker


class Runners:
    """Runs the streams of an engine; safe to use from several threads."""

    def __init__(
        self,
        folder: StateFolder,
        session: EngineSession,
        registry: Registry,
        states: StateReader,
        planners: Planners,
        roots: Roots,
        bus: Bus,
        kept: KeptRowsReader,
    ) -> None:
        self._folder, self._session, self._registry = folder, session, registry
        self._states, self._planners, self._roots, self._bus = states, planners, roots, bus
        self._kept = kept
        self.by_stream: dict[str, Runner] = {}
        # The rows of the streams that were added as a DataFrame, by stream.
        self.dataframes: dict[str, DataFrame] = {}
        self._tickers: dict[str, Ticker] = {}
        self._lock = threading.RLock()

    def runs(self, stream: str) -> bool:
        """Whether this process runs the stream."""
        return self._states.committed(stream).is_run_here()

    @property
    def any_active(self) -> bool:
        """Whether this process runs any stream."""
        return any(runner.is_active() for runner in list(self.by_stream.values()))

    def start(self, **trigger: str | bool) -> list[Runner]:
        """Start all streams, or none: where a stream cannot start, the streams that did are stopped again."""
        started: list[Runner] = []
        try:
            for name in sorted(self._registry.streams()):
                runner = self.runner(name)
                runner.start(**trigger)
                started.append(runner)
        except BaseException:
            # A runner that cannot be stopped says so itself; why a stream did not start is what matters here.
            with suppress(Exception):
                _call_all([runner.stop for runner in started])
            raise
        return started

    def run_available(self) -> None:
        """Process all that has arrived in every stream, then return."""
        started = self.start(availableNow=True)
        _call_all([runner.wait for runner in started])
        for ticker in list(self._tickers.values()):
            ticker.filler.wait()

    def stop(self) -> None:
        """Stop all streams, each after the tick that it is in; raises what made a stream end before."""
        # Fillings last: a tick that ends now may begin one.
        stops = [runner.stop for runner in list(self.by_stream.values())]
        _call_all([*stops, *(ticker.filler.stop for ticker in list(self._tickers.values()))])

    def filled_share(self, stream: str) -> float | None:
        """The share that is done of what is being filled for queries of a stream in this process, if anything is."""
        ticker = self._tickers.get(stream)
        return None if ticker is None else ticker.filler.share

    def adopt(self, stream: str) -> None:
        """Have a stream that rests go on with the checkpoint that it has now."""
        if self.runs(stream):
            raise EngineError("already-running", f"stream {stream!r} is running", hint="Call engine.stop() first.")
        self.ticker(stream).adopt()

    def ticker(self, name: str) -> Ticker:
        """The ticker of a stream, made when somebody first asks for it."""
        from weft.tick.ticker import Ticker

        with self._lock:
            if name not in self._tickers:
                stream, committed = self._registry.stream(name), self._states.committed(name)
                planner, storage = self._planners.of(name), self._folder.storage
                self._tickers[name] = Ticker(
                    stream, planner, committed, self._registry, storage, self._bus, self._kept
                )
            return self._tickers[name]

    def runner(self, name: str) -> Runner:
        """The runner of a stream: the active runner, or a new runner where none is."""
        from weft.spark.runner import Runner

        before = self.by_stream.get(name)
        if before is not None and before.is_active():
            return before
        # Again, because the definition comes from the catalog, which others may write.
        self._roots.check(self._registry.stream(name))
        session = self._session.get()
        with self._lock:
            if self.by_stream.get(name) is before:
                self.by_stream[name] = runner = Runner(
                    session,
                    self.ticker(name),
                    self.dataframes.get(name),
                    self._folder.checkpoint(name),
                    StreamStatus(self._folder.catalog, name),
                )
                self._states.committed(name).is_run_here = runner.is_active
            return self.by_stream[name]


def _call_all(calls: Iterable[Callable[[], None]]) -> None:
    """Make all of these calls, whatever any of them raises; then raise the first error."""
    errors = []
    for call in calls:
        try:
            call()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
