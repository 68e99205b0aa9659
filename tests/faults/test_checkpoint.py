"""T12: damaged files of Spark's checkpoint: the stream stops with a named error, and nothing that is committed changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import write_tick
from weft.errors import WeftError

TICKS = 3


def rows(number: int) -> pa.Table:
    moments = pa.array([(10 * number + second) * 1_000_000 for second in range(10)], pa.timestamp("us", tz="UTC"))
    return pa.table({"ts": moments, "v": pa.array(range(10 * number, 10 * number + 10), pa.int32())})


class Place:
    """A state with some ticks over a real streaming query, and the rows of one more that has not run."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.checkpoint = folder / "state" / "checkpoints" / "s"
        for number in range(TICKS):
            write_tick(folder / "in", number, rows(number))
        with self.engine() as engine:
            engine.register("SELECT count(*) AS n, sum(v) AS total FROM s", name="all")
            engine.run_available()
        write_tick(folder / "in", TICKS, rows(TICKS))
        shutil.copytree(folder / "state", folder / "copy")

    def restore(self) -> None:
        """As it was before any test."""
        shutil.rmtree(self.folder / "state")
        shutil.copytree(self.folder / "copy", self.folder / "state")

    def engine(self) -> weft.Engine:
        engine = weft.Engine(self.folder / "state", spark=self.spark)
        engine.add_stream(
            "s",
            source="parquet",
            path=self.folder / "in",
            schema="ts timestamp, v int",
            event_time="ts",
            options={"maxFilesPerTrigger": 1},
        )
        return engine

    def answer(self) -> list[dict[str, Any]]:
        with self.engine() as engine:
            return engine.query("all").result().to_pylist()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Place:
    return Place(tmp_path_factory.mktemp("checkpoint"), spark)


@pytest.fixture
def place(ran: Place) -> Place:
    ran.restore()
    return ran


def right(ticks: int) -> list[dict[str, Any]]:
    return [{"n": 10 * ticks, "total": sum(range(10 * ticks))}]


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "offsets of the last batch empty": (f"offsets/{TICKS - 1}", lambda data: b""),
    "commit of the last batch empty": (f"commits/{TICKS - 1}", lambda data: b""),
    "metadata of something else": ("metadata", lambda data: b"no json"),
    "metadata empty": ("metadata", lambda data: b""),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_checkpoint_stops_the_stream_until_it_is_restored(place: Place, how: str) -> None:
    name, spoil = DAMAGES[how]
    file = place.checkpoint / name
    good, beside = file.read_bytes(), file.parent / f".{file.name}.crc"
    sums = beside.read_bytes() if beside.exists() else None
    file.write_bytes(spoil(good))
    beside.unlink(missing_ok=True)  # else Hadoop would refuse the file before Spark reads it
    before = sorted(path.relative_to(place.checkpoint) for path in place.checkpoint.rglob("*"))
    with place.engine() as engine, pytest.raises(WeftError) as failure:
        engine.run_available()
    assert failure.value.code == "stream-failed"
    assert place.answer() == right(TICKS)
    assert sorted(path.relative_to(place.checkpoint) for path in place.checkpoint.rglob("*")) == before
    file.write_bytes(good)
    if sums is not None:
        beside.write_bytes(sums)
    assert place.answer() == right(TICKS)
    with place.engine() as engine:
        engine.run_available()
    assert place.answer() == right(TICKS + 1)
