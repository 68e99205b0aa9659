"""A tick in numbers: what it held, made and cost, in the terms of the cost model."""

from __future__ import annotations

from datetime import UTC, datetime

from weft.optimize.learn import Lesson
from weft.plan.cost import Costs, add, of_files
from weft.tick.events import TickCommitted
from weft.tick.stages import Arrival, Committed, Computed, Opened, Planned


def in_numbers(
    stream: str,
    arrival: Arrival,
    opened: Opened,
    planned: Planned,
    computed: Computed,
    committed: Committed,
    lesson: Lesson | None,
    prices: Costs,
) -> TickCommitted:
    """The tick in numbers, but for its seconds; what it should have taken only where facts were learned."""
    plan = computed.plan
    measured = {node: rows.count for node, rows in computed.new.rows.items()}
    predicted, amounts = None, {}
    if lesson is not None:
        kernel = computed.output.kernel
        predicted = round(prices.price(add(plan.amounts(lesson.tick, kernel).values())), 4)
        amounts = add(plan.amounts(lesson.tick, kernel, measured).values())
        amounts = of_files(amounts) if computed.output.direct else amounts
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
        predicted_seconds=predicted,
        amounts={name: round(amount) for name, amount in amounts.items()},
        committed_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        watermark_before=opened.watermark,
        watermark=committed.watermark,
        seconds={},
    )
