"""T12: damaged files of Spark's checkpoint: the stream stops with a named error or goes on, and no answer is ever wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import session_with, write_tick
from tests.few import few
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
        self.whole = folder / "copy" / "checkpoints" / "s"
        self.arrive(*range(TICKS))
        with self.engine() as engine:
            engine.register("SELECT count(*) AS n, sum(v) AS total FROM s", name="all")
            engine.run_available()
        self.arrive(TICKS)
        shutil.copytree(folder / "state", folder / "copy")

    def restore(self) -> None:
        """As it was before any test."""
        shutil.rmtree(self.folder / "state")
        shutil.copytree(self.folder / "copy", self.folder / "state")
        for late in sorted((self.folder / "in").iterdir())[TICKS + 1 :]:
            late.unlink()

    def arrive(self, *ticks: int) -> None:
        for number in ticks:
            write_tick(self.folder / "in", number, rows(number))

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
    often = session_with(spark, {"spark.sql.streaming.fileSource.log.compactInterval": 2})
    return Place(tmp_path_factory.mktemp("checkpoint"), often)


@pytest.fixture
def place(ran: Place) -> Place:
    ran.restore()
    return ran


def right(ticks: int) -> list[dict[str, Any]]:
    return [{"n": 10 * ticks, "total": sum(range(10 * ticks))}]


# Three ticks, and a list of files that Spark sums up in every second note: 0, 1.compact and 2.
FILES = (
    *(f"{log}/{number}" for log in ("offsets", "commits") for number in range(TICKS)),
    *("sources/0/0", "sources/0/1.compact", "sources/0/2", "metadata"),
)
# What each is exchanged with.
OTHERS = {name: name.rpartition("/")[0] + "/0" for name in FILES} | {
    "offsets/0": "offsets/1",
    "commits/0": "offsets/0",
    "sources/0/0": "sources/0/2",
    "metadata": "commits/0",
}
Damage = Callable[[bytes, bytes], bytes | None]
DAMAGES: dict[str, Damage] = {
    "flipped": lambda data, other: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "truncated": lambda data, other: data[:-7],
    "emptied": lambda data, other: b"",
    "deleted": lambda data, other: None,
    "exchanged": lambda data, other: other,
}
# Not promised: a list of files from before the last batch that still reads as one, and has forgotten some of them.
# Hadoop's checksums do not help: Spark reads its list of files without them.
OPEN = {("sources/0/1.compact", "exchanged")}
# Those that `make test` has time for: every kind of file.
SOME = (
    (f"offsets/{TICKS - 2}", "deleted"),
    (f"commits/{TICKS - 1}", "truncated"),
    ("metadata", "emptied"),
    ("sources/0/1.compact", "truncated"),
    (f"sources/0/{TICKS - 1}", "flipped"),
)
CASES = few([case for case in product(FILES, DAMAGES) if case not in OPEN], SOME)
CODES = ("stream-failed", "checkpoint-replaced", "offsets-differ")


def spoil(place: Place, name: str, how: str) -> None:
    """Damage a file of the checkpoint, and hide that from Hadoop, which would refuse the file before Spark reads it."""
    file = place.checkpoint / name
    data = DAMAGES[how](file.read_bytes(), (place.checkpoint / OTHERS[name]).read_bytes())
    file.unlink() if data is None else file.write_bytes(data)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_damaged_checkpoint_stops_the_stream_or_changes_nothing(place: Place, name: str, how: str) -> None:
    """All damages: a named error until the file is restored, or all goes on as if nothing had happened."""
    spoil(place, name, how)
    try:
        with place.engine() as engine:
            engine.run_available()
    except WeftError as error:
        assert error.code in CODES and error.hint
        assert place.answer() == right(TICKS)
        if error.code == "offsets-differ":
            # Spark has planned a batch from what it read, and would run that as it is.
            shutil.rmtree(place.checkpoint)
            shutil.copytree(place.whole, place.checkpoint)
        else:
            for file in (name, f"{Path(name).parent}/.{Path(name).name}.crc"):
                shutil.copy(place.whole / file, place.checkpoint / file)
        with place.engine() as engine:
            engine.run_available()
    assert place.answer() == right(TICKS + 1)
    # What was wrong may show only when Spark looks for new files.
    place.arrive(TICKS + 1)
    with place.engine() as engine:
        engine.run_available()
    assert place.answer() == right(TICKS + 2)
