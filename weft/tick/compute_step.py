"""The stage that computes: the rows of a batch become new rows of all nodes, whatever fails on the way.

Kept: an executor that is lost makes it begin anew; a row or a file that cannot be read is taken out; a query that fails
on the batch is stopped, alone, and the batch runs again without it. Only where nobody is to blame the tick fails.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from math import log2

from weft.errors import StateError
from weft.failpoint import failpoint, failpoint_soon
from weft.optimize.learn import facts_of
from weft.optimize.planner import Planner
from weft.optimize.planning import Plan
from weft.passes.keeping import NOTHING, Keeping, Kept
from weft.plan.prices import Costs
from weft.registry.changes import failures
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.spark.batch import BatchOutput
from weft.spark.compute import Arrived, blame, is_of_infrastructure, merge_step
from weft.spark.dead import NO_LETTERS
from weft.spark.failure import lost_with_executor
from weft.spark.kernels import Level0
from weft.store.derive import NewRows
from weft.store.kept import folder_of_rows
from weft.store.storage import Storage
from weft.tick.events import QueriesStopped
from weft.tick.stages import Arrival, Computed
from weft.watch.stopwatch import Stopwatch

log = logging.getLogger("weft.tick")

# Executors may be lost over and over; a tick that has no luck so often stops the stream, which then starts it again.
ATTEMPTS = 5


class ComputeStep:
    """Computes the batches of a stream. Its seconds go under `plan`, `spark`, `merge` and `mend`."""

    def __init__(self, planner: Planner, registry: Registry, storage: Storage) -> None:
        self._planner, self._registry, self._storage = planner, registry, storage
        self._backend = storage.backend
        # The plan that was computed last, and how.
        self._level0: tuple[Plan, Level0] | None = None
        self._chosen: tuple[tuple[Plan, Costs, int], str] | None = None
        self._stopped: list[QueriesStopped] = []
        # Whether any attempt of this tick failed after it may have written files.
        self._again = False

    def take_stopped(self) -> list[QueriesStopped]:
        """The queries that were stopped since somebody asked last."""
        stopped, self._stopped = self._stopped, []
        return stopped

    def run(self, arrival: Arrival) -> Computed:
        """Compute, and from the beginning when an executor took with it what was read already."""
        self._again = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                # Anew with every attempt: rows that were held may be what was lost.
                with arrival.batch.held() as rows:
                    return self._compute_for_all(rows, arrival.watch)
            except Exception as error:
                if attempt == ATTEMPTS or not lost_with_executor(error):
                    raise
                log.warning("tick computed again", extra={"stream": self._planner.feed.name, "attempt": attempt})
                self._again = True
        raise AssertionError("the last attempt returns or raises")

    def _compute_for_all(self, batch: Arrived, watch: Stopwatch) -> Computed:
        """The new rows for all queries that do not fail on this batch, and the rows that count for nothing."""
        try:
            plan, output, new = self._compute(batch, watch)
        except Exception as error:
            if isinstance(error, OSError | StateError):
                raise
            self._again = True
            with watch.stage("mend"):
                batch, letters = batch.cleaned()
        else:
            with watch.stage("mend"):
                letters = batch.dead_letters(output.dead) if output.dead else NO_LETTERS
            return Computed(plan, output, new, letters)
        apart = False
        while True:
            try:
                plan, output, new = self._compute(batch, watch, apart=apart)
                break
            except Exception as error:
                if is_of_infrastructure(error):
                    raise
                with watch.stage("mend"):
                    stopped = self._stop_failing(batch)
                if not stopped and apart:
                    raise
                # Again without them: with queries that were registered meanwhile, which may fail too. And where every
                # query works alone but not all together, node by node.
                apart = not stopped
        # What was taken out before is part of what arrived.
        return Computed(plan, replace(output, rows=output.rows + letters.rows, dead=letters.rows), new, letters)

    def _compute(self, batch: Arrived, watch: Stopwatch, *, apart: bool = False) -> tuple[Plan, BatchOutput, NewRows]:
        with watch.stage("plan"):
            plan = self._planner.plan()
            level0 = Level0(plan.network, apart=True) if apart else self._level0_of(plan)
            if not apart:
                level0.choose(*self._kernel(plan))
            keeping = level0.keeping = self._keeping(batch)
        failpoint("spark-before")
        failpoint_soon("spark-running")
        with watch.stage("spark"):
            output = batch.aggregate(level0)
            if keeping is not None:
                output = replace(output, kept=self._checked(output))
                failpoint("rows-kept")
        failpoint("spark-after")
        with watch.stage("merge"):
            watermark = self._planner.state.watermark
            new = merge_step(output, plan.network, watermark, self._backend, batch.mark.batch_id)
        failpoint("merge-after")
        return plan, output, new

    def _keeping(self, batch: Arrived) -> Keeping | None:
        """What is kept of a batch; None where the stream does not keep its rows."""
        stream = self._registry.stream(self._planner.feed.name)
        if not stream.retention.kept:
            return None
        folder = folder_of_rows(stream.name)
        watermark = self._planner.state.watermark
        return Keeping(self._storage.files, folder, stream.columns, batch.mark.batch_id, watermark)

    def _checked(self, output: BatchOutput) -> Kept:
        """The files that the rows were written to; refuses a tick that would lose a row, or have it twice."""
        kept = output.kept or NOTHING
        if kept.rows != output.rows - output.dead:
            raise StateError(
                "rows-not-kept",
                f"{output.rows - output.dead} rows of the batch count, and {kept.rows} were kept",
                hint="Nothing is committed. The source gives other rows each time that it is read; see docs/rows.md.",
            )
        for file in kept.files:
            if not self._storage.files.exists(file.path):
                raise StateError(
                    "rows-elsewhere",
                    f"an executor wrote {file.path!r}, and here it is not there",
                    hint="Put the state folder where all executors see it, or drop retain from the stream.",
                )
        return Kept(kept.files, kept.again or self._again)

    def _kernel(self, plan: Plan) -> tuple[str, float]:
        """The kernel for the plan's network, and about how many rows a batch has; chosen anew when these change."""
        facts, costs = facts_of(self._planner.state), self._planner.optimizer.costs
        chosen_for = plan, costs, round(2 * log2(1 + facts.rows))
        if self._chosen is None or not _same(self._chosen[0], chosen_for):
            self._chosen = chosen_for, self._planner.optimizer.kernel(plan.network, facts)
        return self._chosen[1], facts.rows

    def _level0_of(self, plan: Plan) -> Level0:
        """How the plan's network is computed from rows, worked out once a plan."""
        if self._level0 is None or self._level0[0] is not plan:
            self._level0 = plan, Level0(plan.network)
        return self._level0[1]

    def _stop_failing(self, batch: Arrived) -> bool:
        """Stop the queries that fail on this batch, each with its reason; False where no query is at fault."""
        number, stream = batch.mark.batch_id, self._planner.feed.name
        queries = self._planner.queries()
        needs = {name: queries[name].needs for name in sorted(queries, key=lambda name: _age(queries[name]))}
        culprits = blame(batch, stream, needs, self._planner.state.watermark, self._backend)
        if not culprits:
            return False
        since = datetime.now(UTC).isoformat(" ", "seconds")
        reasons = {name: f"since batch {number}, {since}: {reason}" for name, reason in culprits.items()}
        self._registry.change(failures(queries, reasons), "fail-inside")
        self._stopped.append(QueriesStopped(stream, number, culprits))
        return True


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two choices were made for the same: plans are not compared part by part."""
    return one[0] is other[0] and one[1:] == other[1:]


def _age(query: Registered) -> tuple[bool, int, datetime, str]:
    """What queries are ordered by, the oldest first: since when a query is computed, and since when it is there."""
    row = query.row
    created = datetime.max.replace(tzinfo=UTC) if row.created_at is None else row.created_at
    return row.from_batch is None, row.from_batch or 0, created, row.name
