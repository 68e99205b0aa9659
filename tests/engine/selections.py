"""Random selections of rows: their texts for Weft, and what Spark SQL says of them over the rows of a window."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

import pyarrow as pa

from tests.engine.queries import ATOMS
from tests.engine.rows import SCHEMA, Ticks, as_table

ITEMS = (
    "k", "c", "i", "n", "b", "e", "x", "y", "z", "g", "d", "w", "f", "s", "t", "day", "at", "u", "ts",
    # Computed from what is kept, by Spark beforehand, and what could fail on a row.
    "upper(k)", "concat(k, c)", "i % 3", "x * 2", "-x", "abs(y)", "coalesce(k, '-')", "x > y", "k IS NULL", "d * 2",
    "cast(x AS string)", "cast(i AS double)", "i + 1", "d / 4", "date_trunc('minute', ts)", "CASE WHEN f THEN x ELSE y END",
    "cast(k AS string)", "nullif(i, 3)", "greatest(x, y)", "1 + 1", "negate_zero",
)
# -0.0 where x is not positive: a zero with a sign that is computed and not kept.
NEGATE_ZERO = "CASE WHEN x > 0 THEN x ELSE double('-0.0') END"
ORDERS = ("x", "y DESC", "k NULLS LAST", "i DESC NULLS FIRST", "d", "upper(k)", "x + 1")


@dataclass(frozen=True)
class RandomSelection:
    """A selection: its columns under names, its condition, order and limit, and its window in Weft's words."""

    items: tuple[str, ...]
    where: str
    order: tuple[str, ...]
    limit: int | None
    length: timedelta | None
    slide: timedelta | None

    @property
    def columns(self) -> str:
        return ", ".join(f"{item} AS c{number}" for number, item in enumerate(self.items))

    def weft(self, stream: str) -> str:
        """The query as Weft registers it."""
        window, behind = "", ""
        if self.slide is not None and self.length is not None:
            window = f" [RANGE {self.length // MS} MILLISECONDS SLIDE {self.slide // MS} MILLISECONDS]"
        elif self.length is not None:
            behind = f" BEGIN (NOW - INTERVAL {self.length // MS} MILLISECONDS) END (NOW)"
        order = f" ORDER BY {', '.join(self.order)}" if self.order else ""
        limit = f" LIMIT {self.limit}" if self.limit is not None else ""
        return f"SELECT {self.columns} FROM {stream}{window}{self.condition}{order}{limit}{behind}"

    @property
    def condition(self) -> str:
        return f" WHERE {self.where}" if self.where else ""

    def spark(self, rows: str) -> str:
        """The same over the rows of a table, which has a name: Spark takes WHERE (f) behind parentheses for a name with a column."""
        order = f" ORDER BY {', '.join((*self.order, 'ts', 'u'))} LIMIT {self.limit}" if self.limit is not None else ""
        lead = "" if "ts" in self.items else "ts, "
        return f"SELECT {lead}{self.columns} FROM {rows} AS r{self.condition}{order}"


MS = timedelta(milliseconds=1)


def selection(random: Random) -> RandomSelection:
    """A random selection."""
    items = tuple(item.replace("negate_zero", NEGATE_ZERO) for item in random.sample(ITEMS, random.randint(1, 6)))
    atoms = random.sample(ATOMS, random.choice([0, 1, 1, 2, 3]))
    where = f" {random.choice(['AND', 'AND', 'OR'])} ".join(f"({atom})" for atom in atoms)
    slide = random.choice([None, None, 5_000, 10_000, 7_300])
    length = random.choice([None, 8_000, 60_000]) if slide is None else slide * random.choice([1, 1, 2, 3]) + random.choice([0, 700])
    # Only a number that is different in every row makes an order whole in both engines.
    limit = random.choice([None, None, 3, 10])
    order = (random.choice(ORDERS), "ts", "u") if limit is not None else ()
    return RandomSelection(
        items, where, order, limit, None if length is None else length * MS, None if slide is None else slide * MS
    )


def arrived(ticks: Ticks) -> pa.Table:
    """All rows of a stream that have a time, each with its tick and the watermark that it came behind."""
    tables, newest = [], None
    for number, rows in enumerate(ticks.rows):
        watermark = None if newest is None else newest - ticks.delay
        table = as_table([row for row in rows if row["ts"] is not None])
        table = table.append_column("tick", pa.array([number] * len(table), pa.int64()))
        tables.append(table.append_column("behind", pa.array([watermark] * len(table), SCHEMA.field("ts").type)))
        moments = [row["ts"] for row in rows if row["ts"] is not None]
        newest = max([*moments, *([] if newest is None else [newest])], default=newest)
    return pa.concat_tables(tables)


def counted(table: pa.Table, without: tuple[str, ...] = ()) -> Counter[str]:
    """The rows as a multiset: zeros with their sign, NaN as itself."""
    kept = table.select([name for name in table.column_names if name not in without])
    return Counter(map(repr, zip(*(column.to_pylist() for column in kept.columns), strict=True)))


def literal(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.isoformat()}'"
