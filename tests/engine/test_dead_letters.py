"""Bad input: what cannot be read, has no time or one too far ahead is left out, kept with its reason, and counted.

Every case has three files, the bad one between two good ones: good rows are all counted, and the stream goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.bad_input import CASES, DDL, GOOD, Case, J, lines, outcomes, parquet, table, write_case
from tests.engine.harness import feed
from tests.few import few
from weft.spark.dead import AHEAD, BAD_FILE, NO_TIME, ROW_KEPT, UNPARSABLE
from weft.spark.paths import can_be_fetched

# A case takes most of a second: `make test` has every outcome of every format, `make stress` all cases.
PARTS = few(product(CASES, ("outcomes", "all")), [(source, "outcomes") for source in CASES])


@pytest.mark.parametrize(("source", "part"), PARTS)
def test_bad_input_is_left_out_and_counted(source: str, part: str, tmp_path: Path, spark: SparkSession) -> None:
    """Cases of a format in one engine, a stream each: what goes wrong, all together."""
    cases = CASES[source] if part == "all" else outcomes(CASES[source])
    wrong = []
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        for place, case in enumerate(cases):
            write_case(tmp_path / "in" / str(place), case)
            # In every third case the three files come one after the other, in the others at once.
            options = {"maxFilesPerTrigger": 3 if place % 3 else 1, **case.options}
            engine.add_stream(f"s{place}", source=case.source, path=tmp_path / "in" / str(place), schema=DDL,
                              event_time="ts", watermark="10 days", options=options)
            engine.register(f"SELECT count(*) AS rows, sum(n) AS total FROM s{place}", name=f"q{place}")
            engine.register(f"SELECT count(*) AS c FROM s{place} GROUP BY window(ts, '9 minutes')", name=f"w{place}")
        engine.run_available()
        for place, case in enumerate(cases):
            metrics = engine.metrics()["streams"][f"s{place}"]
            letters = engine.dead_letters(f"s{place}")
            row = engine.query(f"q{place}").result().to_pylist()[0]
            found = {reason: letters["reason"].to_pylist().count(reason) for reason in set(letters["reason"].to_pylist())}
            said = (metrics["dead_letters"], found, row["rows"], row["total"])
            expected = (case.dead, case.dead, 2 * GOOD + case.counted, 12 + case.total)
            if engine.query(f"w{place}").status != "running":
                wrong.append(f"{case.source}, {case.name}: {engine.query(f'w{place}').metrics()['error']}")
            if said != expected:
                wrong.append(f"{case.source}, {case.name}: {said} instead of {expected}")
            if any(not source.endswith("2-bad") for source in letters["source"].to_pylist()):
                wrong.append(f"{case.source}, {case.name}: sources {letters['source'].to_pylist()}")
    assert not wrong, "\n".join(wrong)


def rows(moments: list[datetime | None], n: int = 1) -> pa.Table:
    return pa.table({"ts": pa.array(moments, pa.timestamp("us", tz="UTC")), "k": ["a"] * len(moments),
                     "n": pa.array([n] * len(moments), pa.int32())})


def test_one_wrong_clock_closes_no_windows(tmp_path: Path, spark: SparkSession) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        for name, limit in (("strict", "1 hour"), ("free", "any")):
            engine.add_stream(name, source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts", max_ahead=limit)
            engine.register(f"SELECT count(*) AS c FROM {name} GROUP BY window(ts, '1 minute')", name=f"q_{name}")
        feed(engine, ["strict", "free"], rows([now, now + timedelta(hours=2), None]))
        metrics = engine.metrics()["streams"]
        assert metrics["strict"]["max_event_time"] == round(now.timestamp() * 1e6)
        assert metrics["strict"]["dead_letters"] == {AHEAD: 1, NO_TIME: 1}
        assert metrics["free"]["max_event_time"] == round((now + timedelta(hours=2)).timestamp() * 1e6)
        assert metrics["free"]["dead_letters"] == {NO_TIME: 1}
        letter = engine.dead_letters("strict").to_pylist()[0]
        assert json.loads(letter["row"])["n"] == 1


def test_an_expression_that_fails_on_a_dead_row_fails_nobody(tmp_path: Path, spark: SparkSession) -> None:
    now = datetime.now(UTC)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        query = engine.register("SELECT sum(10 / n) AS s FROM s", name="q")
        feed(engine, ["s"], pa.concat_tables([rows([now], 2), rows([None], 0)]))
        assert query.status == "running"
        assert query.result().to_pylist() == [{"s": 5.0}]
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {NO_TIME: 1}
        assert engine.metrics()["streams"]["s"]["rows"] == 2


def test_letters_are_bounded_and_survive_the_engine(tmp_path: Path, spark: SparkSession) -> None:
    now = datetime.now(UTC)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        for _ in range(20):
            feed(engine, ["s"], rows([now, None, None]))
    with weft.Engine(tmp_path / "state") as engine:
        letters = engine.dead_letters("s")
        assert letters.num_rows == 40
        assert letters["tick"].to_pylist() == sorted(letters["tick"].to_pylist())
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {NO_TIME: 40}
        with engine.catalog.read() as reader:
            assert len(reader.dead_letters("s")) <= 16


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replace_by_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("nowhere"))


def reads_all() -> bool:
    """Whether this process may read what nobody may, as root's do."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return os.access(file.name, os.R_OK)


READS_ALL = reads_all()
# Runs a command after PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
WITHOUT_RIGHTS = """
import ctypes, os, sys
for right in (1, 2):
    ctypes.CDLL(None).prctl(24, right, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
FORBIDDEN = pytest.mark.skipif(READS_ALL, reason="nothing is forbidden to root; see the next test")


@pytest.mark.parametrize(
    "hide",
    [
        pytest.param(Path.unlink, id="gone"),
        pytest.param(replace_by_folder, id="a folder in its place"),
        pytest.param(replace_by_link, id="a link to nowhere"),
        pytest.param(lambda file: file.chmod(0), id="forbidden", marks=FORBIDDEN),
    ],
)
def test_a_file_that_is_gone_stops_the_stream_until_it_is_back(
    tmp_path: Path, spark: SparkSession, hide: Callable[[Path], None]
) -> None:
    """What may pass is no dead letter: the file's rows would be lost."""
    write_case(tmp_path / "in", Case("good", "parquet", parquet()))
    bad, away = tmp_path / "in" / "2-bad", tmp_path / "away"
    shutil.copy2(bad, away)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts",
                          options={"maxFilesPerTrigger": 3})
        query = engine.register("SELECT count(*) AS c FROM s", name="q")

        def hidden(tick: Callable[[], None]) -> None:
            hide(bad)
            tick()

        with weft.testing.around_ticks(engine, "s", hidden), pytest.raises(weft.EngineError) as stopped:
            engine.run_available()
        assert stopped.value.code == "stream-failed"
        said = engine.metrics()["streams"]["s"]
        assert said["status"] == "failed" and said["error"] == str(stopped.value)
        assert engine.metrics()["streams"]["s"]["rows"] == 0
        bad.rmdir() if bad.is_dir() else bad.unlink(missing_ok=True)
        away.rename(bad)
        engine.run_available()
        assert query.result().to_pylist() == [{"c": 9}]
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {}


@pytest.mark.skipif(not READS_ALL, reason="the case above has run")
def test_a_file_that_may_not_be_read_stops_the_stream_of_who_reads_not_all(tmp_path: Path) -> None:
    """The forbidden file once more, in a process of root's without the right to read whatever is forbidden."""
    case = f"{__file__}::{test_a_file_that_is_gone_stops_the_stream_until_it_is_back.__name__}[forbidden]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'tests'}", case]
    done = subprocess.run([sys.executable, "-c", WITHOUT_RIGHTS, *command], cwd=Path(__file__).parents[2],
                          capture_output=True, text=True, timeout=300, check=False,
                          env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")})
    if "1 skipped" in done.stdout:
        pytest.skip("this root cannot give up its rights")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def no_luck(_tick: Callable[[], None]) -> None:
    raise OSError("no luck")


def test_a_file_that_is_rewritten_counts_as_it_was_when_it_was_read(tmp_path: Path, spark: SparkSession) -> None:
    """After it was read it is not read again; before, and in a batch that failed, it is read as it is now."""
    folder = tmp_path / "in"
    folder.mkdir()

    def write(name: str, *values: int) -> None:
        (folder / name).write_bytes(lines(*(J.replace("5", str(value)) for value in values)))

    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=folder, schema=DDL, event_time="ts")
        query = engine.register("SELECT count(*) AS c, sum(n) AS total FROM s", name="q")
        write("read", 1, 2)
        engine.run_available()
        write("read", 10, 20, 30)
        write("unread", 100)
        write("unread", 200, 300)
        with weft.testing.around_ticks(engine, "s", no_luck), pytest.raises(weft.EngineError):
            engine.run_available()
        write("unread", 400, 500, 600)
        engine.run_available()
        assert query.result().to_pylist() == [{"c": 5, "total": 1503}]
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {}


def test_a_letter_of_a_file_with_another_header_says_so(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_bytes(lines("ts,n,k", "1970-01-01 00:00:10,5,6"))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=DDL, event_time="ts", options={"header": True})
        engine.run_available()
        ((said,),) = [json.loads(row).values() for row in engine.dead_letters("s")["row"].to_pylist()]
    assert "CSV header does not conform to the schema. Header: ts, n, k Schema: ts, k, n" in said


def test_words_of_a_file_are_not_taken_for_a_fault_that_may_pass(tmp_path: Path, spark: SparkSession) -> None:
    """A file may be called as it likes, and quote what it likes: it is unreadable, and the stream goes on."""
    for folder, name, content in (
        ("rubbish", "x-OutOfMemoryError Permission denied.parquet", b"rubbish" * 20),
        ("headed", "FetchFailed.csv", lines("ts,No space left on device,n", "1970-01-01 00:00:10,a,1")),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(content)
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("p", source="parquet", path=tmp_path / "rubbish", schema=DDL, event_time="ts")
        engine.add_stream("c", source="csv", path=tmp_path / "headed", schema=DDL, event_time="ts",
                          options={"header": True})
        engine.run_available()
        for stream in ("p", "c"):
            assert engine.metrics()["streams"][stream]["dead_letters"] == {BAD_FILE: 1}


def test_files_read_again_are_read_as_the_stream_reads_them(tmp_path: Path, spark: SparkSession) -> None:
    """Columns in the names of folders, and names that are no plain addresses: one failing query changes no other."""
    for day, name in (("2026-01-05", "a b.json"), ("10%3A00", "[1] {x}*.json"), ("é", "ü%20#1.json")):
        folder = tmp_path / "in" / f"day={day}"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(lines(J, J.replace("5", "0"), "no json"))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=tmp_path / "in", schema=f"{DDL}, day string", event_time="ts")
        good = engine.register("SELECT day, count(*) AS c FROM s GROUP BY day", name="good")
        bad = engine.register("SELECT sum(1 / n) AS x FROM s", name="bad")
        engine.run_available()
        assert (good.status, bad.status) == ("running", "failed")
        again = {row["day"]: row["c"] for row in good.result().to_pylist()}
        assert engine.dead_letters("s")["reason"].to_pylist() == [UNPARSABLE] * 3
        # The next batch fails for nobody, and is read once.
        for place, folder in enumerate(sorted((tmp_path / "in").iterdir())):
            (folder / f"more {place}.json").write_bytes(lines(J))
        engine.run_available()
        assert {row["day"]: row["c"] - 1 for row in good.result().to_pylist()} == again
    assert again == {"2026-01-05": 2, "10:00": 2, "é": 2}


def test_only_a_file_whose_bytes_come_is_called_unreadable(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "rubbish").write_bytes(b"x" * 3_000_000)
    assert can_be_fetched(spark, str(tmp_path / "rubbish"))
    assert not can_be_fetched(spark, str(tmp_path / "gone"))
    assert not can_be_fetched(spark, str(tmp_path))
    assert not can_be_fetched(spark, "hdfs://nobody.invalid:9/rubbish")


def test_of_a_long_row_the_beginning_is_kept(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_bytes(lines("x" * 2_000_000, J))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=tmp_path / "in", schema=DDL, event_time="ts")
        engine.run_available()
        assert engine.dead_letters("s")["row"].to_pylist() == ["x" * ROW_KEPT]


def test_a_source_that_has_nothing_yet_stops_no_stream(tmp_path: Path, spark: SparkSession) -> None:
    """Of two sources in one DataFrame Spark notes a dash for the one that is empty."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    pq.write_table(table(), tmp_path / "one" / "1.parquet")
    one, two = (spark.readStream.schema(DDL).parquet(str(tmp_path / name)) for name in ("one", "two"))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", dataframe=one.union(two), event_time="ts")
        query = engine.register("SELECT count(*) AS c FROM s", name="q")
        engine.run_available()
        assert query.result().to_pylist() == [{"c": GOOD}]
        pq.write_table(table(), tmp_path / "two" / "2.parquet")
        engine.run_available()
        assert query.result().to_pylist() == [{"c": 2 * GOOD}]
