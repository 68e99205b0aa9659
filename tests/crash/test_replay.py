"""T3: Spark hands batches over again, or a checkpoint that is not the one that was counted; and hazards beside it.

What is the same is passed over, what differs stops with a named error; in no case does an answer change.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.crash.life import ARROW, DDL, DELAY, STREAM
from tests.crash.life import SMALL as SCRIPT
from tests.engine.harness import write_tick
from weft.errors import StateError

QUERIES = {
    "windows": f"SELECT k, sum(v) AS total FROM {STREAM} GROUP BY window(ts, '10 seconds', '5 seconds'), k",
    "ever": f"SELECT g, count(*) AS n FROM {STREAM} GROUP BY g",
    # Fails in the second tick after FIRST, and with it the batch as it came.
    "failing": f"SELECT sum(v / d) AS x FROM {STREAM} GROUP BY window(ts, '10 seconds')",
}
FIRST = 4


class Place:
    """A folder with a stream that ran for a while, and everything in it that could change."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self._spark = folder, spark
        self.checkpoint = folder / "state" / "checkpoints" / STREAM

    def arrive(self, *ticks: int) -> None:
        for number in ticks:
            write_tick(self.folder / "in", number, pa.Table.from_pylist(SCRIPT.arriving(number), ARROW))

    def open(self) -> weft.Engine:
        engine = weft.Engine(self.folder / "state", spark=self._spark)
        engine.add_stream(
            STREAM,
            source="parquet",
            path=self.folder / "in",
            schema=DDL,
            event_time="ts",
            watermark=f"{DELAY} seconds",
            options={"maxFilesPerTrigger": 1},
        )
        engine.register_all(QUERIES)
        return engine

    def run(self) -> dict[str, Any]:
        """Process what is there in a new engine; everything that can be read afterwards."""
        with self.open() as engine:
            engine.run_available()
            return self.read(engine)

    def read(self, engine: weft.Engine) -> dict[str, Any]:
        totals = engine.state_of(STREAM).totals
        letters = engine.dead_letters(STREAM).to_pylist()
        windows = engine.query("windows").results().to_pylist()
        return {
            "totals": totals,
            "letters": letters,
            "windows": windows,
            "ever": engine.query("ever").changes().to_pylist(),
        }

    def halts(self, code: str) -> None:
        """Running stops with the error, and changes nothing."""
        with self.open() as engine:
            before = self.read(engine), self.catalogued(engine)
            with pytest.raises(StateError) as refused:
                engine.run_available()
            assert refused.value.code == code and refused.value.hint
        with self.open() as engine:
            assert (self.read(engine), self.catalogued(engine)) == before

    def catalogued(self, engine: weft.Engine) -> Any:
        with engine.catalog.read() as reader:
            return reader.segments(), reader.dead_letters(), reader.nodes(), reader.queries(), reader.tick_log(STREAM)

    def remove(self, log: str, number: int) -> None:
        """Lose an entry of a log of the checkpoint, with the file of its checksum."""
        (self.checkpoint / log / str(number)).unlink()
        (self.checkpoint / log / f".{number}.crc").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[Path, Path]:
    """A stream after some ticks, and a copy of it."""
    place = Place(tmp_path_factory.mktemp("ran") / "place", spark)
    place.arrive(*range(FIRST))
    place.run()
    copy = place.folder.parent / "copy"
    shutil.copytree(place.folder, copy)
    return place.folder, copy


@pytest.fixture
def place(ran: tuple[Path, Path], spark: SparkSession) -> Place:
    """That stream as it was then."""
    folder, copy = ran
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    return Place(folder, spark)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, Any]:
    """What can be read after two more ticks of a stream that nothing happened to."""
    place = Place(tmp_path_factory.mktemp("undisturbed"), spark)
    place.arrive(*range(FIRST + 2))
    return _comparable(place.run())


def _comparable(read: dict[str, Any]) -> dict[str, Any]:
    """Without the names of files, which are of another folder."""
    return {**read, "letters": [{**one, "source": ""} for one in read["letters"]]}


def goes_on(place: Place, undisturbed: dict[str, Any]) -> None:
    """What arrives from now on is counted as if nothing had happened."""
    place.arrive(FIRST, FIRST + 1)
    assert _comparable(place.run()) == undisturbed


def test_a_lost_commit_replays_a_batch_and_changes_nothing(place: Place, undisturbed: dict[str, Any]) -> None:
    with place.open() as engine:
        before = place.read(engine), place.catalogued(engine)
    place.remove("commits", FIRST - 1)
    with place.open() as engine:
        engine.run_available()
        assert (place.checkpoint / "commits" / str(FIRST - 1)).exists(), "the batch ran again"
        assert (place.read(engine), place.catalogued(engine)) == before
    goes_on(place, undisturbed)


def test_an_older_checkpoint_replays_its_batches_and_changes_nothing(
    place: Place, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    older = tmp_path / "checkpoint"
    shutil.copytree(place.checkpoint, older)
    place.arrive(FIRST)
    before = place.run()
    shutil.rmtree(place.checkpoint)
    shutil.copytree(older, place.checkpoint)
    assert place.run() == before
    assert (place.checkpoint / "commits" / str(FIRST)).exists(), "the batch ran again"
    place.arrive(FIRST + 1)
    assert _comparable(place.run()) == undisturbed


def test_an_older_checkpoint_that_plans_other_batches_halts(place: Place, tmp_path: Path) -> None:
    older = tmp_path / "checkpoint"
    shutil.copytree(place.checkpoint, older)
    place.arrive(FIRST + 1)
    place.run()
    shutil.rmtree(place.checkpoint)
    shutil.copytree(older, place.checkpoint)
    # An older file than the one that came next then: batch FIRST would hold this one now.
    place.arrive(FIRST)
    place.halts("offsets-differ")


def test_offsets_lost_or_different_halts(place: Place) -> None:
    place.remove("offsets", FIRST - 1)
    place.halts("offsets-differ")


def test_offsets_lost_with_their_commit_and_new_rows_halts(place: Place) -> None:
    """Spark plans the last batch anew, and puts the rows into it that came since."""
    place.remove("offsets", FIRST - 1)
    place.remove("commits", FIRST - 1)
    place.arrive(FIRST)
    place.halts("offsets-differ")


def test_checkpoint_emptied_halts(place: Place) -> None:
    shutil.rmtree(place.checkpoint)
    place.checkpoint.mkdir()
    place.halts("checkpoint-replaced")


def test_checkpoint_replaced_halts(place: Place) -> None:
    """Batches of another checkpoint have the same numbers; this one is another by its identity alone."""
    (place.checkpoint / ".metadata.crc").unlink(missing_ok=True)
    (place.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid4())}))
    place.arrive(FIRST)
    place.halts("checkpoint-replaced")


def test_offsets_changed_in_their_place_halts(place: Place) -> None:
    """Spark would plan the next batch from where this one ends now, and leave rows out or count them twice."""
    offsets = place.checkpoint / "offsets" / str(FIRST - 1)
    before = offsets.read_text()
    assert f'{{"logOffset":{FIRST - 1}}}' in before
    (offsets.parent / f".{FIRST - 1}.crc").unlink()
    offsets.write_text(before.replace(f'{{"logOffset":{FIRST - 1}}}', f'{{"logOffset":{FIRST - 2}}}'))
    place.halts("offsets-differ")
    offsets.write_text(before)


def test_a_new_checkpoint_that_is_adopted_goes_on(place: Place, undisturbed: dict[str, Any]) -> None:
    """Files that were counted are taken away, as the hint says; the rest is counted, once, also when it is replayed."""
    shutil.rmtree(place.checkpoint)
    shutil.rmtree(place.folder / "in")
    place.arrive(FIRST)
    place.halts("checkpoint-replaced")
    with place.open() as engine:
        engine.adopt(STREAM)
    place.run()
    assert sorted(one.name for one in (place.checkpoint / "offsets").glob("[0-9]*")) == ["0"]
    place.arrive(FIRST + 1)
    after = place.run()
    assert _comparable(after) == _comparable({**undisturbed, "totals": {**undisturbed["totals"], "ahead": FIRST}})
    place.remove("commits", 1)
    assert place.run() == after, "the batch ran again and is known by its own number"
    shutil.rmtree(place.checkpoint)
    place.halts("checkpoint-replaced")


def test_older_catalog_halts(place: Place, tmp_path: Path) -> None:
    """A catalog from a backup does not know the batches that Spark will not hand over again."""
    shutil.copytree(place.folder / "state", tmp_path / "state")
    place.arrive(FIRST, FIRST + 1)
    place.run()
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(place.checkpoint, checkpoint)
    shutil.rmtree(place.folder / "state")
    shutil.copytree(tmp_path / "state", place.folder / "state")
    shutil.rmtree(place.checkpoint)
    shutil.copytree(checkpoint, place.checkpoint)
    place.arrive(FIRST + 2)
    place.halts("batches-missing")


def test_a_death_while_spark_plans_a_batch_loses_no_row(
    place: Place, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """Spark notes the files of a batch before its offsets; a death in between makes the next batch one of two files."""
    shutil.copytree(place.folder / "state", tmp_path / "state")
    place.arrive(FIRST)
    place.run()
    noted = tmp_path / "noted"
    shutil.copytree(place.checkpoint / "sources" / "0", noted)
    shutil.rmtree(place.folder / "state")
    shutil.copytree(tmp_path / "state", place.folder / "state")
    shutil.copytree(noted, place.checkpoint / "sources" / "0", dirs_exist_ok=True)
    place.arrive(FIRST + 1)
    found = place.run()
    assert found["totals"]["rows"] == undisturbed["totals"]["rows"]
    assert found["totals"]["dead"] == undisturbed["totals"]["dead"]
    # Both files are one batch now, and dead rows of both are among the letters.
    assert sorted(one["row"] for one in found["letters"]) == sorted(one["row"] for one in undisturbed["letters"])
    assert [(row["g"], row["n"]) for row in found["ever"]] == [(row["g"], row["n"]) for row in undisturbed["ever"]]
