"""Rows that count for nothing: which they are and why, as Spark columns.

A row is dead when its source could not be parsed into the declared columns, when it has no event time, when that is in
no year from 1 to 9999, or when it is further ahead of the clock than the stream allows: a sensor with a wrong clock
must not close everybody's windows. The clock is that of the micro-batch, which Spark keeps in the checkpoint: a batch
that runs again finds the same rows dead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.algebra.windows import micros
from weft.feeds.streams import Stream, spark_identifier

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNPARSABLE, NO_TIME, BEHIND, AHEAD = "unparsable", "no event time", "too far back", "too far ahead"
BAD_FILE = "unreadable file"
# The years 1 to 9999 in microseconds. Beyond them are what programs write for no time at all, and sums that overflow.
FIRST_MOMENT, LAST_MOMENT = -62_135_596_800_000_000, 253_402_300_799_999_999
# The column that Spark's readers put a row into that they cannot parse.
CORRUPT = "weft_corrupt"
# The column with the file that a row came from, where it is read again.
SOURCE = "weft_source"
# Formats whose rows are parsed row by row, so that a single row can be wrong.
PARSED = frozenset({"csv", "json", "xml"})
# Of a tick no more than this many letters are kept to look at; all are counted.
LETTERS_KEPT = 10_000
# Of a dead row so many characters are kept, from its beginning: a source may hold lines of any length.
ROW_KEPT = 4_000

LETTERS = pa.schema([("tick", pa.int64()), ("reason", pa.string()), ("source", pa.string()), ("row", pa.string())])


@dataclass(frozen=True)
class DeadLetters:
    """The dead rows of a tick: how many for every reason, and the first of them."""

    counts: Mapping[str, int] = field(default_factory=dict)
    table: pa.Table = field(default_factory=LETTERS.empty_table)

    def __add__(self, other: DeadLetters) -> DeadLetters:
        reasons = {**self.counts, **other.counts}
        counts = {reason: self.counts.get(reason, 0) + other.counts.get(reason, 0) for reason in reasons}
        return DeadLetters(counts, pa.concat_tables([self.table, other.table]).slice(0, LETTERS_KEPT))

    @property
    def rows(self) -> int:
        """How many rows are dead; nobody knows how many an unreadable file had."""
        return sum(count for reason, count in self.counts.items() if reason != BAD_FILE)


NO_LETTERS = DeadLetters()


def moment(stream: Stream, now: Column, parsed: bool) -> Column:
    """The event time as a number, NULL for rows that are dead."""
    from pyspark.sql import functions as f

    time = f.unix_micros(f.col(spark_identifier(stream.event_time)))
    alive = time.between(FIRST_MOMENT, LAST_MOMENT)
    if stream.max_ahead is not None:
        alive = alive & (time <= f.unix_micros(now) + f.lit(micros(stream.max_ahead)))
    if parsed:
        alive = alive & f.col(CORRUPT).isNull()
    return f.when(alive, time)


def letters(rows: DataFrame, stream: Stream, tick: int, known: int | None = None) -> DeadLetters:
    """The dead rows of a batch; `rows` has columns and moment, and perhaps CORRUPT and SOURCE.

    A small job where it is `known` how many they are and all are kept; otherwise a second job counts them.
    """
    from pyspark.sql import functions as f

    from weft.segments.kept import MOMENT

    time = f.unix_micros(f.col(spark_identifier(stream.event_time)))
    timeless = f.when(time.isNull(), NO_TIME).when(time < FIRST_MOMENT, BEHIND).otherwise(AHEAD)
    whole = f.to_json(f.struct(*(f.col(spark_identifier(name)) for name, _ in stream.columns)))
    if CORRUPT in rows.columns:
        timeless = f.when(f.col(CORRUPT).isNotNull(), UNPARSABLE).otherwise(timeless)
        whole = f.coalesce(f.col(CORRUPT), whole)
    source = f.col(SOURCE) if SOURCE in rows.columns else f.lit(stream.source or "dataframe")
    dead = rows.select(
        f.lit(tick).cast("bigint").alias("tick"),
        timeless.alias("reason"),
        source.alias("source"),
        f.substring(whole, 1, ROW_KEPT).alias("row"),
        f.col(MOMENT),
    ).where(f.col(MOMENT).isNull())
    if known is not None and known <= LETTERS_KEPT:
        table = dead.drop(MOMENT).toArrow().cast(LETTERS)
        return DeadLetters(Counter(table["reason"].to_pylist()), table)
    counts = {row[0]: row[1] for row in dead.groupBy("reason").count().collect()}
    return DeadLetters(counts, dead.drop(MOMENT).limit(LETTERS_KEPT).toArrow().cast(LETTERS))
