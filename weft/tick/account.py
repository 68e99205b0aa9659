"""A tick in numbers: what it held, made and cost, in the terms of the cost model."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from datetime import UTC, datetime
from statistics import median

from weft.optimize.learn import Lesson
from weft.plan.blocks import FAN_OUT
from weft.plan.cost import add, of_files
from weft.plan.prices import Costs
from weft.tick.events import TickCommitted
from weft.tick.stages import Arrival, Committed, Computed, Opened, Planned, Tended

# The first ticks of an engine compile code and fill caches. Of those after them the last few count.
WARM_UP, REMEMBERED = 2, FAN_OUT
# The stage that most ticks have nothing to do in, and some very much.
SEALING = "tend"


class Experience:
    """How much longer than their prices the last ticks took: prices were measured on a machine with nothing else to do.

    The first tick of a plan makes what the others use, and does not count; ticks of another plan count until this plan
    has ticks that do. Plans stay as they are, since all of them take longer alike. Few ticks seal slices, and then very
    many at once: sealing counts apart, by the rows that are due.
    """

    def __init__(self) -> None:
        self._ticks = 0
        self._plan: Hashable = None
        self._counted: Hashable = None
        # Of the last ticks, what they took over their prices without sealing; of those that sealed, seconds and rows.
        self._usual = deque[float](maxlen=REMEMBERED)
        self._sealing = deque[tuple[float, int]](maxlen=REMEMBERED)

    def expected(self, priced: float, rewritten: int = 0) -> float:
        """The seconds that a tick of this price takes here, which writes so many stored rows anew."""
        if not self._usual:
            return priced
        seconds, rows = sum(taken for taken, _ in self._sealing), sum(rows for _, rows in self._sealing)
        return priced * median(self._usual) + (rewritten * seconds / rows if rows else 0.0)

    def note(self, tick: TickCommitted, plan: Hashable) -> None:
        """Learn from a tick that is over, which went by this plan."""
        self._ticks += 1
        before, self._plan = self._plan, plan
        sealing = tick.seconds.get(SEALING, 0.0) if tick.rewritten else 0.0
        if tick.rewritten and self._ticks > WARM_UP:
            self._sealing.append((sealing, tick.rewritten))
        # Whoever made the tick wait its turn is not what it costs.
        usual = tick.took - tick.seconds.get("wait", 0.0) - sealing
        if not tick.priced_seconds or not usual or self._ticks <= WARM_UP or plan != before:
            return
        if plan != self._counted:
            self._usual.clear()
        self._counted = plan
        self._usual.append(usual / tick.priced_seconds)


def in_numbers(
    stream: str,
    arrival: Arrival,
    opened: Opened,
    planned: Planned,
    computed: Computed,
    committed: Committed,
    lesson: Lesson | None,
    tended: Tended | None,
    prices: Costs,
    experience: Experience,
) -> TickCommitted:
    """The tick in numbers, but for its seconds; what it should have taken only where facts were learned."""
    plan = computed.plan
    measured = {node: rows.count for node, rows in computed.new.rows.items()}
    priced, predicted, amounts = None, None, {}
    rewritten = 0 if tended is None else tended.rewritten
    if lesson is not None:
        kernel = computed.output.kernel
        expected, amounts = (add(plan.amounts(lesson.tick, kernel, rows).values()) for rows in (None, measured))
        if computed.output.direct:
            expected, amounts = of_files(expected), of_files(amounts)
        priced = round(prices.price(expected), 4)
        predicted = round(experience.expected(priced, rewritten), 4)
    return TickCommitted(
        stream=stream,
        batch_id=arrival.batch.mark.batch_id,
        rows=computed.output.rows,
        dead=sum(computed.letters.counts.values()),
        jobs=arrival.batch.jobs() - planned.jobs,
        queries=len(plan.queries),
        nodes=len(plan.network.nodes),
        partial_rows=sum(measured.values()),
        kernel=computed.output.kernel,
        priced_seconds=priced,
        predicted_seconds=predicted,
        amounts={name: round(amount) for name, amount in amounts.items()},
        committed_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        watermark_before=opened.watermark,
        watermark=committed.watermark,
        seconds={},
        rewritten=rewritten,
    )
