"""Batches without Spark in which some rows are dead, and some cannot be divided."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa

from tests.simulation import level0 as simulated
from tests.simulation.level0 import PlainBatch
from weft.algebra.expressions import Column
from weft.backend.interface import BackendError
from weft.spark.batch import BatchOutput
from weft.spark.dead import LETTERS, NO_TIME, DeadLetters
from weft.spark.kernels import Level0

QUOTIENT = "v / d"


def name_of(expression: object) -> str:
    """The column that holds an expression: its own, or the one for the only expression there is."""
    return expression.name if isinstance(expression, Column) else QUOTIENT


class CrashBatch(PlainBatch):
    """Rows without a time are dead; a query that divides `v` by `d` fails where `d` is zero."""

    def aggregate(self, level0: Level0) -> BatchOutput:
        rows = [row for row in self.rows if row["ts"] is not None]
        if any(
            not isinstance(one, Column) for node in level0.network.base for each in node.statistics for one in each.arguments
        ):
            if not all(row["d"] for row in rows):
                raise BackendError("[DIVIDE_BY_ZERO] Division by zero.")
            rows = [{**row, QUOTIENT: row["v"] / row["d"]} for row in rows]
        with patch.object(simulated, "column_of", name_of):
            found = PlainBatch(self.mark, rows).aggregate(level0)
        return replace(found, rows=len(self.rows), dead=len(self.rows) - len(rows))

    def dead_letters(self, count: int) -> DeadLetters:
        dead = [row for row in self.rows if row["ts"] is None]
        tick = self.mark.batch_id
        lines = [{"tick": tick, "reason": NO_TIME, "source": "plain", "row": json.dumps(row)} for row in dead]
        return DeadLetters({NO_TIME: len(dead)} if dead else {}, pa.Table.from_pylist(lines, LETTERS))

    def cleaned(self) -> tuple[CrashBatch, DeadLetters]:
        return replace(self, rows=[row for row in self.rows if row["ts"] is not None]), self.dead_letters(len(self.rows))
