"""What only the local disk does: order of syncs, crashes, a full disk; and which root is opened how."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from weft.errors import StateError
from weft.segments.files import LocalFiles, open_files

TABLE = pa.table({"x": [1, 2, 3]})


def test_the_name_appears_after_the_bytes_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(tmp_path / "root")
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        events.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).relative_to(tmp_path)}")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> Any:
        events.append(f"rename to {target.relative_to(tmp_path)}")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    files.write_table("a/b/t.parquet", TABLE)
    assert [event for event in events if ".tmp" not in event] == [
        "sync root",  # the new folder a
        "sync root/a",  # the new folder b
        "rename to root/a/b/t.parquet",
        "sync root/a/b",
    ]
    assert ".tmp" in events[2]


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(tmp_path)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "n").mkdir()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError) as refused:
        files.write_table("n/t.parquet", TABLE)
    assert refused.value.code == "storage-full"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write_table("n", TABLE)
    with pytest.raises(StateError) as refused:
        files.write_table("n/t.parquet", TABLE)
    assert refused.value.code == "storage-failed"
    with pytest.raises(StateError) as refused:
        LocalFiles(tmp_path / "n")
    assert refused.value.code == "storage-failed"


def test_empty_folders_go_with_their_last_file(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "root")
    for path in ("a/b/1", "a/b/2", "a/3"):
        files.write_table(path, TABLE)
    files.delete(["a/b/1", "a/b/2"])
    assert sorted(path.name for path in (tmp_path / "root").rglob("*")) == ["3", "a"]
    files.delete(["a/3"])
    assert list((tmp_path / "root").iterdir()) == []


def test_a_folder_goes_with_the_leftover_of_a_killed_writer(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "root")
    (tmp_path / "root" / "n").mkdir()
    (tmp_path / "root" / "n" / ".4.parquet.0123.tmp").write_bytes(b"half")
    assert files.remove_leftovers() == 1
    assert list((tmp_path / "root").iterdir()) == []


WRITE = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from weft.segments.files import LocalFiles
files = LocalFiles(sys.argv[1])
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "sync":
    os.fsync = die
elif sys.argv[2] == "rename":
    Path.replace = die
files.write_table("n/t.parquet", pa.table({"x": [9]}))
"""


@pytest.mark.parametrize("point", ["sync", "rename"])
def test_a_killed_writer_leaves_the_old_file_and_a_hidden_one(
    tmp_path: Path, point: str, python: Callable[..., subprocess.Popen[str]]
) -> None:
    files = LocalFiles(tmp_path)
    before = files.write_table("n/t.parquet", TABLE)
    process = python(WRITE, str(tmp_path), point)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, out
    assert files.read_table("n/t.parquet", before.checksum).equals(TABLE)
    assert files.list() == ("n/t.parquet",)
    assert files.remove_leftovers() == 1


def no_spark() -> Any:
    raise AssertionError("a local folder needs no Spark")


@pytest.mark.parametrize("name", ["plain", "with:colon", "with space", "s3a"])
def test_a_plain_path_is_the_local_disk(tmp_path: Path, name: str) -> None:
    files = open_files(str(tmp_path / name), no_spark)
    assert isinstance(files, LocalFiles)
    files.write_table("t", TABLE)
    assert (tmp_path / name / "t").is_file()


@pytest.mark.spark
def test_a_uri_goes_through_hadoop(tmp_path: Path, session: Any) -> None:
    from weft.segments.hadoop import HadoopFiles

    for root in ((tmp_path / "a").as_uri(), f"file:{tmp_path}/b", f"file://{tmp_path}/c/"):
        files = open_files(root, lambda: session)
        assert isinstance(files, HadoopFiles)
        written = files.write_table("n/t", TABLE)
        assert files.list() == ("n/t",)
        assert files.uri("n/t") in {f"file:{tmp_path}/{x}/n/t" for x in "abc"}
        assert files.read_table("n/t", written.checksum).equals(TABLE)
        assert session.read.parquet(files.uri("n/t")).count() == 3


@pytest.mark.spark
def test_a_scheme_that_hadoop_does_not_know_is_named(session: Any) -> None:
    with pytest.raises(StateError) as refused:
        open_files("nosuch://bucket/root", lambda: session)
    assert refused.value.code == "storage-failed"
    assert "nosuch" in refused.value.message


@pytest.mark.spark
def test_hadoop_leaves_no_copy_on_the_local_disk(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    files = open_files((tmp_path / "root").as_uri(), lambda: session)
    written = files.write_table("t", TABLE)
    files.read_table("t", written.checksum)
    assert list(scratch.iterdir()) == []
