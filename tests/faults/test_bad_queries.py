"""A bad query harms only itself: a hundred good ones beside three that fail, each at another tick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import feed
from weft.errors import EngineError

TICKS = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("g", pa.int32()), ("v", pa.int32()), ("d", pa.int32()), ("w", pa.string())]
)
DDL = "ts timestamp, g int, v int, d int, w string"
GOOD = {
    f"good_{place}": f"SELECT g, count(*) AS n, sum(v) AS total, min(v) AS least FROM s WHERE v > {place // 2} "
    f"GROUP BY window(ts, '{(10, 20)[place % 2]} seconds', '10 seconds'), g"
    for place in range(100)
}
# What fails, at which tick, and what must be said of it.
BAD = {
    "the_one_that_divides": (
        "SELECT sum(v / d) AS x FROM s GROUP BY window(ts, '10 seconds')", 1,
        ("[DIVIDE_BY_ZERO] Division by zero, on a row with d = 0, v = 17",),
    ),
    "the_one_that_casts": (
        "SELECT g, max(cast(w AS int)) AS x FROM s GROUP BY window(ts, '10 seconds'), g", 2,
        ("[CAST_INVALID_INPUT] The value '12x' of", "because it is malformed, on a row with w = '12x'"),
    ),
    "the_one_that_overflows": (
        "SELECT sum(v * v) AS x FROM s WHERE g = 1 GROUP BY window(ts, '20 seconds')", 3,
        ("[ARITHMETIC_OVERFLOW] overflow, on a row with g = 1, v = 2000000000",),
    ),
}
SPOILT = {1: {"d": 0, "v": 17}, 2: {"w": "12x"}, 3: {"v": 2_000_000_000}}


def test_the_good_queries_are_a_hundred_texts() -> None:
    assert len(set(GOOD.values())) == len(GOOD) == 100


def rows_of(tick: int) -> list[dict[str, Any]]:
    """Ten seconds of event time a tick; from its tick on, a bad value in every tick."""
    random = Random(f"bad {tick}")
    rows = [
        {"ts": EPOCH + timedelta(seconds=10 * tick + second), "g": 1 + second % 3, "v": random.randint(0, 50), "d": 2,
         "w": str(random.randint(0, 9))}
        for second in range(10)
    ]
    for since, bad in SPOILT.items():
        if tick >= since:
            rows[3 * since] |= bad
    return rows


def expected(place: int, closed: int) -> list[tuple[int, int, int, int]]:
    """Group, count, sum and minimum of all closed windows of a good query, the oldest first, counted by hand."""
    length, least, found = (1, 2)[place % 2], place // 2, []
    for end in range(1, closed + 1):
        rows = [row for tick in range(max(0, end - length), end) for row in rows_of(tick) if row["v"] > least]
        for group in sorted({row["g"] for row in rows}):
            mine = [row["v"] for row in rows if row["g"] == group]
            found.append((group, len(mine), sum(mine), min(mine)))
    return found


def answer(engine: weft.Engine, name: str) -> list[tuple[int, ...]]:
    rows = engine.query(name).results().to_pylist()
    return [(row["g"], row["n"], row["total"], row["least"]) for row in rows]


@dataclass(frozen=True)
class Seen:
    """What could be seen after one tick."""

    statuses: dict[str, str]
    answers: dict[str, list[tuple[int, ...]]]


@dataclass(frozen=True)
class Life:
    """An engine after all ticks."""

    engine: weft.Engine
    seen: list[Seen]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Life]:
    folder: Path = tmp_path_factory.mktemp("bad")
    with weft.Engine(folder / "state", spark=spark) as engine:
        engine.add_stream(
            "s", source="parquet", path=folder / "in", event_time="ts",
            schema=DDL,
        )
        engine.register_all(GOOD | {name: sql for name, (sql, _, _) in BAD.items()})
        seen = []
        for tick in range(TICKS):
            feed(engine, ["s"], pa.Table.from_pylist(rows_of(tick), schema=SCHEMA))
            statuses = {query.name: query.status for query in engine.queries()}
            seen.append(Seen(statuses, {name: answer(engine, name) for name in GOOD}))
        yield Life(engine, seen)


def test_every_good_query_is_right_after_every_tick(life: Life) -> None:
    for tick, seen in enumerate(life.seen):
        # The newest row is one second before the end of the tick's own window, so all before it are closed.
        for place, name in enumerate(GOOD):
            assert sorted(seen.answers[name]) == sorted(expected(place, tick)), (name, tick)
            assert seen.statuses[name] == "running"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_query_runs_until_its_bad_row_comes(life: Life, name: str) -> None:
    _, since, _ = BAD[name]
    assert [seen.statuses[name] for seen in life.seen] == ["running"] * since + ["failed"] * (TICKS - since)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_query_says_since_when_and_on_what_and_is_not_read(life: Life, name: str) -> None:
    _, since, words = BAD[name]
    query = life.engine.query(name)
    said = query.metrics()["error"]
    assert f"since batch {since}" in said
    assert "try_" not in said and "ansi" not in said, "no advice"
    for word in words:
        assert word in said
    for read in (query.result, query.results):
        with pytest.raises(EngineError) as refusal:
            read()
        assert refusal.value.code == "query-failed"
        assert words[-1] in refusal.value.message


# What a query says of the rows below: the one that is guilty, and none where no single one is.
ON_ROWS = {
    "SELECT sum(10 / d) AS x FROM s WHERE v > 0": "[DIVIDE_BY_ZERO] Division by zero, on a row with d = 0, v = 6",
    "SELECT sum(cast(v AS bigint) * 4000000000000000000) AS x FROM s WHERE v = 1": "",
    "SELECT max(cast(w AS int)) AS x FROM s WHERE v = 4":
        "[CAST_INVALID_INPUT] The value '12x\\x00\\n\\x1b' of the type \"STRING\" cannot be cast to \"INT\" because it is "
        "malformed, on a row with v = 4, w = '12x\\x00\\n\\x1b'",
    "SELECT max(cast(w AS int)) AS x FROM s WHERE v = 5": "malformed, on a row with v = 5, w = '12yyy",
    "SELECT count(*) AS x FROM s": "",
}


def test_the_guilty_row_is_told_and_no_other(tmp_path: Path, spark: SparkSession) -> None:
    """Neither a dead row, nor one that the query leaves out; in one short line, whatever is in it."""
    ts = EPOCH + timedelta(seconds=1)
    plain = {"ts": ts, "g": 1, "v": 1, "d": 1, "w": "1"}
    rows = [
        *([plain] * 3), {**plain, "ts": None, "v": 2, "d": 0}, {**plain, "v": 0, "d": 0},
        {**plain, "v": 4, "w": "12x\x00\n\x1b"}, {**plain, "v": 5, "w": "12" + "y" * 10_000_000}, {**plain, "v": 6, "d": 0},
    ]
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        queries = {f"q{place}": sql for place, sql in enumerate(ON_ROWS)}
        engine.register_all(queries)
        feed(engine, ["s"], pa.Table.from_pylist(rows, schema=SCHEMA))
        said = {sql: engine.query(name).metrics()["error"] for name, sql in queries.items()}
    for sql, words in ON_ROWS.items():
        told = said[sql] or ""
        assert words in told and bool(words) == bool(told), (sql, told)
        assert len(told) <= 500 and told.isprintable(), told
        assert ("on a row" in told) == ("on a row" in words)


def test_one_bad_row_that_fails_many_alerts_costs_few_trials(tmp_path: Path, spark: SparkSession) -> None:
    """Three hundred limits for one expression: who fails is not tried one by one, while the good ones wait."""
    plain = {"ts": EPOCH + timedelta(seconds=1), "g": 1, "v": 1, "d": 1, "w": "1"}
    alerts = {f"alert_{limit}": f"SELECT g, count(*) AS n FROM s WHERE v / d > {limit} GROUP BY g" for limit in range(300)}
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.register_all({**alerts, "good": "SELECT count(*) AS n FROM s"})
        context = spark.sparkContext
        context.setJobGroup("bad row", "one bad row and many alerts")
        feed(engine, ["s"], pa.Table.from_pylist([plain, {**plain, "d": 0}, plain], schema=SCHEMA))
        jobs = context.statusTracker().getJobIdsForGroup("bad row")
        context.setJobGroup("", "")
        assert {engine.query(name).status for name in alerts} == {"failed"}
        said = {engine.query(name).metrics()["error"].partition(": ")[2] for name in alerts}
        assert said == {"[DIVIDE_BY_ZERO] Division by zero, on a row with d = 0, v = 1"}
        assert engine.query("good").result().to_pylist() == [{"n": 3}]
        assert 1 < len(jobs) < 40, jobs


def test_nulls_of_two_types_are_two_columns(tmp_path: Path, spark: SparkSession) -> None:
    """They had one name, and no batch of the stream could be computed for anybody."""
    kinds = {"int": "bigint", "double": "double", "decimal(5, 2)": "decimal(15, 2)"}
    queries = {f"q{place}": f"SELECT sum(CAST(NULL AS {kind})) AS x FROM s" for place, kind in enumerate(kinds)}
    row = {"ts": EPOCH + timedelta(seconds=1), "g": 1, "v": 1, "d": 1, "w": "1"}
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.register_all({**queries, "good": "SELECT count(*) AS n FROM s"})
        feed(engine, ["s"], pa.Table.from_pylist([row], schema=SCHEMA))
        assert {query.status for query in engine.queries()} == {"running"}
        assert engine.query("good").result().to_pylist() == [{"n": 1}]
        assert [engine.query(name).result().to_pylist() for name in queries] == [[{"x": None}]] * len(queries)
