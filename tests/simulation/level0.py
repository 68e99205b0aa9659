"""Micro-batches without Spark: rows as plain values, the base nodes' partial rows by counting on the fingers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Call, Column, Expression, Literal
from weft.backend.interface import BackendError
from weft.passes.keeping import Kept
from weft.plan.dimensions import Cut, Dimension, lowest
from weft.plan.network import Network, Node
from weft.segments.kept import MOMENT
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, row_schema
from weft.segments.types import arrow_type
from weft.spark.batch import BatchOutput
from weft.spark.checkpoint import BatchMark
from weft.spark.dead import LETTERS, NO_LETTERS, NO_TIME, DeadLetters
from weft.spark.kernels import Level0

Row = dict[str, Any]

# The greatest of values fails where this is one of them, as an expression may fail on a row.
POISON = 1000

COMPARISONS: dict[str, Callable[..., bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "and": lambda *parts: all(parts),
}
MERGES: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "min": min, "max": max, "count": len}


@dataclass(frozen=True)
class PlainBatch:
    """A micro-batch of rows with a column `ts` in microseconds, as the tick sees any batch."""

    mark: BatchMark
    rows: Sequence[Row] = field(repr=False)

    def held(self) -> AbstractContextManager[Self]:
        return nullcontext(self)

    def aggregate(self, level0: Level0) -> BatchOutput:
        network = level0.network
        partials = {node.id: partial_rows(node, network, self.rows, self.mark.batch_id) for node in level0.nodes}
        newest = max((row["ts"] for row in self.rows), default=None)
        return BatchOutput(len(self.rows), 0, newest, partials, kept=self._kept(level0))

    def _kept(self, level0: Level0) -> Kept | None:
        """The rows, written where they are kept."""
        keeping = level0.keeping
        if keeping is None:
            return None
        columns = {name: pa.array([row[name] for row in self.rows], arrow_type(kind)) for name, kind in keeping.columns}
        moments = pa.array([row["ts"] for row in self.rows], pa.int64())
        return Kept(tuple(keeping.write(pa.table({**columns, MOMENT: moments}))))

    def jobs(self) -> int:
        return 0

    def dead_letters(self, count: int) -> DeadLetters:
        return NO_LETTERS

    def cleaned(self) -> tuple[PlainBatch, DeadLetters]:
        return self, NO_LETTERS

    def guilty(self, fails: Callable[[Self], object]) -> Self | None:
        left = self
        while len(left.rows) > 1:
            first, second = (replace(left, rows=left.rows[half::2]) for half in (0, 1))
            left = first if fails(first) else second
        return left if fails(left) else None

    def values(self, columns: Sequence[str]) -> dict[str, str | None]:
        return {name: str(self.rows[0][name]) for name in columns}


@dataclass(frozen=True)
class BatchWithLetter(PlainBatch):
    """A batch with one more row, which has no event time."""

    def aggregate(self, level0: Level0) -> BatchOutput:
        found = super().aggregate(level0)
        return BatchOutput(found.rows + 1, 1, found.newest, found.partials, kept=found.kept)

    def dead_letters(self, count: int) -> DeadLetters:
        number = self.mark.batch_id
        return DeadLetters({NO_TIME: 1}, pa.table([[number], [NO_TIME], [""], [f'{{"v": {number}}}']], schema=LETTERS))


def partial_rows(node: Node, network: Network, rows: Sequence[Row], batch_id: int) -> pa.Table:
    """What Spark would give for a base node that is grouped by columns, or cells of them."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    cuts = dict(network.cuts)
    for row in rows:
        start = batch_id if node.slicing is None else node.slicing.floor(row["ts"])
        for number in numbers_of(node, network, row):
            keys = (number if one.matches else value_of(one, row, cuts.get(one.name, ())) for one in node.dimensions)
            groups.setdefault((start, *keys), []).append(row)
    lines = []
    for (start, *keys), group in groups.items():
        line = {START: start, LATE: ON_TIME, LEVEL: 0}
        line |= {one.name: key for one, key in zip(node.dimensions, keys, strict=True)}
        line |= {one.name: computed(one, group) for one in node.statistics}
        lines.append(line)
    return pa.Table.from_pylist(lines, schema=row_schema(node.dimensions, node.statistics))


def numbers_of(node: Node, network: Network, row: Row) -> list[int | None]:
    """The numbers of the matches that keep a row; of a node without matches a single None."""
    if node.matches is None:
        return [None]
    return [match.number for match in dict(network.matches)[node.matches] if computed_from(match.where, row) is True]


def value_of(dimension: Dimension, row: Row, cuts: Sequence[Cut]) -> Any:
    """The value in a row, or the greatest cut at or below it."""
    value = computed_from(dimension.expression, row)
    if not dimension.cells:
        return value
    return max((cut for cut in cuts if cut <= value), default=lowest(dimension.type))


def computed_from(expression: Expression, row: Row) -> Any:
    """A column, a comparison of one with a constant, or several of them that hold together; no value is NULL."""
    if isinstance(expression, Call):
        return COMPARISONS[expression.function](*(computed_from(one, row) for one in expression.arguments))
    return expression.value if isinstance(expression, Literal) else row[column_of(expression)]


def computed(one: Statistic, rows: list[Row]) -> Any:
    assert one.where is None
    if one.basic == "max" and any(row.get("v") == POISON for row in rows):
        raise BackendError(f"[POISONED] There is no greatest value beside {POISON}.")
    return MERGES[one.basic]([row[column_of(one.arguments[0])] for row in rows] if one.arguments else rows)


def column_of(expression: object) -> str:
    assert isinstance(expression, Column), f"the simulation knows columns only, not {expression}"
    return expression.name
