"""A tick in numbers: what it held, made and cost, in the terms of the cost model."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime

from weft.optimize.learn import Lesson
from weft.plan.blocks import FAN_OUT
from weft.plan.cost import add, of_files
from weft.plan.prices import Costs
from weft.tick.events import TickCommitted
from weft.tick.stages import Arrival, Committed, Computed, Opened, Planned

# The first ticks of an engine compile code and fill caches; after them every so many ticks slices are sealed, which is
# part of what a tick costs.
WARM_UP, REMEMBERED = 2, FAN_OUT


class Experience:
    """How much longer than their prices the last ticks took: prices were measured on a machine with nothing else to do.

    It changes no plan, as it makes all plans longer alike.
    """

    def __init__(self) -> None:
        self._ticks, self._last = 0, deque[tuple[float, float]](maxlen=REMEMBERED)

    def expected(self, priced: float) -> float:
        """The seconds that a tick of this price takes here."""
        took, prices = (sum(values) for values in zip(*self._last, strict=True)) if self._last else (1.0, 1.0)
        return priced * took / prices

    def note(self, tick: TickCommitted) -> None:
        """Learn from a tick that is over."""
        self._ticks += 1
        # Whoever made the tick wait its turn is not what it costs.
        took = tick.took - tick.seconds.get("wait", 0.0)
        if tick.priced_seconds and took and self._ticks > WARM_UP:
            self._last.append((took, tick.priced_seconds))


def in_numbers(
    stream: str,
    arrival: Arrival,
    opened: Opened,
    planned: Planned,
    computed: Computed,
    committed: Committed,
    lesson: Lesson | None,
    prices: Costs,
    experience: Experience,
) -> TickCommitted:
    """The tick in numbers, but for its seconds; what it should have taken only where facts were learned."""
    plan = computed.plan
    measured = {node: rows.count for node, rows in computed.new.rows.items()}
    priced, predicted, amounts = None, None, {}
    if lesson is not None:
        kernel = computed.output.kernel
        expected, amounts = (add(plan.amounts(lesson.tick, kernel, rows).values()) for rows in (None, measured))
        if computed.output.direct:
            expected, amounts = of_files(expected), of_files(amounts)
        priced = round(prices.price(expected), 4)
        predicted = round(experience.expected(priced), 4)
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
    )
