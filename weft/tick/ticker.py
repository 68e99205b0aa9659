"""A tick: one micro-batch and everything that it makes due, committed as a whole.

Order: plan, aggregate on Spark, judge lateness, derive coarser nodes, write files, commit; then finish the windows
that closed for those who want them at once, seal closed slices, and delete what nobody can need.
The commit is one catalog transaction; before it nothing of the tick is visible, after it everything is. A tick that
runs again after a crash writes its files anew, under other names, and commits once; what no catalog names is garbage.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from weft.failpoint import failpoint, failpoint_soon
from weft.optimize.learn import learn
from weft.optimize.planner import Planner
from weft.optimize.planning import Plan, late_readers
from weft.plan.cost import Costs, add
from weft.plan.facts import Facts
from weft.registry.changes import failures
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.spark.batch import BatchOutput
from weft.spark.checkpoint import BatchMark
from weft.spark.compute import Arrived, blame, is_of_infrastructure, merge_step
from weft.spark.dead import NO_LETTERS, DeadLetters
from weft.spark.failure import lost_with_executor
from weft.spark.level0 import Statement, statements
from weft.store.change import write_products
from weft.store.committed import CommittedState
from weft.store.derive import NewRows
from weft.store.finish import finish
from weft.store.orphans import clear_orphans
from weft.store.state import StreamState
from weft.store.storage import Storage
from weft.store.tend import sweep, tend
from weft.tick.batches import is_done, numbered
from weft.tick.commit import Harvest, publish, with_files, write
from weft.watch.stopwatch import Stopwatch, added

log = logging.getLogger("weft.tick")

# Executors may be lost over and over; a tick that has no luck so often stops the stream, which then starts it again.
ATTEMPTS = 5


class Ticker:
    """Runs the ticks of one stream, one at a time, and holds its newest committed state."""

    def __init__(self, planner: Planner, committed: CommittedState, registry: Registry, storage: Storage) -> None:
        self.stream, self.planner = planner.stream, planner
        # How the newest tick went here; and as it was told to all, whole, with what Spark did around it.
        self.last: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self._untold, self._tells_later = False, False
        self._committed, self._registry = committed, registry
        self._storage, self._catalog, self._backend = storage, storage.catalog, storage.backend
        # The plan that was written as Spark SQL last, and that.
        self._spelled: tuple[Plan, tuple[Statement, ...]] | None = None
        # Whoever ran this stream before, and every tick that failed, may have left files that nobody knows.
        self._tidy = False

    @property
    def state(self) -> StreamState:
        """The newest committed state of the stream."""
        return self._committed.current

    @property
    def _state(self) -> StreamState:
        return self._committed.current

    @_state.setter
    def _state(self, state: StreamState) -> None:
        self._committed.put(state)

    def start_anew(self) -> None:
        """Be as the catalog is, however it came to be so: another process may have run this stream meanwhile."""
        self._tidy = False
        self._committed.reload(self._registry.follow)
        self._registry.store_forms(self.stream.name)

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
        with self._tick_under_way(watch):
            with watch.stage("open"):
                if self._open(batch.mark):
                    return
            self._tidy = False
            self._run(batch, watch)
            self._tidy = True
        if not self._tells_later:
            self.tell({})

    def _open(self, mark: BatchMark) -> bool:
        """Be ready for a batch; True where it is committed already."""
        if not self._tidy:
            # A tick that failed on its way may have changed more than it lived to note here.
            self._committed.load()
        with self._catalog.read() as reader:
            done = is_done(mark, self._state, reader)
            # Somebody may have calibrated meanwhile.
            self.planner.optimizer.take_prices(Costs.from_definition(reader.costs()))
        if done:
            return True
        if not self._tidy:
            clear_orphans(self.stream.name, self._storage)
            # Before anything is written: a disk that is full of what nobody needs must not stay full of it.
            sweep(self._storage)
        return False

    def _run(self, batch: Arrived, watch: Stopwatch) -> None:
        """The tick itself, stage by stage."""
        watermark = self._state.watermark
        with watch.stage("plan"):
            before = batch.jobs()
            self._registry.refresh()
            self.planner.move_what_should()
            revision = self._registry.revision
        plan, found, new, letters = self._compute_again(batch, watch)
        with watch.stage("learn"):
            lesson = learn(self._state, plan.network, new, found.rows, found.newest, self._backend)
        with watch.stage("commit"):
            self._commit(plan, revision, Harvest(batch.mark, found, new, letters, lesson.facts))
        with watch.stage("finish"):
            self._finish(plan, watermark)
        with watch.stage("tend"):
            self._state = tend(
                self._state,
                plan.network,
                plan.reach,
                late_readers(self.planner.queries()) if self._state.has_ledgers else {},
                self._storage,
            )
            # Only now: what left the catalog long ago may still be of the state that was read until here.
            sweep(self._storage)
        failpoint("tick-end")
        with watch.stage("tell"):
            told = {
                "batch_id": batch.mark.batch_id,
                "rows": found.rows,
                "dead": sum(letters.counts.values()),
                "jobs": batch.jobs() - before,
                "queries": len(plan.queries),
                "nodes": len(plan.network.nodes),
                "partial_rows": sum(rows.count for rows in new.rows.values()),
                "predicted_seconds": round(self._predict(plan, lesson.tick), 4),
                "amounts": self._done(plan, lesson.tick, new),
                "committed_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            }
        self.last, self._untold = {**told, "seconds": watch.stop()}, True

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
        if self._untold:
            told = {**self.last, "seconds": added(self.last["seconds"], around)}
            self.told, self._untold = told, False
            with self._catalog.write() as catalog:
                catalog.describe_tick(self.stream.name, told["batch_id"], told)
            log.info("tick committed", extra={"stream": self.stream.name, **told})

    def _predict(self, plan: Plan, tick: Facts) -> float:
        """How long the tick should have taken."""
        return self.planner.optimizer.costs.price(add(plan.amounts(tick).values()))

    @staticmethod
    def _done(plan: Plan, tick: Facts, new: NewRows) -> dict[str, float]:
        """What the tick did, in the terms of the cost model."""
        measured = {name: rows.count for name, rows in new.rows.items()}
        return {name: round(amount) for name, amount in add(plan.amounts(tick, measured).values()).items()}

    def _compute_again(self, batch: Arrived, watch: Stopwatch) -> tuple[Plan, BatchOutput, NewRows, DeadLetters]:
        """Compute, and from the beginning when an executor took with it what was read already."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                # Anew with every attempt: rows that were held may be what was lost.
                with batch.held() as rows:
                    return self._compute_for_all(rows, watch)
            except Exception as error:
                if attempt == ATTEMPTS or not lost_with_executor(error):
                    raise
                log.warning("tick computed again", extra={"stream": self.stream.name, "attempt": attempt})
        raise AssertionError("the last attempt returns or raises")

    def _compute_for_all(self, batch: Arrived, watch: Stopwatch) -> tuple[Plan, BatchOutput, NewRows, DeadLetters]:
        """The new rows for all queries that do not fail on this batch, and the rows that count for nothing."""
        try:
            plan, found, new = self._compute(batch, watch)
        except Exception as error:
            if isinstance(error, OSError):
                raise
            with watch.stage("mend"):
                batch, letters = batch.cleaned()
        else:
            with watch.stage("mend"):
                letters = batch.dead_letters(found.dead) if found.dead else NO_LETTERS
            return plan, found, new, letters
        apart = False
        while True:
            try:
                plan, found, new = self._compute(batch, watch, apart=apart)
                break
            except Exception as error:
                if is_of_infrastructure(error):
                    raise
                with watch.stage("mend"):
                    stopped = self._stop_failing(batch)
                if not stopped and apart:
                    raise
                # Again without them: with queries that were registered meanwhile, which may fail too. And where each
                # works but not all together, one node after the other.
                apart = not stopped
        # What was taken out before is part of what arrived.
        return plan, replace(found, rows=found.rows + letters.rows, dead=letters.rows), new, letters

    def _stop_failing(self, batch: Arrived) -> bool:
        """Stop the queries that fail on this batch, each with its reason; False where no query is at fault."""
        number = batch.mark.batch_id
        queries = self.planner.queries()
        needs = {name: queries[name].needs for name in sorted(queries, key=lambda name: _age(queries[name]))}
        culprits = blame(batch, self.stream.name, needs, self._state.watermark, self._backend)
        if not culprits:
            return False
        log.error("queries stopped", extra={"stream": self.stream.name, "batch_id": number, "reasons": culprits})
        since = datetime.now(UTC).isoformat(" ", "seconds")
        reasons = {name: f"since batch {number}, {since}: {reason}" for name, reason in culprits.items()}
        self._registry.change(failures(queries, reasons), "fail-inside")
        return True

    def _compute(self, batch: Arrived, watch: Stopwatch, *, apart: bool = False) -> tuple[Plan, BatchOutput, NewRows]:
        with watch.stage("plan"):
            plan = self.planner.plan()
            parts = statements(plan.network, apart=True) if apart else self._statements(plan)
        failpoint("spark-before")
        failpoint_soon("spark-running")
        with watch.stage("spark"):
            found = batch.aggregate(plan.network, parts)
        failpoint("spark-after")
        with watch.stage("merge"):
            new = merge_step(found, plan.network, parts, self._state.watermark, self._backend, batch.mark.batch_id)
        failpoint("merge-after")
        return plan, found, new

    def _statements(self, plan: Plan) -> tuple[Statement, ...]:
        """The plan's network as Spark SQL, written once a plan."""
        if self._spelled is None or self._spelled[0] is not plan:
            self._spelled = plan, statements(plan.network)
        return self._spelled[1]

    def adopt(self) -> None:
        """Take over whichever checkpoint the stream has at its next batch, which follows the last one counted."""
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

    def _commit(self, plan: Plan, revision: int, harvest: Harvest) -> None:
        """Write the files and make them visible with everything else that the tick changed."""
        if harvest.letters.counts:
            extra = {"stream": self.stream.name, "batch_id": harvest.mark.batch_id, **harvest.letters.counts}
            log.warning("rows left out", extra=extra)
        written = write(harvest, plan, self._state, self._storage)
        refused = self._registry.refused(self.stream.name)
        done = publish(harvest, written, plan, revision, self._state, self.stream.delay, self._catalog, refused)
        self._registry.activated(done.since, done.revision, alone=done.alone)
        self._state = done.state

    def _finish(self, plan: Plan, before: int | None) -> None:
        """Store the windows that this tick closed. A crash before this loses none: they are merged when asked for."""
        products = finish(plan.families, plan.network, self._state, before, self._backend)
        if products:
            version = self._state.plan_version
            segments = write_products(products, self.stream.name, version, self._backend)
            failpoint("finish-written")
            with self._catalog.write() as catalog:
                stored = catalog.add_segments(segments)
                failpoint("finish-inside")
            failpoint("finish-after")
            self._state = replace(self._state, synopses=with_files(plan.network, self._state, [], stored))


def _age(query: Registered) -> tuple[bool, int, datetime, str]:
    """What queries are ordered by, the oldest first: since when a query is computed, and since when it is there."""
    row = query.row
    created = datetime.max.replace(tzinfo=UTC) if row.created_at is None else row.created_at
    return row.from_batch is None, row.from_batch or 0, created, row.name
