"""Selections of rows: what Weft answers is what Spark SQL says over the rows of the window, whatever else is registered."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.oracle import BatchSpark
from tests.engine.rows import DDL, Ticks, as_table, random_ticks
from tests.engine.selections import RandomSelection, arrived, counted, literal, selection
from tests.few import few
from weft.algebra.windows import duration_text, micros
from weft.errors import WeftError

FIRST = int(os.environ.get("WEFT_SEED", "0"))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ticks_of(random: Random) -> Ticks:
    span = timedelta(seconds=random.choice([60, 150]))
    delay = timedelta(milliseconds=random.choice([0, 4_000]))
    return random_ticks(random, ticks=random.choice([3, 5]), size=random.choice([80, 150]), span=span, delay=delay, late=0.1)


def registered(engine: weft.Engine, random: Random, stream: str) -> dict[str, RandomSelection]:
    """Random selections that Weft takes; those that it refuses are refused by a code of its own."""
    taken: dict[str, RandomSelection] = {}
    while len(taken) < 8:
        chosen, name = selection(random), f"{stream}{len(taken)}"
        try:
            engine.register(chosen.weft(stream), name=name, eager=random.random() < 0.3)
        except WeftError as error:
            assert error.code in ("wrong-type", "unsupported-clause"), f"{chosen.weft(stream)}: {error}"
            continue
        taken[name] = chosen
    return taken


def wrong(engine: weft.Engine, name: str, chosen: RandomSelection, oracle: BatchSpark, ticks: Ticks) -> list[str]:
    """What a selection answers that Spark does not, in a line each."""
    handle, found = engine.query(name), list[str]()
    newest = max(row["ts"] for row in ticks.all if row["ts"] is not None)

    def compare(what: str, mine: Counter[str], rows: str) -> None:
        theirs = counted(oracle.answer(chosen.spark(rows)))
        if mine != theirs:
            missing, extra = list((theirs - mine).elements()), list((mine - theirs).elements())
            found.append(f"{what} of {chosen.weft('s')}\n  missing {missing[:2]} extra {extra[:2]} of {len(mine)}")

    if chosen.slide is None:
        begin = newest - chosen.length if chosen.length is not None else EPOCH - timedelta(days=36500)
        compare("now", counted(handle.result()), f"(SELECT * FROM rows WHERE ts >= {literal(begin)})")
        if chosen.length is None and chosen.limit is None:
            compare("results", counted(handle.results()), "rows")
    else:
        assert chosen.length is not None
        watermark = newest - ticks.delay
        slide = micros(chosen.slide)
        end = EPOCH + timedelta(microseconds=(micros(watermark - EPOCH) - micros(chosen.length)) // slide * slide) + chosen.length
        for back in range(4):
            upto = end - back * chosen.slide
            rows = f"""(SELECT * FROM rows WHERE ts >= {literal(upto - chosen.length)} AND ts < {literal(upto)}
                        AND (behind IS NULL OR behind < {literal(upto)}))"""
            compare(f"window to {upto}", counted(handle.result(end=upto), ("window_start", "window_end")), rows)
    # A row that came too late for a window that slides is no change of it.
    if chosen.length is None and chosen.limit is None:
        since = len(ticks.rows) - 3
        compare("changes", counted(handle.changes(since=since), ("tick",)), f"(SELECT * FROM rows WHERE tick > {since})")
    return found


@pytest.mark.parametrize("seed", few(range(FIRST, FIRST + 60), 4))
def test_a_selection_is_what_spark_says(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"selections {seed}")
    ticks = ticks_of(random)
    oracle = BatchSpark(spark, arrived(ticks))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead="any",
                          watermark=duration_text(ticks.delay))
        taken = registered(engine, random, "s")
        for number, rows in enumerate(ticks.rows):
            weft.testing.feed(engine, "s", as_table(rows), spark=(seed + number) % 3 == 0)
        problems = [line for name, chosen in taken.items() for line in wrong(engine, name, chosen, oracle, ticks)]
    oracle.close()
    assert not problems, f"seed {seed}\n" + "\n".join(problems)
