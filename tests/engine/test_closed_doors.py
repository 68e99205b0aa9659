"""What the front end lets through of hostile texts is run for real, and brings nothing to light: neither a file of the
disk nor a value of the environment shows in a result, an error, a log, a metric or the catalog."""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.conftest import CANARY
from tests.engine.harness import feed
from tests.few import few
from tests.hostile import TEXTS, quoted_name, quoted_string
from tests.sql.test_hostile import PAYLOADS
from tests.sql.test_regexes import LIKES, USUAL
from weft.errors import WeftError

DISK = "canary-of-the-disk-5b7e"
SECOND = 1_000_000


def rows(words: list[str]) -> pa.Table:
    count = len(words)
    return pa.table(
        {
            "ts": pa.array([1_700_000_000 * SECOND + at * SECOND for at in range(count)], pa.timestamp("us", tz="UTC")),
            "saddr": words,
            "length": pa.array(range(count), pa.int32()),
        }
    )


def add_stream(engine: weft.Engine, name: str, folder: Path) -> None:
    schema = "ts timestamp, saddr string, length int"
    engine.add_stream(name, source="parquet", path=folder, schema=schema, event_time="ts")


def accepted(engine: weft.Engine, texts: list[str], said: list[str]) -> list[tuple[str, str]]:
    """Register each text in every place that takes names and strings; the queries that got in, with their text."""
    names: list[tuple[str, str]] = []
    for number, text in enumerate(texts):
        name, string = f"q{number}", quoted_string(text)
        queries = {
            f"{name} string": f"SELECT count(*) AS n, max(concat(saddr, {string})) AS m FROM s WHERE saddr <> {string}",
            f"{name} alias": f"SELECT count(*) AS n, max(saddr) AS {quoted_name(text)} FROM s",
            f"{name} comment": f"SELECT count(*) AS n FROM s -- {text}",
            f"{name} case": f"SELECT count(CASE WHEN saddr = {string} THEN 1 END) AS k, count(*) AS n FROM s",
            text: "SELECT count(*) AS n FROM s",
        }
        for name, sql in queries.items():
            try:
                engine.register(sql, name=name)
                names.append((name, text))
            except WeftError as error:
                said.append(str(error))
    return names


# The plan of each of 800 queries takes longer than their tick: `make test` looks at every sixth, `make stress` at all.
@pytest.mark.parametrize("step", few((6, 1), 1))
def test_hostile_texts_that_are_let_through_bring_nothing_to_light(
    tmp_path: Path, spark: SparkSession, step: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    secret = tmp_path / "in" / "canary.txt"
    secret.write_text(DISK)
    assert spark._jvm.java.lang.System.getenv("WEFT_CANARY") == CANARY, "the JVM could tell"
    texts = [one.replace("/etc/passwd", str(secret)).replace("HOME", "WEFT_CANARY") for one in [*TEXTS, *PAYLOADS]]
    said: list[str] = []
    with (
        caplog.at_level(logging.DEBUG),
        weft.Engine(tmp_path / "state", spark=spark, roots=[tmp_path / "in"]) as engine,
    ):
        add_stream(engine, "s", tmp_path / "in")
        names = accepted(engine, texts, said)
        assert len(names) > 400
        feed(engine, ["s"], rows(["a", "b", "c"]))
        for number, (name, text) in enumerate(names):
            query = engine.query(name)
            assert query.status == "running", (name, query.metrics()["error"])
            (row,) = query.result().to_pylist()
            assert row["n"] == 3, ascii(text)
            if name.endswith(" string"):
                assert row["m"] == "c" + text, "a string is that string"
            said += [str(row), str(query.metrics()), *([] if number % step else [query.explain()])]
        said += [engine.explain(), str(engine.metrics())]
    with sqlite3.connect(tmp_path / "state" / "catalog.sqlite") as connection:
        said += connection.iterdump()
    connection.close()
    said += [str(vars(record)) for record in caplog.records]
    said += capfd.readouterr()
    assert not [text for text in said if DISK in text or CANARY in text]


def test_patterns_that_are_let_through_are_quick(tmp_path: Path, spark: SparkSession) -> None:
    """On strings made to provoke them. Spark's own LIKE would need years for one of these patterns on the first."""
    words = ["a" * 300, "ab" * 150, "x" * 299 + "!", "1." * 150, "error timeout" * 20]
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        add_stream(engine, "s", tmp_path / "in")
        for number, pattern in enumerate(USUAL):
            engine.register(
                f"SELECT count(*) AS n FROM s WHERE saddr RLIKE {quoted_string(pattern)}", name=f"r{number}"
            )
        for number, pattern in enumerate(LIKES):
            engine.register(f"SELECT count(*) AS n FROM s WHERE saddr LIKE {quoted_string(pattern)}", name=f"l{number}")
        begin = time.monotonic()
        feed(engine, ["s"], rows(words))
        assert time.monotonic() - begin < 120
        assert [one.name for one in engine.queries() if one.status != "running"] == []


def test_like_means_what_it_means_in_spark(tmp_path: Path, spark: SparkSession) -> None:
    words = [
        "abc",
        "a%b_c",
        "aabbcc",
        "%_%a%b%c",
        "a.b[c](d",
        "",
        "aaaaaaaaab",
        "x\\ya",
        "a\nb\nc\nd",
        "zéz🧵zxz",
        "_a_b_",
    ]
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        add_stream(engine, "s", tmp_path / "in")
        for number, pattern in enumerate(LIKES):
            engine.register(
                f"SELECT saddr, count(*) AS n FROM s WHERE saddr LIKE {quoted_string(pattern)} GROUP BY saddr",
                name=f"q{number}",
            )
        feed(engine, ["s"], rows(words))
        spark.createDataFrame(rows(words)).createOrReplaceTempView("words")
        found = 0
        for number, pattern in enumerate(LIKES):
            answer = spark.sql(f"SELECT saddr FROM words WHERE saddr LIKE {quoted_string(pattern)}").collect()
            wanted = {row[0] for row in answer}
            assert set(engine.query(f"q{number}").result()["saddr"].to_pylist()) == wanted, pattern
            found += len(wanted)
        assert found > 10
