"""weft.testing: what is fed is counted as in a running stream, without Spark where that can be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.docs.markdown import DOCS, ROOT, blocks
from tests.engine.oracle import difference
from tests.engine.queries import query_set
from tests.engine.rows import DDL, as_table, random_ticks
from tests.few import few

ROW = {"ts": "2026-01-01T00:00:01", "k": "a", "v": 1}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.testing.engine(tmp_path / "state") as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
        yield engine


def test_the_example_holds(tmp_path: Path) -> None:
    """In a process of its own, in which there is no Java to start."""
    (example,) = (block.text for block in blocks(DOCS / "testing.md") if block.language == "python")
    script = f"folder = {str(tmp_path / 'state')!r}\n{example}\nassert not engine._session.is_open, 'Spark was started'\n"
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT), "PATH": "/nowhere"},
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_call_is_described() -> None:
    text = (DOCS / "testing.md").read_text(encoding="utf-8")
    assert all(f"`{name}(" in text for name in ("engine", "add_stream", "feed", "is_portable"))


def test_rows_may_be_dictionaries_or_a_table_and_lack_columns(engine: weft.Engine) -> None:
    query = engine.register("SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k ORDER BY k", name="q")
    moment = datetime.fromisoformat("2026-01-01T00:00:02")
    weft.testing.feed(engine, "s", [ROW, {**ROW, "ts": moment}, {"ts": moment.replace(tzinfo=UTC), "v": 5}])
    weft.testing.feed(engine, "s", pa.table({"v": [7], "ts": [moment]}))
    weft.testing.feed(engine, "s", [])
    assert query.result().to_pylist() == [{"k": None, "n": 2, "total": 12}, {"k": "a", "n": 2, "total": 2}]
    assert engine.metrics()["streams"]["s"]["ticks"] == 3


def test_a_column_that_the_stream_does_not_have_is_refused(engine: weft.Engine) -> None:
    for rows in ([{**ROW, "w": 1}], pa.table({"w": [1]})):
        with pytest.raises(weft.StreamError) as refused:
            weft.testing.feed(engine, "s", rows)
        assert refused.value.code == "unknown-column" and refused.value.hint == "Known names: ts, k, v."
    assert engine.metrics()["streams"]["s"]["ticks"] == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (ROW, "not as a single row"),
        (None, "not a NoneType"),
        ([("2026-01-01T00:00:01", "a", 1)], "not a tuple"),
        ("2026-01-01T00:00:01", "not a str"),
        (pd.DataFrame([ROW]), "not a DataFrame"),
        ([{**ROW, "V": 2}], "column 'v' is there twice"),
        (pa.table([[1], [2]], names=["v", "V"]), "column 'v' is there twice"),
        ([{**ROW, "v": "many"}], "column 'v'"),
        ([{**ROW, "v": 2**40}], "column 'v'"),
        ([{**ROW, "ts": "soon"}], "column 'ts'"),
        (pa.table({"v": ["many"]}), "many"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_counted(engine: weft.Engine, rows: Any, said: str) -> None:
    with pytest.raises(weft.StreamError, match=said) as refused:
        weft.testing.feed(engine, "s", rows)
    assert refused.value.code == "bad-row" and refused.value.hint
    assert engine.metrics()["streams"]["s"]["ticks"] == 0


def test_names_may_be_in_any_case_and_moments_be_dates(engine: weft.Engine) -> None:
    query = engine.register("SELECT sum(v) AS v FROM s GROUP BY window(ts, '1 day')", name="q")
    weft.testing.feed(engine, "s", [{"TS": date(2026, 1, 1), "V": 3}, {"ts": "2026-01-03", "v": 1}])
    assert query.result("2026-01-02").column("v").to_pylist() == [3]


def test_late_dead_and_failing_rows_are_told_as_in_a_running_stream(engine: weft.Engine) -> None:
    windows = engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '10 seconds')", name="windows")
    failing = engine.register("SELECT sum(6 / v) AS x FROM s GROUP BY window(ts, '10 seconds')", name="failing")
    weft.testing.feed(engine, "s", [ROW, {"k": "no time"}, {**ROW, "ts": "2026-01-01T00:00:25"}])
    weft.testing.feed(engine, "s", [ROW, {**ROW, "ts": "2026-01-01T00:00:26"}])
    assert windows.results()["n"].to_pylist() == [1] and windows.metrics()["late_rows"] == 1
    (letter,) = engine.dead_letters("s").to_pylist()
    assert (letter["tick"], letter["reason"]) == (0, "no event time") and "no time" in letter["row"]
    weft.testing.feed(engine, "s", [{**ROW, "ts": "2026-01-01T00:00:27", "v": 0}])
    assert failing.status == "failed" and windows.status == "running"
    assert failing.metrics()["error"].endswith(": [DIVIDE_BY_ZERO] Division by zero, on a row with v = 0")


def test_every_query_that_fails_on_a_fed_row_is_stopped_with_the_row(engine: weft.Engine) -> None:
    failing = {"division": "sum(6 / v)", "rest": "sum(v % v)", "overflow": "sum(v + 2147483647)",
               "cast": "max(CAST(v + 300 AS TINYINT))", "decimal": "max(CAST(v + 300 AS DECIMAL(3, 1)))"}
    queries = {name: engine.register(f"SELECT {sql} AS x FROM s", name=name) for name, sql in failing.items()}
    weft.testing.feed(engine, "s", [{**ROW, "v": 0}, {**ROW, "v": 2}, {**ROW, "v": None}])
    reasons = {name: query.metrics()["error"].partition("+00:00: ")[2] for name, query in queries.items()}
    conditions = {name: reason.partition("]")[0] for name, reason in reasons.items()}
    assert conditions == {"division": "[DIVIDE_BY_ZERO", "rest": "[DIVIDE_BY_ZERO", "overflow": "[ARITHMETIC_OVERFLOW",
                          "cast": "[CAST_OVERFLOW", "decimal": "[CAST_OVERFLOW"}
    assert all(", on a row with v = " in reason for reason in reasons.values())
    assert engine.metrics()["streams"]["s"]["ticks"] == 1


def test_an_event_time_too_far_ahead_is_a_dead_letter_where_the_stream_says_so(tmp_path: Path) -> None:
    with weft.testing.engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema="ts timestamp", event_time="ts")
        ahead = datetime.now(UTC) + timedelta(days=3)
        weft.testing.feed(engine, "s", [{"ts": ahead}, {"ts": datetime.now(UTC)}])
        assert engine.dead_letters("s")["reason"].to_pylist() == ["too far ahead"]


@pytest.mark.parametrize("seed", few(range(4), 2))
def test_without_spark_answers_are_those_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Random queries over random rows: all of them on Spark, and those that are portable without."""
    random = Random(f"fed {seed}")
    ticks = random_ticks(random, ticks=2, size=150, span=timedelta(seconds=100), delay=timedelta(seconds=5), late=0.1)
    queries = {f"q{number}{place}": query for number in range(4) for place, query in enumerate(query_set(random))}
    with weft.testing.engine(tmp_path / "spark", spark=spark) as on_spark, weft.testing.engine(tmp_path / "plain") as plain:
        for engine in (on_spark, plain):
            weft.testing.add_stream(engine, "s", schema=DDL, event_time="ts", watermark="5 seconds")
        portable = {name: query for name, query in queries.items() if weft.testing.is_portable(plain, query.weft("s"))}
        assert 3 <= len(portable) < len(queries)
        for engine in (on_spark, plain):
            engine.register_all({name: query.weft("s") for name, query in portable.items()})
        for rows in ticks.rows:
            weft.testing.feed(on_spark, "s", as_table(rows), spark=True)
            weft.testing.feed(plain, "s", as_table(rows))
        assert not plain._session.is_open, "Spark was not needed"
        assert plain.dead_letters("s").num_rows == on_spark.dead_letters("s").num_rows
        for name, query in portable.items():
            found, expected = (
                engine.query(name).results() if query.window else engine.query(name).result() for engine in (plain, on_spark)
            )
            problem = difference(found, expected, ordered=False)
            assert not problem, f"seed {seed}: {query.weft('s')}\n    {problem}"
            late, expected_late = (engine.query(name).metrics()["late_rows"] for engine in (plain, on_spark))
            assert late == expected_late, query.weft("s")


def test_what_only_spark_can_compute_is_computed_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    with weft.testing.engine(tmp_path, spark=spark) as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
        sql = "SELECT upper(k) AS k, count(*) AS n FROM s GROUP BY upper(k)"
        assert not weft.testing.is_portable(engine, sql)
        query = engine.register(sql, name="q")
        weft.testing.feed(engine, "s", [ROW])
        assert query.result().to_pylist() == [{"k": "A", "n": 1}]
