"""Bad input: what cannot be read, has no time or one too far ahead is left out, kept with its reason, and counted.

Every case has three files, the bad one between two good ones: good rows are all counted, and the stream goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import feed
from weft.spark.dead import AHEAD, BAD_FILE, BEHIND, NO_TIME, ROW_KEPT, UNPARSABLE
from weft.spark.paths import can_be_fetched

DDL = "ts timestamp, k string, n int"
GOOD = 3  # rows of a good file


@dataclass(frozen=True)
class Case:
    """One bad input: its format, the bytes of the bad file, and what becomes of it."""

    name: str
    source: str
    content: bytes | Callable[[Path], None]
    dead: dict[str, int] = field(default_factory=dict)
    counted: int = 0
    total: int = 0
    options: dict[str, object] = field(default_factory=dict)


def lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


def table(**changed: object) -> pa.Table:
    columns: dict[str, object] = {
        "ts": pa.array([10_000_000 + second * 1_000_000 for second in range(GOOD)], pa.timestamp("us", tz="UTC")),
        "k": pa.array(["a", "b", "a"]),
        "n": pa.array([1, 2, 3], pa.int32()),
    }
    columns.update(changed)
    return pa.table({name: column for name, column in columns.items() if column is not None})


def parquet(**changed: object) -> Callable[[Path], None]:
    return lambda path: pq.write_table(table(**changed), path)


def broken_parquet(damage: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        pq.write_table(table(), path)
        path.write_bytes(damage(path.read_bytes()))

    return write


def compressed_rubbish(path: Path) -> None:
    pq.write_table(table(), path, compression="snappy")
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(bytes(data))


FAR = (datetime.now(UTC) + timedelta(days=400)).isoformat()
NEAR = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
J = '{"ts": "1970-01-01T00:00:10Z", "k": "a", "n": 5}'

JSON = [
    Case("truncated", "json", lines(J, '{"ts": "1970-01-01T00:00:10Z", "k": "a"'), {UNPARSABLE: 1}, 1, 5),
    Case("not json", "json", lines("hello", J), {UNPARSABLE: 1}, 1, 5),
    Case("text for a number", "json", lines(J.replace("5", '"five"')), {UNPARSABLE: 1}),
    Case("number too long", "json", lines(J.replace("5", "99999999999")), {UNPARSABLE: 1}),
    Case("fraction for a number", "json", lines(J.replace("5", "1.5")), {UNPARSABLE: 1}),
    Case("object for a text", "json", lines('{"ts": "1970-01-01T00:00:10Z", "k": {"x": 1}, "n": 1}'), {}, 1, 1),
    Case("list instead of an object", "json", lines("[1, 2]"), {UNPARSABLE: 1}),
    Case("bad time", "json", lines('{"ts": "yesterday", "k": "a", "n": 1}'), {UNPARSABLE: 1}),
    Case("no time", "json", lines('{"k": "a", "n": 1}'), {NO_TIME: 1}),
    Case("time is null", "json", lines('{"ts": null, "k": "a", "n": 1}', J), {NO_TIME: 1}, 1, 5),
    Case("far ahead", "json", lines(json.dumps({"ts": FAR, "k": "a", "n": 1}), J), {AHEAD: 1}, 1, 5),
    Case("three kinds", "json", lines("x", '{"k": "a"}', json.dumps({"ts": FAR}), J),
         {UNPARSABLE: 1, NO_TIME: 1, AHEAD: 1}, 1, 5),
    Case("empty file", "json", b""),
    Case("blank lines", "json", b"\n\n\n"),
    Case("missing field", "json", lines('{"ts": "1970-01-01T00:00:10Z", "k": "a"}'), {}, 1, 0),
    Case("extra field", "json", lines(J[:-1] + ', "more": [1]}'), {}, 1, 5),
    Case("byte order mark", "json", b"\xef\xbb\xbf" + lines(J), {}, 1, 5),
    Case("bytes that are no text", "json", b"\x80\x81\xfe\n" + lines(J), {UNPARSABLE: 1}, 1, 5),
    Case("null bytes", "json", b"\x00\x00\x00\n" + lines(J), {UNPARSABLE: 1}, 1, 5),
    Case("a line of ten megabytes", "json", lines(J.replace('"a"', '"' + "y" * 10_000_000 + '"')), {}, 1, 5),
    Case("deep nesting", "json", lines("[" * 5000), {UNPARSABLE: 1}),
]
CSV = [
    Case("text for a number", "csv", lines("1970-01-01 00:00:10,a,x", "1970-01-01 00:00:10,a,5"), {UNPARSABLE: 1}, 1, 5),
    Case("too few columns", "csv", lines("1970-01-01 00:00:10,a"), {UNPARSABLE: 1}),
    Case("too many columns", "csv", lines("1970-01-01 00:00:10,a,5,6"), {UNPARSABLE: 1}),
    Case("bad time", "csv", lines("soon,a,5"), {UNPARSABLE: 1}),
    Case("no time", "csv", lines(",a,5"), {NO_TIME: 1}),
    Case("far ahead", "csv", lines(f"{FAR},a,5"), {AHEAD: 1}),
    Case("near ahead is in time", "csv", lines(f"{NEAR},a,5"), {}, 1, 5),
    Case("empty file", "csv", b""),
    Case("number too long", "csv", lines("1970-01-01 00:00:10,a,99999999999"), {UNPARSABLE: 1}),
    Case("open quote", "csv", lines('1970-01-01 00:00:10,"a,5'), {UNPARSABLE: 1}),
]
PARQUET = [
    Case("not parquet", "parquet", b"this is no parquet file at all", {BAD_FILE: 1}),
    Case("empty file", "parquet", b""),
    Case("truncated", "parquet", broken_parquet(lambda data: data[: len(data) // 2]), {BAD_FILE: 1}),
    Case("foot cut off", "parquet", broken_parquet(lambda data: data[:-8]), {BAD_FILE: 1}),
    Case("pages overwritten", "parquet", compressed_rubbish, {BAD_FILE: 1}),
    Case("csv in disguise", "parquet", lines("1970-01-01 00:00:10,a,5"), {BAD_FILE: 1}),
    Case("no times", "parquet", parquet(ts=pa.nulls(GOOD, pa.timestamp("us", tz="UTC"))), {NO_TIME: GOOD}),
    Case("times at both ends of what fits", "parquet",
         parquet(ts=pa.array([-(2**63), 2**63 - 1, 10_000_000], pa.timestamp("us", tz="UTC"))), {BEHIND: 1, AHEAD: 1}, 1, 3),
    # Schema drift.
    Case("column added", "parquet", parquet(more=pa.array([1, 2, 3])), {}, GOOD, 6),
    Case("column dropped", "parquet", parquet(n=None), {}, GOOD, 0),
    Case("event time dropped", "parquet", parquet(ts=None), {NO_TIME: GOOD}),
    Case("event time renamed", "parquet", lambda path: pq.write_table(table().rename_columns(["time", "k", "n"]), path),
         {NO_TIME: GOOD}),
    Case("narrower number", "parquet", parquet(n=pa.array([1, 2, 3], pa.int16())), {}, GOOD, 6),
    Case("wider number", "parquet", parquet(n=pa.array([1, 2, 3], pa.int64())), {BAD_FILE: 1}),
    Case("text for a number", "parquet", parquet(n=pa.array(["1", "2", "3"])), {BAD_FILE: 1}),
    Case("number for a text", "parquet", parquet(k=pa.array([1, 2, 3])), {BAD_FILE: 1}),
    Case("columns in another order", "parquet", lambda path: pq.write_table(table().select(["n", "ts", "k"]), path),
         {}, GOOD, 6),
    Case("other letters' case", "parquet", lambda path: pq.write_table(table().rename_columns(["TS", "K", "N"]), path),
         {}, GOOD, 6),
]


def cut_orc(path: Path) -> None:
    orc.write_table(table(), str(path))
    path.write_bytes(path.read_bytes()[:40])


ORC = [
    Case("not orc", "orc", b"this is no orc file", {BAD_FILE: 1}),
    Case("truncated", "orc", cut_orc, {BAD_FILE: 1}),
]


def good_file(source: str, path: Path) -> None:
    if source == "parquet":
        pq.write_table(table(), path)
    elif source == "orc":
        orc.write_table(table(), str(path))
    elif source == "csv":
        path.write_bytes(lines(*(f"1970-01-01 00:00:{10 + place},a,{place + 1}" for place in range(GOOD))))
    else:
        path.write_bytes(lines(*(J.replace("5", str(place + 1)) for place in range(GOOD))))


def write_case(folder: Path, case: Case) -> None:
    """A folder of its own for the case: good, bad, good, in this order."""
    folder.mkdir(parents=True)
    for place, name in enumerate(("1-good", "2-bad", "3-good")):
        path = folder / name
        if place != 1:
            good_file(case.source, path)
        elif callable(case.content):
            case.content(path)
        else:
            path.write_bytes(case.content)
        # Spark takes files in the order of their times.
        os.utime(path, (1_600_000_000 + place, 1_600_000_000 + place))


@pytest.mark.parametrize("cases", [JSON, CSV, PARQUET, ORC], ids=["json", "csv", "parquet", "orc"])
def test_bad_input_is_left_out_and_counted(cases: list[Case], tmp_path: Path, spark: SparkSession) -> None:
    """All cases of a format in one engine, a stream each: what goes wrong, all together."""
    wrong = []
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        for place, case in enumerate(cases):
            write_case(tmp_path / "in" / str(place), case)
            engine.add_stream(f"s{place}", source=case.source, path=tmp_path / "in" / str(place), schema=DDL,
                              event_time="ts", watermark="10 days", options={"maxFilesPerTrigger": 1, **case.options})
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


def test_a_file_that_is_gone_stops_the_stream_until_it_is_back(tmp_path: Path, spark: SparkSession) -> None:
    """What may pass is no dead letter: the file's rows would be lost."""
    write_case(tmp_path / "in", Case("good", "parquet", parquet()))
    bad = tmp_path / "in" / "2-bad"
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts",
                          options={"maxFilesPerTrigger": 3})
        query = engine.register("SELECT count(*) AS c FROM s", name="q")
        hide = {"done": False}
        ticker = engine._ticker("s")
        run = ticker.run

        def hidden(batch: object) -> None:
            if not hide["done"]:
                hide["done"] = True
                bad.rename(tmp_path / "away")
            run(batch)  # type: ignore[arg-type]

        ticker.run = hidden  # type: ignore[method-assign]
        with pytest.raises(weft.EngineError) as stopped:
            engine.run_available()
        assert stopped.value.code == "stream-failed"
        said = engine.metrics()["streams"]["s"]
        assert said["status"] == "failed" and said["error"] == str(stopped.value)
        assert engine.metrics()["streams"]["s"]["rows"] == 0
        (tmp_path / "away").rename(bad)
        engine.run_available()
        assert query.result().to_pylist() == [{"c": 9}]
        assert engine.metrics()["streams"]["s"]["dead_letters"] == {}


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
