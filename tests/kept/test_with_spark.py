"""Rows are kept by whoever holds them: a pass in the driver, a pass in tasks, Spark's statements; the same rows each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import weft
from tests.kept.rows import SQL, START, at, kept_table
from weft.errors import StateError
from weft.feeds.streams import Stream
from weft.passes.keeping import Keeping
from weft.plan.network import Network, build_network
from weft.plan.prices import DUCKDB, SPARK
from weft.segments.encoding import checksum
from weft.segments.files import Files, LocalFiles
from weft.segments.kept import LATE, MOMENT, TICK, kept_schema
from weft.segments.row_files import FAN_OUT
from weft.segments.rows import ON_TIME
from weft.spark import arrived, batch, keep_rows
from weft.spark.batch import BatchOutput, aggregate, project
from weft.spark.kernels import Level0
from weft.spark.parquet_files import found
from weft.sql.ddl import parse_schema
from weft.testing import feed

pytestmark = pytest.mark.spark
DDL = "ts timestamp, k string, v int, `odd name` decimal(20,3), d double, t tinyint, y date"
STREAM = Stream("s", parse_schema(DDL), "ts", timedelta(0), source="parquet", path="x")
COUNT = 3_000
WATERMARK = 1_767_225_600_000_000 + 20_000_000


def table(count: int = COUNT) -> pa.Table:
    """Rows of which every seventh is dead, some before the watermark, with values of every kind."""
    numbers = range(count)
    columns = {
        "ts": [None if n % 7 == 0 else START + timedelta(milliseconds=10 * n) for n in numbers],
        "k": [None if n % 5 == 0 else "abc"[n % 3] for n in numbers],
        "v": [None if n % 11 == 0 else n - 500 for n in numbers],
        "odd name": [None if n % 4 == 0 else n for n in numbers],
        "d": [(-0.0, float("nan"), float("inf"), n / 7, None)[n % 5] for n in numbers],
        "t": [n % 256 - 128 for n in numbers],
        "y": [(START + timedelta(days=n)).date() for n in numbers],
    }
    schema = pa.schema([(field.name, field.type) for field in kept_schema(STREAM.columns) if field.name in columns])
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


def network() -> Network:
    from weft.aggregates.catalog import AggregateCatalog
    from weft.plan.needs import analyse
    from weft.sql.bind import compile_query

    catalog = AggregateCatalog()
    return build_network("s", {"q": analyse(compile_query(SQL, {"s": STREAM.schema}, catalog), catalog)})


def level0(files: Files, kernel: str, *, in_driver: bool = True) -> Level0:
    made = Level0(network(), kernel, in_driver=in_driver)
    made.keeping = Keeping(files, "s/rows_s", STREAM.columns, 4, WATERMARK)
    return made


def written(files: Files, output: BatchOutput) -> list[str]:
    """The rows that an output names, as text, in order; every file is as the output says."""
    assert output.kept is not None and not output.kept.again
    tables = []
    for file in output.kept.files:
        rows = files.read_table(file.path, file.checksum)
        moments = rows[MOMENT].to_pylist()
        rows = rows.cast(kept_schema(STREAM.columns))
        assert (file.rows, file.least, file.greatest) == (rows.num_rows, min(moments), max(moments))
        assert file.bytes == files.size(file.path)
        assert checksum(pa.py_buffer(files.read_bytes(file.path))) == file.checksum
        tables.append(rows)
    assert output.kept.rows == output.rows - output.dead
    return sorted(map(repr, pa.concat_tables(tables).to_pylist()))


def expected() -> list[str]:
    rows = []
    for row in table().to_pylist():
        if row["ts"] is not None:
            moment = (row["ts"] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
            late = WATERMARK if moment < WATERMARK else ON_TIME
            rows.append(repr({**row, MOMENT: moment, LATE: late, TICK: 4}))
    return sorted(rows)


@pytest.fixture(scope="module")
def want() -> list[str]:
    return expected()


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "segments")


@pytest.fixture
def frame(spark: SparkSession) -> Any:
    return project(spark.createDataFrame(table()).repartition(3), STREAM)


@pytest.fixture
def on_disk(tmp_path: Path) -> Callable[[int], Any]:
    """Finds the files of a batch, of which a pass holds at most so many rows."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        path = folder / f"{number}.parquet"
        pq.write_table(table().slice(number * COUNT // 2, COUNT // 2), path, row_group_size=400)
    paths = [f"file://{path}" for path in sorted(folder.iterdir())]
    return lambda held: lambda: found(STREAM, paths, 0, held)


@pytest.mark.parametrize("in_driver", [True, False])
def test_a_pass_over_rows_keeps_them(frame: Any, files: LocalFiles, want: list[str], in_driver: bool) -> None:
    output = aggregate(frame, level0(files, DUCKDB, in_driver=in_driver), 4)
    assert output.kernel == DUCKDB and written(files, output) == want


@pytest.mark.parametrize("held", [COUNT, 0])
@pytest.mark.parametrize("kernel", [DUCKDB, SPARK])
def test_rows_of_files_are_kept(
    frame: Any, files: LocalFiles, want: list[str], on_disk: Callable[[int], Any], held: int, kernel: str
) -> None:
    """Of a pass that read them, or of Spark's statements: then whoever writes reads the files for that."""
    output = aggregate(frame, level0(files, kernel), 4, on_disk(held))
    assert output.kernel == kernel and written(files, output) == want


@pytest.mark.parametrize("few", [COUNT, 0])
def test_statements_keep_rows(frame: Any, files: LocalFiles, want: list[str], few: int) -> None:
    with patch.object(keep_rows, "FEW_ROWS", few):
        output = aggregate(frame, level0(files, SPARK), 4)
    assert output.kernel == SPARK and written(files, output) == want


@pytest.mark.parametrize("kernel", [DUCKDB, SPARK])
def test_a_state_elsewhere_keeps_rows(
    spark: SparkSession, frame: Any, tmp_path: Path, want: list[str], kernel: str
) -> None:
    from weft.segments.hadoop import HadoopFiles

    files = HadoopFiles(spark, (tmp_path / "elsewhere").as_uri())
    with patch.object(keep_rows, "FEW_ROWS", 0):
        output = aggregate(frame, level0(files, kernel, in_driver=False), 4)
    assert output.kernel == kernel and written(files, output) == want
    assert output.kept is not None and set(files.list("s")) == {file.path for file in output.kept.files}


def test_text_that_is_no_utf8_is_mended_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    from weft.segments.hadoop import HadoopFiles

    text = f.expr("CASE WHEN k = 'a' THEN CAST(X'61FF62' AS STRING) ELSE k END")
    rows = spark.createDataFrame(table().filter(pa.array([n % 7 == 1 for n in range(COUNT)])))
    frame = project(rows.withColumn("k", text), STREAM)
    for files in (LocalFiles(tmp_path / "a"), HadoopFiles(spark, (tmp_path / "b").as_uri())):
        with patch.object(keep_rows, "FEW_ROWS", 0):
            output = aggregate(frame, level0(files, SPARK), 4)
        assert "a\ufffdb" in "".join(written(files, output))


def test_a_pass_that_fails_leaves_the_rows_to_spark(frame: Any, files: LocalFiles, want: list[str]) -> None:
    """The files that it may have written are known as such: the next tick looks for what nobody names."""
    chosen = level0(files, DUCKDB)
    with patch.object(batch, "pass_in_driver", side_effect=ValueError("broken")):
        output = aggregate(frame, chosen, 4)
    assert output.kept is not None and output.kept.again and output.kernel == SPARK
    assert output.kept.rows == len(want)


@pytest.mark.parametrize("kernel", [DUCKDB, SPARK])
def test_a_task_that_cannot_write_says_why(
    frame: Any, files: LocalFiles, tmp_path: Path, on_disk: Callable[[int], Any], kernel: str
) -> None:
    """No query is to blame, and none is tried for it: the error is the disk's."""
    (tmp_path / "segments" / "s").write_text("no folder")
    with patch.object(keep_rows, "FEW_ROWS", 0), pytest.raises(StateError) as refused:
        aggregate(frame, level0(files, kernel, in_driver=False), 4)
    assert refused.value.code == "storage-failed" and "rows_s" in refused.value.message
    with pytest.raises(StateError) as refused:
        aggregate(frame, level0(files, kernel), 4, on_disk(0))
    assert refused.value.code == "storage-failed"


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        yield engine


def test_a_stream_of_files_keeps_its_rows(engine: weft.Engine, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table(), folder / "0.parquet")
    engine.add_stream("s", source="parquet", path=folder, schema=DDL, event_time="ts", retain="forever")
    engine.register(SQL, name="q")
    engine.run_available()
    with patch.object(arrived, "MOST_DIRECT_ROWS", 10):
        pq.write_table(table(), folder / "1.parquet")
        engine.run_available()
    alive = table().filter(table()["ts"].is_valid())
    assert engine.rows("s").table().num_rows == 2 * alive.num_rows
    rows = engine.rows("s", columns=["v"], where="v > 0 AND k = 'b'").table()
    count = sum(1 for row in alive.to_pylist() if (row["v"] or 0) > 0 and row["k"] == "b")
    assert rows.num_rows == 2 * count


def test_rows_as_a_dataframe(engine: weft.Engine) -> None:
    engine.add_stream("s", source="parquet", path="x", schema=DDL, event_time="ts", max_ahead="any", retain="forever")
    empty = engine.rows("s").dataframe()
    assert empty.count() == 0 and empty.columns == [name for name, _ in STREAM.columns]
    feed(engine, "s", table())
    whole = engine.rows("s").dataframe()
    assert sorted(map(repr, whole.toArrow().to_pylist())) == sorted(map(repr, engine.rows("s").table().to_pylist()))
    part = engine.rows("s", since=at(3), until=at(4), columns=["odd name", "v"], where="`odd name` > 5.5").dataframe()
    assert part.columns == ["odd name", "v"]
    same = engine.rows("s", since=at(3), until=at(4), columns=["odd name", "v"], where="`odd name` > 5.5").table()
    assert sorted(map(repr, part.toArrow().to_pylist())) == sorted(map(repr, same.to_pylist())) and same.num_rows > 50


def test_what_only_spark_computes_is_computed_by_spark(engine: weft.Engine) -> None:
    engine.add_stream("s", source="parquet", path="x", schema=DDL, event_time="ts", max_ahead="any", retain="forever")
    feed(engine, "s", table())
    rows = engine.rows("s", columns=["k", "y"], where="date_format(y, 'MM') = '02' AND ts IS NOT NULL")
    assert rows._portable() is None
    want = [(row["k"], row["y"]) for row in table().to_pylist() if row["ts"] is not None and row["y"].month == 2]
    assert sorted(map(repr, ((row["k"], row["y"]) for row in rows.table().to_pylist()))) == sorted(map(repr, want))


def test_rows_that_spark_cannot_read_twice_are_those_that_count(engine: weft.Engine, tmp_path: Path) -> None:
    """Random values: what is kept is what was counted."""
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table().select(["ts", "k"]), folder / "0.parquet")
    rows = engine.spark.readStream.schema("ts timestamp, k string").parquet(str(folder))
    rows = rows.withColumn("v", (f.rand() * 1e9).cast("int"))
    engine.add_stream("s", dataframe=rows, event_time="ts", retain="forever")
    engine.register("SELECT sum(v) AS total, count(*) AS n FROM s", name="q")
    with patch.object(keep_rows, "FEW_ROWS", 0):
        engine.run_available()
    (answer,) = engine.query("q").result().to_pylist()
    kept = kept_table(engine)["v"].to_pylist()
    assert (sum(kept), len(kept)) == (answer["total"], answer["n"])


def test_a_state_elsewhere_merges_and_reads_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Files of Spark's writer and of the driver's are merged with each other, and read in ranges."""
    catalog = f"sqlite:///{tmp_path / 'catalog.sqlite'}"
    with weft.Engine((tmp_path / "state").as_uri(), spark=spark, catalog=catalog) as engine:
        engine.add_stream("s", source="parquet", path="x", schema=DDL, event_time="ts", max_ahead="any", retain="forever")
        for number in range(FAN_OUT):
            with patch.object(keep_rows, "FEW_ROWS", 0 if number % 2 else COUNT):
                feed(engine, "s", table(70), spark=True)
        files = engine.state_of("s").kept.files
        assert any(file.batch_to > file.batch_from for file in files)
        assert sum(file.rows for file in files) == 60 * FAN_OUT
        rows = engine.rows("s", where="v IS NOT NULL").table()
        assert rows.num_rows == sum(1 for row in table(70).to_pylist() if row["ts"] and row["v"] is not None) * FAN_OUT
        assert engine.rows("s").dataframe().count() == 60 * FAN_OUT
