"""A tick: one micro-batch and everything that it makes due, committed as a whole.

Order: plan, aggregate on Spark, judge lateness, derive coarser nodes, write files, commit; then finish the windows
that closed for those who want them at once, seal closed slices, and delete what nobody can need.
The commit is one catalog transaction; before it nothing of the tick is visible, after it everything is. A tick that
runs again after a crash writes its files anew, under other names, and commits once; what no catalog names is garbage.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.backend.duck import Duck
from weft.failpoint import failpoint, failpoint_soon
from weft.optimize.learn import facts_of, learn
from weft.optimize.optimizer import Optimizer
from weft.optimize.planning import Plan, late_readers, make_plan
from weft.plan.cost import Costs, add
from weft.plan.facts import Facts
from weft.plan.placement import Placement
from weft.plan.search import Found
from weft.registry.changes import elsewhere, failures, forgotten, moves
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.segments.cache import TableCache
from weft.segments.files import Files
from weft.spark.batch import Batch
from weft.spark.checkpoint import BatchMark
from weft.spark.compute import FAILURES, Arrived, blame, merge_step
from weft.spark.dead import NO_LETTERS, DeadLetters
from weft.spark.failure import is_crowded, lost_with_executor
from weft.spark.level0 import statements
from weft.store.catalog import Catalog, Reader
from weft.store.derive import NewRows
from weft.store.finish import finish
from weft.store.ledger import horizon
from weft.store.orphans import clear_orphans
from weft.store.state import StreamState, load_state
from weft.store.tend import sweep, tend
from weft.tick.batches import is_done, numbered
from weft.tick.commit import Harvest, publish, with_files, write, write_products
from weft.watch.stopwatch import Stopwatch

if TYPE_CHECKING:
    from weft.feeds.streams import Stream

log = logging.getLogger("weft.tick")

# Executors may be lost over and over; a tick that has no luck so often stops the stream, which then starts it again.
ATTEMPTS = 5


class Ticker:
    """Runs the ticks of one stream, one at a time, and holds its newest committed state."""

    def __init__(
        self,
        stream: Stream,
        registry: Registry,
        catalog: Catalog,
        files: Files,
        duck: Duck,
        cache: TableCache,
        sharing: str = "auto",
    ) -> None:
        self.stream = stream
        self.last: dict[str, Any] = {}
        self._registry, self._catalog, self._files, self._duck, self._cache = registry, catalog, files, duck, cache
        self._lock, self._loading, self._planning = threading.Lock(), threading.Lock(), threading.Lock()
        self._ticking = False
        self._plan: Plan | None = None
        # Whoever ran this stream before, and every tick that failed, may have left files that nobody knows.
        self._tidy = False
        with catalog.read() as reader:
            self._state = load_state(stream.name, reader)
            self.optimizer = Optimizer(stream.name, sharing, Costs.from_definition(reader.costs()))

    @property
    def state(self) -> StreamState:
        """The newest committed state; its files stay for a lease after they left the catalog."""
        return self._state

    def reload(self) -> StreamState:
        """The state as another process may have committed it; this one's own when a tick is under way here.

        What is registered is taken over with it: rows of a query that moved are not where they were.
        """
        # Whoever comes while another one loads waits for it: what is registered may be newer already than the state.
        with self._loading:
            if not self._ticking:
                with self._catalog.read() as reader:
                    self._registry.follow(reader)
                    if not self._is_newest(reader):
                        self._state = load_state(self.stream.name, reader)
            return self._state

    def start_anew(self) -> None:
        """Be as the catalog is, however it came to be so: another process may have run this stream meanwhile."""
        self._tidy = False
        self.reload()

    @contextmanager
    def _tick_under_way(self) -> Iterator[None]:
        """As long as a tick is, the state is the tick's, and nobody loads another."""
        with self._lock:
            with self._loading:
                self._ticking = True
            try:
                yield
            finally:
                self._ticking = False

    def _is_newest(self, reader: Reader) -> bool:
        """Whether nothing was committed since: no tick, no other checkpoint, no files that were merged after one."""
        tick = reader.tick(self.stream.name)
        if tick is None or (tick.batch_id, tick.checkpoint) != (self._state.batch_id, self._state.checkpoint):
            return tick is None
        return reader.files_mark(self.stream.name) == self._state.files_mark

    @property
    def planned(self) -> Plan | None:
        """The plan that was made last in this process, if any was."""
        return self._plan

    def plan(self) -> Plan:
        """The plan for the queries that are registered now."""
        # One at a time: a plan that another thread began before the queries changed must not be a tick's.
        with self._planning:
            version = (self._registry.version(self.stream.name), self.optimizer.generation)
            if self._plan is None or self._plan.version != version:
                facts = facts_of(self._state)
                self._plan = make_plan(self.stream.name, version, self._queries(), self.optimizer, facts)
            return self._plan

    def propose(self, query: Registered) -> tuple[Plan, Plan]:
        """The plan as it is, and as it would be with one query more."""
        facts, queries = facts_of(self._state), self._queries()
        moved = self.optimizer.place({**queries, query.name: query}, facts, query.name)
        placed = query.elsewhere(moved) if moved is not None else query
        plans = (
            make_plan(self.stream.name, (0, 0), some, self.optimizer, facts)
            for some in (queries, {**queries, query.name: placed})
        )
        before, after = plans
        return before, after

    def optimize(self) -> Found:
        """Search for a better plan now; the next tick follows it if that is worth a move."""
        with self._lock:
            found, moves = self.optimizer.optimize(self._queries(), facts_of(self._state))
            self._place(moves)
        return found

    def place(self, placements: Mapping[str, Placement]) -> None:
        """Move queries: the next tick keeps their rows elsewhere, and what is stored stays where it is."""
        with self._lock:
            self._place(placements)

    def _place(self, placements: Mapping[str, Placement]) -> None:
        if elsewhere(self._registry.queries(self.stream.name), placements):
            self._registry.change(moves(self.stream.name, placements), "place-inside")
            failpoint("place-after")

    def _forget_pasts(self) -> None:
        """Let go of what moved queries read before, once the last file of it is gone, and no late row of it counts."""
        gone = {}
        for name, one in self._queries().items():
            for past, step in zip(one.pasts, one.steps, strict=False) if one.pasts else ():
                nodes = [self._state.synopses.get(part.node) for part in step.needs.parts]
                if any(node and self._state.within(node, step.since, step.until).data for node in nodes):
                    break
                if one.needs.window is not None and horizon(self._state.watermark, one.reach) < past.moment:
                    break
                gone[name] = step.until
        batches = {name: until for name, until in gone.items() if until is not None}
        if batches:
            self._registry.change(forgotten(batches), "place-inside")

    def _queries(self) -> dict[str, Registered]:
        """The stream's queries that have not failed, as they are registered now."""
        return self._registry.queries(self.stream.name, failed=False)

    def run(self, batch: Arrived) -> None:
        """Run the tick of a batch; does nothing for a batch that is committed already."""
        with self._tick_under_way():
            if not self._tidy:
                # A tick that failed on its way may have changed more than it lived to note here.
                with self._catalog.read() as reader:
                    self._state = load_state(self.stream.name, reader)
            with self._catalog.read() as reader:
                done = is_done(batch.mark, self._state, reader)
            if done:
                return
            if not self._tidy:
                clear_orphans(self.stream.name, self._catalog, self._files)
                # Before anything is written: a disk that is full of what nobody needs must not stay full of it.
                sweep(self._catalog, self._files, self._cache)
            self._tidy = False
            self._run(batch)
            self._tidy = True

    def _run(self, batch: Arrived) -> None:
        """The tick itself, stage by stage."""
        watch, before, watermark = Stopwatch(), batch.jobs(), self._state.watermark
        with watch.stage("plan"):
            self._registry.refresh()
            self._forget_pasts()
            self._place(self.optimizer.moves(self._queries(), facts_of(self._state)))
            revision = self._registry.revision
        plan, found, new, letters = self._compute_again(batch, watch)
        with watch.stage("learn"):
            lesson = learn(self._state, plan.network, new, found.rows, found.newest, self._duck)
        with watch.stage("commit"):
            self._commit(plan, revision, Harvest(batch.mark, found, new, letters, lesson.facts))
        with watch.stage("finish"):
            self._finish(plan, watermark)
        with watch.stage("tend"):
            self._state = tend(
                self._state,
                plan.network,
                plan.reach,
                late_readers(self._queries()) if self._state.has_ledgers else {},
                self._catalog,
                self._files,
                self._duck,
                self._cache,
            )
            # Only now: what left the catalog long ago may still be of the state that was read until here.
            sweep(self._catalog, self._files, self._cache)
        failpoint("tick-end")
        self.last = {
            "batch_id": batch.mark.batch_id,
            "rows": found.rows,
            "dead": sum(letters.counts.values()),
            "jobs": batch.jobs() - before,
            "queries": len(plan.queries),
            "nodes": len(plan.network.nodes),
            "partial_rows": sum(table.num_rows for table in new.rows.values()),
            "seconds": watch.seconds,
            "predicted_seconds": round(self._predict(plan, lesson.tick), 4),
            "amounts": self._done(plan, lesson.tick, new),
            "committed_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        with self._catalog.write() as catalog:
            catalog.describe_tick(self.stream.name, batch.mark.batch_id, self.last)
        log.info("tick committed", extra={"stream": self.stream.name, **self.last})

    def _predict(self, plan: Plan, tick: Facts) -> float:
        """How long the tick should have taken."""
        return self.optimizer.costs.price(add(plan.amounts(tick).values()))

    @staticmethod
    def _done(plan: Plan, tick: Facts, new: NewRows) -> dict[str, float]:
        """What the tick did, in the terms of the cost model."""
        measured = {name: table.num_rows for name, table in new.rows.items()}
        return {name: round(amount) for name, amount in add(plan.amounts(tick, measured).values()).items()}

    def _compute_again(self, batch: Arrived, watch: Stopwatch) -> tuple[Plan, Batch, NewRows, DeadLetters]:
        """Compute, and from the beginning when an executor took with it what was read already."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._compute_for_all(batch, watch)
            except FAILURES as error:
                if attempt == ATTEMPTS or not lost_with_executor(error):
                    raise
                log.warning("tick computed again", extra={"stream": self.stream.name, "attempt": attempt})
        raise AssertionError("the last attempt returns or raises")

    def _compute_for_all(self, batch: Arrived, watch: Stopwatch) -> tuple[Plan, Batch, NewRows, DeadLetters]:
        """The new rows for all queries that do not fail on this batch, and the rows that count for nothing."""
        try:
            plan, found, new = self._compute(batch, watch)
        except FAILURES:
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
            except FAILURES as error:
                with watch.stage("mend"):
                    stopped = self._stop_failing(batch)
                if not stopped and (apart or not is_crowded(error)):
                    raise
                # Again without them: with queries that were registered meanwhile, which may fail too. And where all
                # have room but not together, one node after the other.
                apart = not stopped
        # What was taken out before is part of what arrived.
        return plan, replace(found, rows=found.rows + letters.rows, dead=letters.rows), new, letters

    def _stop_failing(self, batch: Arrived) -> bool:
        """Stop the queries that fail on this batch, each with its reason; False where no query is at fault."""
        number = batch.mark.batch_id
        queries = self.plan().queries
        needs = {name: one.needs for name, one in queries.items()}
        culprits = blame(batch, self.stream.name, needs, self._state.watermark, self._duck)
        if not culprits:
            return False
        log.error("queries stopped", extra={"stream": self.stream.name, "batch_id": number, "reasons": culprits})
        since = datetime.now(UTC).isoformat(" ", "seconds")
        reasons = {name: f"since batch {number}, {since}: {reason}" for name, reason in culprits.items()}
        self._registry.change(failures(queries, reasons), "fail-inside")
        return True

    def _compute(self, batch: Arrived, watch: Stopwatch, *, apart: bool = False) -> tuple[Plan, Batch, NewRows]:
        with watch.stage("plan"):
            plan = self.plan()
            parts = statements(plan.network, apart=True) if apart else plan.statements
        failpoint("spark-before")
        failpoint_soon("spark-running")
        with watch.stage("spark"):
            found = batch.aggregate(plan.network, parts)
        failpoint("spark-after")
        with watch.stage("merge"):
            new = merge_step(found, plan.network, parts, self._state.watermark, self._duck, batch.mark.batch_id)
        failpoint("merge-after")
        return plan, found, new

    def adopt(self) -> None:
        """Take over whichever checkpoint the stream has at its next batch, which follows the last one counted."""
        with self._lock, self._catalog.write() as catalog:
            catalog.adopt_checkpoint(self.stream.name)
            self._tidy = False

    def numbered(self, batch: BatchMark) -> BatchMark:
        """The batch under the number that it has here."""
        with self._catalog.read() as reader:
            return numbered(batch, reader.tick(self.stream.name))

    def _commit(self, plan: Plan, revision: int, harvest: Harvest) -> None:
        """Write the files and make them visible with everything else that the tick changed."""
        if harvest.letters.counts:
            extra = {"stream": self.stream.name, "batch_id": harvest.mark.batch_id, **harvest.letters.counts}
            log.warning("rows left out", extra=extra)
        written = write(harvest, plan, self._state, self._catalog, self._files, self._duck, self._cache)
        refused = self._registry.refused(self.stream.name)
        done = publish(harvest, written, plan, revision, self._state, self.stream.delay, self._catalog, refused)
        self._registry.activated(done.since, done.revision, alone=done.alone)
        self._state = done.state

    def _finish(self, plan: Plan, before: int | None) -> None:
        """Store the windows that this tick closed. A crash before this loses none: they are merged when asked for."""
        products = finish(plan.families, plan.network, self._state, before, self._duck, self._cache)
        if products:
            version = self._state.plan_version
            segments = write_products(products, self.stream.name, version, self._files, self._cache)
            failpoint("finish-written")
            with self._catalog.write() as catalog:
                stored = catalog.add_segments(segments)
                failpoint("finish-inside")
            failpoint("finish-after")
            self._state = replace(self._state, synopses=with_files(plan.network, self._state, [], stored))
