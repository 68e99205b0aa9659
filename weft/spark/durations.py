"""Where the time of a trigger goes outside of our function, as Spark itself measures it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from weft.watch.stopwatch import whole

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FUNCTION, TRIGGER = "addBatch", "triggerExecution"
# Stages of Spark's have its own names behind this prefix, so that Spark's documentation can be asked what they are.
PREFIX = "spark."


def durations_of(query: StreamingQuery, batch_id: int) -> dict[str, int] | None:
    """The milliseconds of a batch by Spark's stages; None while its trigger is under way, or where Spark forgot it."""
    last = query.lastProgress
    recent = [last] if last is None or _is_of(last.batchId, last.durationMs, batch_id) else query.recentProgress
    of_batch = (entry for entry in recent if entry is not None and _is_of(entry.batchId, entry.durationMs, batch_id))
    return next((dict(entry.durationMs) for entry in of_batch), None)


def _is_of(number: int, durations: Mapping[str, int], batch_id: int) -> bool:
    """Whether progress is that of a batch that ran; Spark also tells of triggers that had no rows for the batch."""
    return number == batch_id and FUNCTION in durations


def stages_of(durations: Mapping[str, int], function: float) -> dict[str, float]:
    """Seconds by stage of all of a trigger but our function, which took so many seconds.

    >>> stages_of({"latestOffset": 300, "addBatch": 1500, "triggerExecution": 2000}, 1.25)
    {'spark.latestOffset': 0.3, 'spark.addBatch': 0.25, 'spark.triggerExecution': 0.2}
    """
    outside = {PREFIX + name: ms / 1000 for name, ms in durations.items() if name not in (FUNCTION, TRIGGER)}
    around = whole({}, durations[FUNCTION] / 1000 - function, PREFIX + FUNCTION)
    passed = durations.get(TRIGGER, 0) / 1000 - function
    return whole({**outside, **around}, passed, PREFIX + TRIGGER)
