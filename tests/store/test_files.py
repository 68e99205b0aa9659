"""Files come back as they were written, or the error says which file is missing or damaged; local disk and Hadoop."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.errors import StateError
from weft.segments.encoding import checksum, encode
from weft.segments.files import Files, Written, checked_path

TABLE = pa.table(
    {
        "slice": pa.array([0, 10, 10, None], pa.int64()),
        "saddr": ["10.0.0.1", "", None, "ü🧵"],
        "sum(length)": pa.array([1.5, float("nan"), -0.0, None], pa.float64()),
        "at": pa.array([datetime(2026, 1, 1, 0, 0, 0, 7, tzinfo=UTC)] * 4, pa.timestamp("us", tz="UTC")),
        "price": pa.array([Decimal("1.10"), None, Decimal("-99.99"), Decimal("0.00")], pa.decimal128(38, 2)),
        "sketch": pa.array([b"\x00\xff", b"", None, b"x" * 1000], pa.binary()),
        "pair": pa.array([{"x": 1, "y": None}, None, {"x": None, "y": "z"}, {"x": 2, "y": ""}]),
        "a.b": pa.array([1, 2, 3, 4], pa.int16()),
    }
)


def local(files: Files, path: str) -> Path:
    """Where the file is on this machine's disk, for both kinds of root."""
    return Path("/" + files.uri(path).removeprefix("file:").lstrip("/"))


def read_error(files: Files, written: Written, *, verify: bool = True) -> StateError:
    with pytest.raises(StateError) as refused:
        files.read_table(written.path, written.checksum if verify else None)
    assert written.path in refused.value.message
    assert refused.value.hint
    return refused.value


@pytest.mark.parametrize("table", [TABLE, TABLE.slice(0, 0), TABLE.select(["saddr"]), pa.concat_tables([TABLE] * 500)])
def test_a_table_comes_back_as_it_was_written(files: Files, table: pa.Table) -> None:
    written = files.write_table("node-1/000001.parquet", table)
    assert written.path == "node-1/000001.parquet"
    assert written.rows == table.num_rows
    assert written.bytes == files.size(written.path) == local(files, written.path).stat().st_size
    for expected in (written.checksum, None):
        back = files.read_table(written.path, expected)
        assert back.schema == table.schema
        assert back.to_pylist().__repr__() == table.to_pylist().__repr__()  # NaN is not equal to itself


def test_columns_are_read_in_the_order_asked_for(files: Files) -> None:
    written = files.write_table("t.parquet", TABLE)
    for expected in (written.checksum, None):
        back = files.read_table(written.path, expected, columns=["a.b", "pair", "slice"])
        assert back.column_names == ["a.b", "pair", "slice"]
        assert back.column("pair").to_pylist() == TABLE.column("pair").to_pylist()
        with pytest.raises(StateError) as refused:
            files.read_table(written.path, expected, columns=["slice", "nothing"])
        assert refused.value.code == "segment-columns"
        assert "'nothing'" in refused.value.message
    assert files.read_table(written.path, columns=[]).num_columns == 0


def test_any_reader_of_parquet_finds_the_file_by_its_uri(files: Files) -> None:
    files.write_table("n/t.parquet", TABLE)
    assert pq.read_table(local(files, "n/t.parquet")).num_rows == 4
    assert pq.ParquetFile(local(files, "n/t.parquet")).metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_write_replaces_what_a_killed_writer_left(files: Files) -> None:
    first = files.write_table("n/t.parquet", TABLE)
    second = files.write_table("n/t.parquet", TABLE.slice(1))
    assert first.checksum != second.checksum
    assert files.read_table("n/t.parquet", second.checksum).num_rows == 3
    assert files.list() == ("n/t.parquet",)


def test_the_same_table_has_the_same_checksum(files: Files) -> None:
    one, two = files.write_table("1", TABLE), files.write_table("2", TABLE)
    assert one.checksum == two.checksum == checksum(encode(TABLE))


def test_a_missing_file_is_named(files: Files) -> None:
    written = files.write_table("n/t.parquet", TABLE)
    files.delete([written.path])
    assert read_error(files, written).code == "segment-missing"
    assert read_error(files, written, verify=False).code == "segment-missing"
    with pytest.raises(StateError) as refused:
        files.size(written.path)
    assert refused.value.code == "segment-missing"


def test_every_flipped_byte_is_found(files: Files) -> None:
    written = files.write_table("t.parquet", TABLE)
    place = local(files, written.path)
    whole = place.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        place.write_bytes(damaged)
        assert read_error(files, written).code == "segment-damaged"
    place.write_bytes(whole)
    assert files.read_table(written.path, written.checksum).num_rows == 4


@pytest.mark.parametrize("keep", [0, 1, 4, 100, -1])
def test_a_truncated_file_is_found_with_and_without_checksum(files: Files, keep: int) -> None:
    written = files.write_table("t.parquet", TABLE)
    place = local(files, written.path)
    place.write_bytes(place.read_bytes()[:keep])
    assert read_error(files, written).code == "segment-damaged"
    assert read_error(files, written, verify=False).code == "segment-damaged"


def test_damaged_values_are_found_without_the_checksum(files: Files) -> None:
    written = files.write_table("t.parquet", pa.table({"x": list(range(1000)) + [7**20]}))
    place = local(files, written.path)
    data = bytearray(place.read_bytes())
    data[len(data) // 3] ^= 0xFF  # inside the pages, which the footer says nothing about
    place.write_bytes(data)
    assert read_error(files, written, verify=False).code == "segment-damaged"


def test_another_file_under_the_name_is_found(files: Files) -> None:
    one, two = files.write_table("1", TABLE), files.write_table("2", TABLE.slice(1))
    local(files, "1").write_bytes(local(files, "2").read_bytes())
    assert read_error(files, one).code == "segment-damaged"
    assert files.read_table("2", two.checksum).num_rows == 3


def test_list_shows_finished_files_only(files: Files) -> None:
    for path in ("b/2.parquet", "b/1.parquet", "a/c/3.parquet", "top.parquet"):
        files.write_table(path, TABLE)
    leftover = local(files, "b") / ".4.parquet.0123.tmp"
    leftover.write_bytes(b"half")
    assert files.list() == ("a/c/3.parquet", "b/1.parquet", "b/2.parquet", "top.parquet")
    assert files.list("b") == ("b/1.parquet", "b/2.parquet")
    assert files.list("a") == ("a/c/3.parquet",)
    assert files.list("none") == ()
    assert files.remove_leftovers() == 1
    assert not leftover.exists()
    assert files.remove_leftovers() == 0
    assert len(files.list()) == 4


def test_delete_passes_over_what_is_gone(files: Files) -> None:
    for path in ("n/1", "n/2"):
        files.write_table(path, TABLE)
    files.delete(["n/1", "n/3", "other/4"])
    assert files.list() == ("n/2",)
    assert not files.exists("n/1") and files.exists("n/2") and not files.exists("n")
    files.delete(iter(["n/2"]))
    assert files.list() == ()
    files.write_table("n/5", TABLE)


ESCAPES = ["", "/etc/passwd", "..", "../x", "a/../../x", "a/..", ".", "./x", "a//b", "a/", "a\\..\\b", "c:x", "a\x00b"]
ESCAPES += ["file:/x", ".hidden", "a/.b.tmp", "s3a://bucket/x", "a\nb"]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_stays_under_the_root(files: Files, tmp_path: Path, path: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    calls = [
        lambda: files.write_table(path, TABLE),
        lambda: files.read_table(path),
        lambda: files.delete(["x", path]),
        lambda: files.exists(path),
        lambda: files.size(path),
        lambda: files.uri(path),
        lambda: files.list(path or "/"),
    ]
    for call in calls:
        with pytest.raises(StateError) as refused:
            call()
        assert refused.value.code == "path-outside-root"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["a", "a.b/c-d_e=f/000.parquet", "ä ö/🧵 1", "a b%20#?*[x]{y}"])
def test_unusual_names_are_names(files: Files, path: str) -> None:
    assert checked_path(path) == path
    written = files.write_table(path, TABLE)
    assert files.exists(path)
    assert files.list() == (path,)
    assert files.read_table(path, written.checksum).num_rows == 4
    assert local(files, path).is_file()


def test_an_empty_folder_goes_with_its_last_file(files: Files, tmp_path: Path) -> None:
    root = tmp_path / "segments"
    for path in ("a/b/1", "a/b/2", "a/3"):
        files.write_table(path, TABLE)
    files.delete(["a/b/1", "a/b/2"])
    assert sorted(path.name for path in root.rglob("*") if not path.name.startswith(".")) == ["3", "a"]
    files.delete(["a/3"])
    assert list(root.iterdir()) == []
    (root / "n").mkdir()
    (root / "n" / ".4.parquet.0123.tmp").write_bytes(b"half")
    assert files.remove_leftovers() == 1
    assert list(root.iterdir()) == []


def test_threads_write_and_delete_in_one_folder(files: Files) -> None:
    """A delete that empties the folder must not trip the writer beside it."""
    failures: list[BaseException] = []
    small = pa.table({"x": [1]})

    def work(thread: int) -> None:
        try:
            for i in range(40):
                path = f"shared/deep/{thread}-{i}"
                written = files.write_table(path, small)
                assert files.read_table(path, written.checksum).equals(small)
                files.delete([path])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert files.list() == ()
