"""A project that is moved with its state goes on: no row is lost, none counts twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import run, share_session, succeed_json
from tests.cli.test_run import CONFIG, put
from weft.errors import StreamError
from weft.spark.moved import Move, follow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD, NEW = Move("/a/in", "/b/in"), Move("/b/in", "/a/in")


def test_a_moved_project_goes_on(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    share_session(monkeypatch, spark)
    # Letters that addresses are written with, and those that they are not.
    folders = [tmp_path / name for name in ("first", "a move & 100 % größer", "last")]
    folders[0].mkdir()
    (folders[0] / "weft.toml").write_text(CONFIG)
    files = 0
    for before, folder in zip([None, *folders], folders, strict=False):
        if before is not None:
            before.rename(folder)
        # In the last place beyond the tenth file, where Spark makes one note of all.
        for _ in range(2 if before is None else 5):
            put(folder / "in", files)
            files += 1
        done = run("run", folder / "weft.toml", "--available-now")
        assert done.exit_code == 0, done.output
        numbers = succeed_json("metrics", "--state", folder / "weft.toml")["streams"]["packets"]
        assert numbers["rows"] == 10 * files
    totals = succeed_json("results", "totals", "--state", folders[-1] / "weft.toml")
    assert [one["paid"] for one in totals] == [f"{20 * files}.00", f"{25 * files}.00"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    notes = tmp_path / "sources" / "0"
    notes.mkdir(parents=True)
    for number, name in enumerate(["0", "1.compact"]):
        entry = f'{{"path":"file:///a/in/{number}.parquet","timestamp":7,"batchId":{number}}}'
        (notes / name).write_text(f"v1\n{entry}")
        (notes / f".{name}.crc").write_bytes(b"crc")
    return tmp_path


def texts(checkpoint: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (checkpoint / "sources" / "0").iterdir()}


def test_notes_follow_and_say_nothing_else(checkpoint: Path) -> None:
    before = texts(checkpoint)
    follow(str(checkpoint), OLD, "s")
    after = texts(checkpoint)
    assert after == {name: before[name].replace("/a/in", "/b/in") for name in ("0", "1.compact")}
    # Once more, as after a death on the way, and back.
    follow(str(checkpoint), OLD, "s")
    assert texts(checkpoint) == after
    follow(str(checkpoint), NEW, "s")
    assert texts(checkpoint) == {name: before[name] for name in ("0", "1.compact")}


@pytest.mark.parametrize("move", [Move("/a", "/a/in"), Move("/a/in/b", "/a/in")])
def test_a_move_into_itself_is_refused(checkpoint: Path, move: Move) -> None:
    before = texts(checkpoint)
    with pytest.raises(StreamError) as refused:
        follow(str(checkpoint), move, "s")
    assert refused.value.code == "stream-differs" and texts(checkpoint) == before
