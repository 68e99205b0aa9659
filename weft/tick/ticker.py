"""A tick: one micro-batch and everything that it makes due, committed as a whole.

Its stages, in order: open, plan, compute (aggregate on Spark, judge lateness, derive coarser nodes), learn, commit;
then finish the windows that closed for eager queries, tend (seal closed slices), sweep what nobody can
need, and tell. The commit is one catalog transaction; before it nothing of the tick is visible, after it everything is.
A tick that runs again after a crash writes its files anew, under other names, and commits once; what no catalog names
is garbage.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from weft.failpoint import failpoint
from weft.feeds.streams import Stream
from weft.optimize.learn import Lesson, facts_of, learn
from weft.optimize.planner import Planner
from weft.optimize.planning import late_readers
from weft.plan.prices import Costs
from weft.read.kept_rows import KeptRowsReader
from weft.registry.registry import Registry
from weft.spark.checkpoint import BatchMark
from weft.spark.compute import Arrived
from weft.store.committed import CommittedState
from weft.store.finish import finish
from weft.store.orphans import clear_orphans
from weft.store.state import StreamState
from weft.store.storage import Storage
from weft.store.tend import sweep, tend
from weft.store.tend_rows import tend_rows
from weft.tick.account import Experience, in_numbers
from weft.tick.batches import is_done, numbered
from weft.tick.bus import Bus
from weft.tick.commit import Harvest, publish, publish_finished, write
from weft.tick.compute_step import ComputeStep
from weft.tick.events import TickCommitted, TickFailed
from weft.tick.filling import Filler
from weft.tick.stages import (
    Arrival,
    Committed,
    Computed,
    Finished,
    Opened,
    Planned,
    Stage,
    Swept,
    Tended,
    run_stages,
)
from weft.watch.status import one_line
from weft.watch.stopwatch import Stopwatch, added

log = logging.getLogger("weft.tick")


class Ticker:
    """Runs the ticks of a stream in turn, and holds its newest committed state."""

    def __init__(
        self,
        stream: Stream,
        planner: Planner,
        committed: CommittedState,
        registry: Registry,
        storage: Storage,
        bus: Bus,
        kept: KeptRowsReader,
    ) -> None:
        self.stream, self.planner = stream, planner
        self.filler = Filler(planner, committed, registry, storage, kept)
        # How the newest tick went here, and whether it was told to all, whole, with what Spark did around it.
        self.last: TickCommitted | None = None
        self._experience = Experience()
        self._untold, self._tells_later = False, False
        self._committed, self._registry, self._bus = committed, registry, bus
        self._storage, self._catalog, self._backend = storage, storage.catalog, storage.backend
        self._compute = ComputeStep(planner, registry, storage)
        # Whoever ran this stream before, and every tick that failed, may have left files that nobody knows.
        self._tidy = False
        self.stages = (
            Stage("open", (Arrival,), Opened, self._open),
            Stage("plan", (Arrival, Opened), Planned, self._plan),
            Stage("compute", (Arrival, Planned), Computed, self._run_compute),
            Stage("learn", (Computed,), Lesson, self._learn),
            Stage("commit", (Arrival, Planned, Computed), Committed, self._commit, beside=(Lesson,)),
            Stage("finish", (Opened, Computed, Committed), Finished, self._finish),
            Stage("tend", (Computed, Committed), Tended, self._tend),
            Stage("sweep", (Committed,), Swept, self._sweep),
            Stage(
                "tell",
                (Arrival, Opened, Planned, Computed, Committed),
                TickCommitted,
                self._tell,
                beside=(Lesson, Tended),
            ),
        )
        # The stages that are left out, so that a test can show what each is for.
        self.without: Collection[str] = ()

    @property
    def state(self) -> StreamState:
        """The newest committed state of the stream."""
        return self._committed.current

    @property
    def seconds(self) -> float:
        """How long the newest tick took here, without what Spark did around it."""
        return 0.0 if self.last is None else self.last.took

    def start_anew(self) -> None:
        """Be as the catalog is, however it came to be so: another process may have run this stream meanwhile."""
        self._tidy = False
        self._committed.reload(self._registry.follow)
        self._registry.store_forms(self.stream.name)
        self.filler.begin()

    @contextmanager
    def _tick_under_way(self, watch: Stopwatch) -> Iterator[None]:
        """As long as a tick is, the state is the tick's, nobody loads another, and nobody moves queries."""
        with watch.stage("wait"):
            self.planner.turn.acquire()
        try:
            with self._committed.tick_under_way():
                yield
        finally:
            self.planner.turn.release()

    def run(self, batch: Arrived) -> None:
        """Run the tick of a batch; does nothing for a batch that is committed already."""
        watch = Stopwatch()
        try:
            with self._tick_under_way(watch):
                made = run_stages(self.stages, Arrival(batch, watch), self.without)
                computed = made.get(Computed)
                # Files that a task wrote, or an attempt of the tick, and that came to nothing, go with the next tick.
                left = computed is not None and computed.output.kept is not None and computed.output.kept.again
                self._tidy = self._tidy or (made.get(Committed) is not None and not left)
        except Exception as error:
            failed = TickFailed(self.stream.name, batch.mark.batch_id, one_line(error))
            self._bus.emit(*self._compute.take_stopped(), failed)
            raise
        tick, computed = made.get(TickCommitted), made.get(Computed)
        if tick is not None and computed is not None:
            self.last, self._untold = replace(tick, seconds=watch.stop()), True
            self._experience.note(self.last, computed.plan.version)
            # At once, since others may wait for it; the tick itself is told when Spark has said how long it took.
            self._bus.emit(*self._compute.take_stopped(), *self.last.closed())
            if not self._tells_later:
                self.tell({})
        self.filler.begin()

    def _open(self, arrival: Arrival) -> Opened | None:
        """Be ready for a batch; None where it is committed already."""
        if not self._tidy:
            # A tick that failed on its way may have changed more than it lived to note here.
            self._committed.load()
        with self._catalog.read() as reader:
            done = is_done(arrival.batch.mark, self.state, reader)
            # Somebody may have calibrated meanwhile.
            self.planner.optimizer.take_prices(Costs.from_definition(reader.costs()))
        if done:
            return None
        if not self._tidy:
            clear_orphans(self.stream.name, self._storage)
            # Before anything is written: a disk that is full of what nobody needs must not stay full of it.
            sweep(self._storage)
        # Until the tick is over.
        self._tidy = False
        return Opened(self.state.watermark)

    def _plan(self, arrival: Arrival, opened: Opened) -> Planned:
        """Know what is registered, and move the queries that should be kept elsewhere."""
        jobs = arrival.batch.jobs()
        self._registry.refresh()
        self.planner.move_what_should()
        self.planner.begin_fillings()
        return Planned(self._registry.revision, jobs)

    def _run_compute(self, arrival: Arrival, planned: Planned) -> Computed:
        return self._compute.run(arrival)

    def _learn(self, computed: Computed) -> Lesson:
        output, network = computed.output, computed.plan.network
        return learn(self.state, network, computed.new, output.rows, output.newest, self._backend, output.files)

    def _commit(self, arrival: Arrival, planned: Planned, computed: Computed, lesson: Lesson | None) -> Committed:
        """Write the files and make them visible with everything else that the tick changed."""
        mark, plan, letters = arrival.batch.mark, computed.plan, computed.letters
        if letters.counts:
            extra = {"stream": self.stream.name, "batch_id": mark.batch_id, **letters.counts}
            log.warning("rows left out", extra=extra)
        facts = facts_of(self.state) if lesson is None else lesson.facts
        harvest = Harvest(mark, computed.output, computed.new, letters, facts)
        written = write(harvest, plan, self.state, self._storage)
        refused, delay = self._registry.refused(self.stream.name), self.stream.delay
        done = publish(harvest, written, plan, planned.revision, self.state, delay, self._catalog, refused)
        self._registry.activated(done.since, done.revision, alone=done.alone)
        self._committed.put(done.state)
        return Committed(done.state.watermark)

    def _finish(self, opened: Opened, computed: Computed, committed: Committed) -> Finished:
        """Store the windows that this tick closed. A crash before this loses none: they are merged when asked for."""
        plan = computed.plan
        products = finish(plan.families, plan.network, self.state, opened.watermark, self._backend)
        if products:
            self._committed.put(publish_finished(products, plan.network, self.state, self._storage))
        return Finished(len(products))

    def _tend(self, computed: Computed, committed: Committed) -> Tended:
        """Seal closed slices, and merge small files."""
        late = late_readers(self.planner.queries()) if self.state.has_ledgers else {}
        state, rewritten = tend(self.state, computed.plan.network, computed.plan.reach, late, self._storage)
        self._committed.put(state)
        self._committed.put(tend_rows(state, self._registry.stream(self.stream.name), self._storage))
        return Tended(rewritten)

    def _sweep(self, committed: Committed) -> Swept:
        """Delete; only now, since what left the catalog long ago may still be of the state that was read until here."""
        sweep(self._storage)
        return Swept()

    def _tell(
        self,
        arrival: Arrival,
        opened: Opened,
        planned: Planned,
        computed: Computed,
        committed: Committed,
        lesson: Lesson | None,
        tended: Tended | None,
    ) -> TickCommitted:
        """Put the tick into numbers."""
        failpoint("tick-end")
        prices = self.planner.optimizer.measured
        made = (arrival, opened, planned, computed, committed, lesson, tended)
        return in_numbers(self.stream.name, *made, prices, self._experience)

    @contextmanager
    def telling_later(self) -> Iterator[None]:
        """The tick that runs meanwhile is told by whoever calls `tell` when more is known of it."""
        self._tells_later = True
        try:
            yield
        finally:
            self._tells_later = False

    def tell(self, around: Mapping[str, float]) -> None:
        """Tell everybody of the newest tick, once and whole, with the stages around it."""
        if self._untold and self.last is not None:
            told, self._untold = replace(self.last, seconds=added(self.last.seconds, around)), False
            with self._catalog.write() as catalog:
                catalog.describe_tick(self.stream.name, told.batch_id, told.numbers())
            self._bus.emit(told)

    def adopt(self) -> None:
        """Take over whichever checkpoint the stream has at its next batch, which follows the last counted batch."""
        with self.planner.turn, self._catalog.write() as catalog:
            catalog.adopt_checkpoint(self.stream.name)
            self._tidy = False

    def note_path(self) -> None:
        """Keep that Spark's notes have the stream's files where they are now."""
        self.stream = self._registry.note_path(self.stream.name)

    def numbered(self, batch: BatchMark) -> BatchMark:
        """The batch under the number that it has here."""
        with self._catalog.read() as reader:
            return numbered(batch, reader.tick(self.stream.name))
