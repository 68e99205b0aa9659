"""Random query sets over random rows: what the engine answers is what batch Spark answers, whatever else is registered.

A failing set is kept as a file in tests/seeds and replayed first. `WEFT_SEED` shifts all seeds. A stream takes 25 seconds:
`make test` has some of them, of either parity, and `make stress` all and many more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import add_stream, session_with, write_ticks
from tests.engine.oracle import BatchSpark, difference
from tests.engine.queries import RandomQuery, query_set
from tests.engine.rows import Ticks, as_table, random_ticks
from tests.few import few

SEEDS = Path(__file__).parents[1] / "seeds"
FIRST = int(os.environ.get("WEFT_SEED", "0"))
STREAMS, SETS = 14, 15
STREAM_SEEDS = few(range(FIRST, FIRST + STREAMS), 4)
# From this seed on streams have more ticks; they are those of `make stress`.
LONG = 1000
# So many sets are registered in one stream: what a tick costs is mostly Spark's planning, which five sets share.
TOGETHER = 5
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def kept_seeds() -> list[tuple[int, int]]:
    """The sets that failed once: files named stream-<seed>-set-<number>."""
    found = [path.name.split("-") for path in sorted(SEEDS.glob("stream-*-set-*"))]
    return [(int(parts[1]), int(parts[3])) for parts in found]


def stream_of(seed: int) -> Ticks:
    random = Random(f"stream {seed}")
    ticks = [2, 2, 3] if seed < LONG else [3, 4, 5]
    return random_ticks(random, ticks=random.choice(ticks), size=random.choice([200, 300, 500]),
                        span=timedelta(seconds=random.choice([100, 240])),
                        delay=timedelta(milliseconds=random.choice([0, 5_000, 12_345])))


def set_of(seed: int, number: int) -> list[RandomQuery]:
    return query_set(Random(f"stream {seed} set {number}"))


def together(seed: int) -> int:
    """How many sets a stream of this seed serves; in half of those of `make stress` every set is alone."""
    return TOGETHER if seed < LONG or seed // 2 % 2 else 1


def neighbours(seed: int, number: int) -> range:
    """The sets that share a stream with this one, itself among them."""
    first = number // together(seed) * together(seed)
    return range(first, first + together(seed))


def compare_sets(spark: SparkSession, folder: Path, seed: int, numbers: range) -> list[str]:
    """Some sets on every stream, all over the same rows; a line for every query that differs."""
    ticks = stream_of(seed)
    write_ticks(folder / "in", ticks)
    oracle = BatchSpark(spark, as_table(ticks.all))
    # Compiled and interpreted expressions are two implementations: half of the streams runs on each.
    session = session_with(spark, INTERPRETED if seed % 2 else {})
    wrong = []
    with weft.Engine(folder / "state", spark=session) as engine:
        sets = {number: set_of(seed, number) for number in numbers}
        for number, queries in sets.items():
            stream = f"s{number // together(seed)}"
            add_stream(engine, stream, folder / "in", ticks)
            texts = {f"s{number}q{place}": query.weft(stream) for place, query in enumerate(queries)}
            engine.register_all(texts, eager=number % 2 == 1)
        engine.run_available()
        for number, queries in sets.items():
            answers = oracle.answers([query.spark("rows", until=ticks.watermark) for query in queries])
            for place, (query, expected) in enumerate(zip(queries, answers, strict=True)):
                problem = compare_query(engine.query(f"s{number}q{place}"), query, expected, ticks.watermark)
                if problem:
                    wrong.append(f"stream {seed} set {number} query {place}: {query.weft('s')}\n    {problem}")
    oracle.close()
    return wrong


def compare_query(handle: weft.ContinuousQuery, query: RandomQuery, expected: pa.Table, watermark: datetime) -> str:
    if query.window is None:
        return difference(handle.result(), expected, ordered=bool(query.order))
    found = handle.results()
    ends = found["window_end"].to_pylist()
    if ends != sorted(ends):
        return "windows are not oldest first"
    newest = query.window.newest_end(watermark)
    alone = found.filter(pc.equal(found["window_end"], pa.scalar(newest, found.schema.field("window_end").type)))
    wrong = difference(handle.result(), alone, ordered=False) or difference(handle.result(end=newest), alone, ordered=False)
    return f"result() differs from results(): {wrong}" if wrong else difference(found, expected, ordered=bool(query.order))


def keep(wrong: list[str]) -> None:
    SEEDS.mkdir(exist_ok=True)
    for line in wrong:
        _, seed, _, number, *_ = line.split(":")[0].split()
        (SEEDS / f"stream-{seed}-set-{number}").write_text(line + "\n")


# Without a set that failed, the first ones show that a replay works; other streams do so in `make test`.
@pytest.mark.parametrize(("seed", "number"), kept_seeds() or [pytest.param(0, 0, marks=pytest.mark.slow)])
def test_sets_that_failed_once(spark: SparkSession, tmp_path: Path, seed: int, number: int) -> None:
    wrong = compare_sets(spark, tmp_path, seed, neighbours(seed, number))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", STREAM_SEEDS)
def test_random_sets_equal_batch_spark(
    spark: SparkSession, tmp_path: Path, seed: int, tell: Callable[[str], None]
) -> None:
    tell(f"stream {seed}: {SETS} sets of queries")
    wrong = compare_sets(spark, tmp_path, seed, range(SETS))
    keep(wrong)
    assert not wrong, f"seed {seed}, {len(wrong)} queries differ\n" + "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST + LONG, FIRST + LONG + 60))
def test_many_more_random_sets_equal_batch_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    wrong = compare_sets(spark, tmp_path, seed, range(30))
    keep(wrong)
    assert not wrong, f"seed {seed}, {len(wrong)} queries differ\n" + "\n".join(wrong)


def texts_of(*seeds: int) -> list[str]:
    return [query.weft("s") for seed in seeds for number in range(SETS) for query in set_of(seed, number)]


def test_there_are_at_least_two_hundred_sets_and_they_hold_everything() -> None:
    """The random sets are not vacuous: every kind of aggregate, clause and window is in them, many times."""
    assert STREAMS * SETS >= 200
    texts, in_make_test = texts_of(*range(STREAMS)), texts_of(*(seed for seed in STREAM_SEEDS if isinstance(seed, int)))
    assert len(texts) > 1000
    for word in ("sum(", "avg(", "min(", "max(", "count(*)", "stddev", "var_", "bool_and", "bool_or", "min_by", "max_by",
                 "first(", "last(", "count(DISTINCT", "percentile", "median", "mode(", "FILTER", "HAVING", "ORDER BY",
                 "LIMIT", "WHERE", " OR ", "NOT (", "IS NULL", "LIKE", "IN (", "BETWEEN", "CASE", "cast("):
        assert sum(word in text for text in texts) >= 10, word
        assert any(word in text for text in in_make_test), word
    assert sum("window(" not in text for text in texts) >= 50
