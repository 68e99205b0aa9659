"""The public API as it is promised: every name, what it gives, and what it refuses without a trace."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.harness import write_tick
from weft.store.catalog import sqlite_url

DDL = "ts timestamp, saddr string, proto int, length int"
SQL = (
    "SELECT saddr, sum(length) AS bytes FROM packets WHERE proto = 6 "
    "GROUP BY window(ts, '10 minutes', '2 minutes'), saddr"
)
MINUTE = 60_000_000


def packets(first: int, minutes: int = 10) -> pa.Table:
    """Four packets a minute from two addresses, every other one of protocol 6."""
    moments = [first * MINUTE + quarter * MINUTE // 4 for quarter in range(minutes * 4)]
    return pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "saddr": [f"10.0.0.{place % 4 // 2}" for place in range(len(moments))],
            "proto": pa.array([6 if place % 2 else 17 for place in range(len(moments))], pa.int32()),
            "length": pa.array([100 + place for place in range(len(moments))], pa.int32()),
        }
    )


@pytest.fixture
def engine(tmp_path: Path, spark: SparkSession) -> Iterator[weft.Engine]:
    with open_engine(tmp_path, spark) as engine:
        yield engine


def open_engine(folder: Path, spark: SparkSession) -> weft.Engine:
    engine = weft.Engine(folder / "state", spark=spark)
    engine.add_stream(
        "packets",
        source="parquet",
        path=folder / "in",
        schema=DDL,
        event_time="ts",
        watermark="10 seconds",
        options={"maxFilesPerTrigger": 1},
    )
    return engine


def test_everything_a_script_does_from_the_first_line_to_the_last(tmp_path: Path, spark: SparkSession) -> None:
    for tick in range(3):
        write_tick(tmp_path / "in", tick, packets(tick * 10))
    with open_engine(tmp_path, spark) as engine:
        query = engine.register(SQL, name="tcp_bytes", keep="7 days")
        assert query.status == "registered" and query.result().num_rows == 0
        engine.run_available()
        assert query.status == "running"
        result = query.result()
        assert result.schema.names == ["window_start", "window_end", "saddr", "bytes"]
        assert result.schema.types[1] == pa.timestamp("us", tz="UTC") and result.schema.types[3] == pa.int64()
        end = result["window_end"][0].as_py()
        assert end == datetime(1970, 1, 1, 0, 28, tzinfo=UTC)
        assert query.result(end=end).equals(result) and query.result(end=end.isoformat()).equals(result)
        everything = query.results()
        assert everything["window_end"].to_pylist()[0] == datetime(1970, 1, 1, 0, 2, tzinfo=UTC)
        some = query.results(since=datetime(1970, 1, 1, 0, 20, tzinfo=UTC), until="1970-01-01T00:24:00")
        assert sorted(set(some["window_end"].to_pylist())) == [
            datetime(1970, 1, 1, 0, minute, tzinfo=UTC) for minute in (22, 24)
        ]
        assert query.to_pandas()["bytes"].sum() == sum(result["bytes"].to_pylist())
        assert [row.bytes for row in query.dataframe().orderBy("saddr").collect()] == result["bytes"].to_pylist()
        assert "reads (proto, saddr): sum(length)" in query.explain() and "stream packets" in engine.explain()
        metrics = engine.metrics()["streams"]["packets"]
        assert metrics["rows"] == 120 and metrics["ticks"] == 3 and metrics["last_tick"]["jobs"] == 0
        assert [one.name for one in engine.queries()] == ["tcp_bytes"] and engine.query("tcp_bytes").sql == SQL
        query.drop()
        assert engine.queries() == []
        with pytest.raises(weft.EngineError, match="unknown-query"):
            query.result()


def test_a_script_can_be_run_again(tmp_path: Path, spark: SparkSession) -> None:
    write_tick(tmp_path / "in", 0, packets(0))
    for turn in range(3):
        write_tick(tmp_path / "in", turn + 1, packets(10 + turn * 10))
        with open_engine(tmp_path, spark) as engine:
            query = engine.register(SQL, name="tcp_bytes")
            engine.register(SQL.replace("proto = 6", "6 = proto"), name="tcp_bytes")
            engine.run_available()
            assert engine.metrics()["streams"]["packets"]["rows"] == 80 + turn * 40
            assert len(engine.queries()) == 1
    assert query.name == "tcp_bytes"


def test_a_folder_brings_back_its_streams_and_queries_and_reads_without_spark(
    tmp_path: Path, spark: SparkSession
) -> None:
    write_tick(tmp_path / "in", 0, packets(0))
    with open_engine(tmp_path, spark) as engine:
        expected = engine.register(SQL, name="tcp_bytes")
        engine.run_available()
        table = expected.result()
    with weft.Engine(tmp_path / "state") as engine:
        assert engine.query("tcp_bytes").result().equals(table)
        assert not engine._session.is_open, "reading starts no Spark"


@pytest.mark.parametrize(
    "change",
    [
        {"watermark": "11 seconds"},
        {"schema": DDL + ", more int"},
        {"event_time": "ts2"},
        {"options": {}},
        {"path": "elsewhere"},
    ],
)
def test_another_definition_under_a_known_name_is_refused(
    engine: weft.Engine, tmp_path: Path, change: dict[str, object]
) -> None:
    given = {
        "source": "parquet",
        "path": tmp_path / "in",
        "schema": DDL,
        "event_time": "ts",
        "watermark": "10 seconds",
        "options": {"maxFilesPerTrigger": 1},
        **change,
    }
    with pytest.raises(weft.StreamError) as refusal:
        engine.add_stream("packets", **given)  # type: ignore[arg-type]
    assert refusal.value.hint
    engine.register(SQL, name="q")
    with pytest.raises(weft.EngineError, match="query-differs"):
        engine.register(SQL.replace("6", "17"), name="q")


def test_many_at_once_are_all_or_nothing(engine: weft.Engine) -> None:
    with pytest.raises(weft.SqlError) as refusal:
        engine.register_all({"good": SQL, "bad": SQL.replace("length", "lenght")})
    assert refusal.value.code == "unknown-column" and "length" in refusal.value.hint
    assert refusal.value.position is not None and refusal.value.__notes__ == ["in query 'bad'"]
    assert engine.queries() == []
    assert [one.name for one in engine.register_all({"b": SQL, "a": SQL})] == ["b", "a"]


def test_nonsense_is_refused_with_a_hint(engine: weft.Engine, spark: SparkSession, tmp_path: Path) -> None:
    query = engine.register(SQL, name="windowed")
    total = engine.register("SELECT count(*) AS n FROM packets", name="total")
    with pytest.raises(weft.EngineError, match="no-such-window"):
        query.result(end="1970-01-01T00:01:00")
    for call in (
        query.changes,
        total.results,
        lambda: total.result(end="1970-01-01"),
        lambda: engine.register(SQL, name=""),
        lambda: engine.register(SQL, name="x", keep="-1 day"),
        lambda: weft.Engine("hdfs://somewhere/weft"),
    ):
        with pytest.raises(weft.WeftError) as refusal:
            call()
        assert refusal.value.code and refusal.value.hint
    for given in (
        {"source": "parquet", "event_time": "ts"},
        {"event_time": "ts"},
        {"dataframe": spark.range(1), "event_time": "id"},
        {"source": "parquet", "schema": "a int", "event_time": "a"},
        {"source": "parquet", "schema": "a array<int>, ts timestamp", "event_time": "ts"},
    ):
        with pytest.raises(weft.WeftError) as refusal:
            engine.add_stream("other", **given)  # type: ignore[arg-type]
        assert refusal.value.code and refusal.value.hint
    assert list(engine.metrics()["streams"]) == ["packets"]


def test_a_stream_given_as_a_dataframe_is_given_again_after_opening(tmp_path: Path, spark: SparkSession) -> None:
    write_tick(tmp_path / "in", 0, packets(0))

    def frame() -> object:
        return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))

    sql = "SELECT proto, count(*) AS n FROM trades GROUP BY window(ts, '5 minutes'), proto"
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("trades", dataframe=frame(), event_time="ts", watermark="5 seconds")
        engine.register(sql, name="q")
        engine.run_available()
        assert engine.query("q").result()["n"].to_pylist() == [10, 10]
    write_tick(tmp_path / "in", 1, packets(10))
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        with pytest.raises(weft.StreamError, match="dataframe-missing"):
            engine.run_available()
        engine.add_stream("trades", dataframe=frame(), event_time="ts", watermark="5 seconds")
        engine.run_available()
        assert engine.query("q").results()["n"].to_pylist() == [10] * 6


def test_aggregates_of_ones_own(engine: weft.Engine, tmp_path: Path) -> None:
    definition = {
        "parameters": "x double",
        "statistics": {"s": "sum(ln(x))", "n": "count(x)"},
        "merge": {"s": "sum(s)", "n": "sum"},
        "result": "exp(s / n)",
    }
    engine.create_aggregate("geometric_mean", **definition)  # type: ignore[arg-type]
    engine.create_aggregate("geometric_mean", **definition)  # type: ignore[arg-type]
    query = engine.register(
        "SELECT saddr, geometric_mean(length) AS g, count(*) AS n FROM packets "
        "GROUP BY window(ts, '10 minutes'), saddr",
        name="geo",
    )
    write_tick(tmp_path / "in", 0, packets(0))
    write_tick(tmp_path / "in", 1, packets(10, 1))
    engine.run_available()
    lengths = [100 + place for place in range(40) if place % 4 < 2]
    product = 1.0
    for length in lengths:
        product *= length ** (1 / len(lengths))
    assert query.result()["g"].to_pylist()[0] == pytest.approx(product, rel=1e-9)
    for wrong in (
        {**definition, "result": "exp(s)"},
        {**definition, "merge": {"s": "max", "n": "sum"}},
        {**definition, "statistics": {"s": "median(x)"}},
        {**definition, "result": "upper(s)"},
    ):
        with pytest.raises(weft.WeftError) as refusal:
            engine.create_aggregate("geometric_mean" if wrong["result"] == "exp(s)" else "other", **wrong)  # type: ignore[arg-type]
        assert refusal.value.hint


def test_conditions_in_an_aggregate_of_ones_own_hold(engine: weft.Engine, tmp_path: Path) -> None:
    engine.create_aggregate(
        "large_mean",
        parameters="x double",
        statistics={"s": "sum(1 / x) FILTER (WHERE x > 105)", "n": "count_if(x > 105)"},
        merge={"s": "sum", "n": "sum"},
        result="s / nullif(n, 0)",
    )
    query = engine.register(
        "SELECT saddr, large_mean(length) FILTER (WHERE length < 115) AS mine, "
        "avg(1 / length) FILTER (WHERE length > 105 AND length < 115) AS written "
        "FROM packets GROUP BY window(ts, '10 minutes'), saddr",
        name="large",
    )
    write_tick(tmp_path / "in", 0, packets(0))
    write_tick(tmp_path / "in", 1, packets(10, 1))
    engine.run_available()
    found = query.result()
    assert found["mine"].to_pylist() == pytest.approx(found["written"].to_pylist(), rel=1e-9)
    assert found.num_rows and None not in found["mine"].to_pylist()


def test_registering_and_dropping_from_threads_while_it_runs(tmp_path: Path, spark: SparkSession) -> None:
    write_tick(tmp_path / "in", 0, packets(0))
    with open_engine(tmp_path, spark) as engine:
        steady = engine.register(SQL, name="steady")
        engine.start()
        errors: list[BaseException] = []

        def busy(number: int) -> None:
            try:
                for turn in range(15):
                    name = f"q{number}-{turn}"
                    engine.register(SQL.replace("= 6", f"> {turn}"), name=name).result()
                    steady.result()
                    if turn % 2:
                        engine.query(name).drop()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=busy, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for tick in range(1, 4):
            write_tick(tmp_path / "in", tick, packets(tick * 10))
        for thread in threads:
            thread.join()
        deadline = time.monotonic() + 60
        while engine.metrics()["streams"]["packets"]["rows"] < 160 and time.monotonic() < deadline:
            time.sleep(0.1)
        engine.stop()
        assert not errors
        assert engine.metrics()["streams"]["packets"]["rows"] == 160
        assert len(engine.queries()) == 1 + 4 * 8
        assert len(set(steady.results()["window_end"].to_pylist())) == 19


def test_any_hadoop_file_system_will_do(tmp_path: Path, spark: SparkSession) -> None:
    write_tick(tmp_path / "in", 0, packets(0))
    with weft.Engine(
        f"file://{tmp_path}/state", spark=spark, catalog=sqlite_url(tmp_path / "catalog.sqlite")
    ) as engine:
        engine.add_stream("packets", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts")
        query = engine.register("SELECT count(*) AS n FROM packets GROUP BY window(ts, '5 minutes')", name="q")
        engine.run_available()
        assert query.result()["n"].to_pylist() == [20]
    assert list((tmp_path / "state" / "segments").rglob("*.arrows")) and (tmp_path / "state" / "checkpoints").is_dir()


def test_a_late_query_has_the_windows_that_others_kept_and_says_from_when(tmp_path: Path, spark: SparkSession) -> None:
    write_tick(tmp_path / "in", 0, packets(0))
    with open_engine(tmp_path, spark) as engine:
        engine.register(
            "SELECT saddr, proto, sum(length) AS s FROM packets GROUP BY window(ts, '2 minutes'), saddr, proto",
            name="first",
        )
        engine.run_available()
        late = engine.register(SQL, name="late")
        assert late.status == "registered" and late.complete_from == datetime(1, 1, 1, tzinfo=UTC)
        at_once = late.results()
        assert at_once.num_rows == 8 and "everything since the stream began" in late.explain()
        unlucky = engine.register(
            "SELECT max(length) AS m FROM packets GROUP BY window(ts, '2 minutes')", name="unlucky"
        )
        assert unlucky.results().num_rows == 0
        write_tick(tmp_path / "in", 1, packets(10))
        engine.run_available()
        assert late.results().slice(0, 8).equals(at_once)
        assert unlucky.complete_from == datetime(1970, 1, 1, 0, 10, tzinfo=UTC)
        assert len(unlucky.results()) == 4 and "1970-01-01T00:10:00" in unlucky.explain()


def test_exports_are_sorted_and_complete() -> None:
    assert weft.__all__ == sorted(weft.__all__)
    assert all(hasattr(weft, name) for name in weft.__all__)


def test_another_process_sees_how_a_stream_fares(tmp_path: Path, spark: SparkSession) -> None:
    def seen() -> dict[str, str | None]:
        with weft.Engine(tmp_path / "state") as other:
            found = other.metrics()["streams"]["packets"]
            return {name: found[name] for name in ("status", "error")}

    def fail(_tick: object) -> None:
        raise weft.StateError("storage-full", "no space left", hint="Free some.")

    write_tick(tmp_path / "in", 0, packets(0))
    with open_engine(tmp_path, spark) as engine:
        engine.register(SQL, name="q")
        engine.start()
        assert seen() == {"status": "running", "error": None}
        engine.stop()
        assert seen() == {"status": "at rest", "error": None}
        engine.run_available()
        assert seen() == {"status": "at rest", "error": None}
        write_tick(tmp_path / "in", 1, packets(10))
        with weft.testing.around_ticks(engine, "packets", fail), pytest.raises(weft.StateError):
            engine.run_available()
        assert seen() == {"status": "failed", "error": "[storage-full] no space left"}
        engine.run_available()
        assert seen() == {"status": "at rest", "error": None}
