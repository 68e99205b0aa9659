"""Whether a stream's rows are the same each time that a batch of it is computed.

A tick reads its batch once for every statement, and again for dead letters and to find who failed; Spark computes it
anew each time. Of files, and of sources that hand a span of offsets over again as it was, the same rows come again, and
nothing needs to be kept. A DataFrame of the user's own may make them up: rand(), code in Python, a source of their own,
state that is kept between batches. So rows are trusted where every operator is known to repeat itself,
and held otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.spark.reading import FILE_SOURCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Operators that give the same rows for the same rows when their expressions do. Rows of all others are held: operators
# that keep state or take whichever row comes first (Deduplicate, Limit), or that run the user's code (MapInPandas).
OPERATORS = frozenset(
    {"Project", "Filter", "SubqueryAlias", "View", "Union", "Generate", "Expand", "EventTimeWatermark"}
)
# Sources that hand over the same rows for the same offsets.
SOURCES = FILE_SOURCES | {"rate", "rate-micro-batch", "kafka"}


def is_repeatable(rows: DataFrame) -> bool:
    """Whether every operator that makes these rows, as they are analysed, is known to repeat itself."""
    plan: Any = rows._jdf.queryExecution().analyzed()
    return bool(plan.deterministic()) and all(map(_repeats, _operators(plan)))


def _operators(plan: Any) -> Iterator[Any]:
    """An operator of Spark's plan and all that it reads from."""
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from _operators(children.apply(index))


def _repeats(operator: Any) -> bool:
    kind = str(operator.getClass().getSimpleName())
    if kind == "StreamingRelation":
        return str(operator.dataSource().className()).lower() in SOURCES
    return str(operator.sourceName()).lower() in SOURCES if kind == "StreamingRelationV2" else kind in OPERATORS
