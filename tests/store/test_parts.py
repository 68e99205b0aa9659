"""Small tables of a tick share a file: each is read, verified and let go by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

import weft
import weft.testing
from tests.store.test_files import TABLE, local
from weft.errors import StateError
from weft.segments.files import Files, LocalFiles, Written
from weft.segments.part_reader import PartReader
from weft.segments.segment import SegmentRow
from weft.store import change, sparse, tend
from weft.store.catalog import Catalog

TABLES = (TABLE, TABLE.slice(0, 0), TABLE.slice(1, 2), TABLE.select(["saddr"]), pa.concat_tables([TABLE] * 9))
CHUNK = 512
PATH = "s/parts/7-0123.arrows"


def segment_of(written: Written) -> SegmentRow:
    return SegmentRow(
        node="n", layout="l", path=written.path, kind="tick", rank=0, batch_from=0, batch_to=0, time_from=0, time_to=0,
        rows=written.rows, bytes=written.bytes, checksum=written.checksum, byte_from=written.byte_from,
    )


def test_parts_come_back_as_they_were_written(files: Files) -> None:
    segments = [segment_of(part) for part in files.write_parts(PATH, TABLES)]
    assert files.list() == (PATH,)
    assert [segment.rows for segment in segments] == [table.num_rows for table in TABLES]
    assert sum(segment.bytes for segment in segments) == files.size(PATH)
    reader = PartReader(files)
    for segment, table in zip(segments, TABLES, strict=True):
        back = reader.read(segment)
        assert back.schema == table.schema
        assert repr(back.to_pylist()) == repr(table.to_pylist())  # NaN is not equal to itself


def test_a_file_is_read_whole_with_its_second_part_and_then_no_more(files: Files) -> None:
    segments = [segment_of(part) for part in files.write_parts(PATH, TABLES)]
    reader, reads = PartReader(files), list[int | None]()
    usual = type(files).read_bytes

    def noted(self: Files, path: str, byte_from: int = 0, length: int | None = None) -> bytes:
        reads.append(length)
        return usual(self, path, byte_from, length)

    with patch.object(type(files), "read_bytes", noted):
        for segment in segments:
            reader.read(segment)
    assert reads == [segments[0].bytes, None]


def test_a_damaged_part_is_an_error_for_its_readers_only(files: Files) -> None:
    segments = [segment_of(part) for part in files.write_parts(PATH, TABLES)]
    place = local(files, PATH)
    whole = place.read_bytes()
    for spoilt in segments:
        data = bytearray(whole)
        spot = spoilt.byte_from + spoilt.bytes // 2
        data[spot] ^= 0x10
        place.write_bytes(data)
        reader = PartReader(files)
        for segment in segments:
            if segment is spoilt:
                with pytest.raises(StateError) as refused:
                    reader.read(segment)
                assert refused.value.code == "segment-damaged" and PATH in refused.value.message
            elif isinstance(files, LocalFiles) or spot // CHUNK not in chunks_of(segment):
                assert reader.read(segment).num_rows == segment.rows
        place.write_bytes(whole)
        assert reader.read(spoilt).num_rows == spoilt.rows, "once restored, it is read again"


def chunks_of(segment: SegmentRow) -> range:
    """What Hadoop reads and verifies together on a local disk, by its own checksums."""
    return range(segment.byte_from // CHUNK, (segment.byte_from + segment.bytes - 1) // CHUNK + 1)


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_parts_behind_the_end_of_a_truncated_file_are_damaged(files: Files, keep: int) -> None:
    segments = [segment_of(part) for part in files.write_parts(PATH, TABLES)]
    place = local(files, PATH)
    place.write_bytes(place.read_bytes()[:keep])
    for _ in range(2):
        with pytest.raises(StateError) as refused:
            PartReader(files).read(segments[-1])
        assert refused.value.code == "segment-damaged"
    files.delete([PATH])
    with pytest.raises(StateError) as refused:
        PartReader(files).read(segments[0])
    assert refused.value.code == "segment-missing"


def test_a_file_becomes_garbage_with_its_last_segment(catalog: Catalog, segment: Callable[..., SegmentRow]) -> None:
    with catalog.write() as writer:
        parts = writer.add_segments([segment(PATH, byte_from=start) for start in (0, 100, 200)])
        assert writer.segments() == parts
    ids = [part.id for part in parts if part.id is not None]
    for gone, garbage in ((ids[:1], ()), (ids[1:], (PATH,))):
        with catalog.write() as writer:
            assert writer.remove_segments(gone) == garbage
            assert writer.garbage() == garbage


def test_two_segments_are_not_in_the_same_place(catalog: Catalog, segment: Callable[..., SegmentRow]) -> None:
    with catalog.write() as writer:
        writer.add_segments([segment(PATH, byte_from=100)])
    with pytest.raises(StateError) as refused, catalog.write() as writer:
        writer.add_segments([segment(PATH, byte_from=0), segment(PATH, byte_from=100)])
    assert refused.value.code == "catalog-conflict"


COLUMNS = 12
QUERIES = {f"q{i}": f"SELECT c{i}, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), c{i}" for i in range(COLUMNS)}


def fed_engine(folder: Path) -> weft.Engine:
    engine = weft.testing.engine(folder, sharing="nothing")
    columns = ", ".join(f"c{i} int" for i in range(COLUMNS))
    weft.testing.add_stream(engine, "s", schema=f"ts timestamp, {columns}", event_time="ts")
    engine.register_all(QUERIES)
    return engine


def feed(engine: weft.Engine, tick: int, rows: int = 3) -> None:
    values = [{f"c{i}": row for i in range(COLUMNS)} for row in range(rows)]
    weft.testing.feed(engine, "s", [{"ts": f"2026-01-01T00:{tick:02}:01", **row} for row in values])


def files_of(engine: weft.Engine) -> list[str]:
    with engine.catalog.read() as reader:
        named = {row.path for row in reader.segments()} | set(reader.garbage())
    assert named == set(engine.files.list())
    return sorted(named)


def test_a_tick_of_many_small_nodes_writes_one_file(tmp_path: Path) -> None:
    with fed_engine(tmp_path / "state") as engine:
        for tick in range(3):
            feed(engine, tick)
            assert len(engine.state_of("s").synopses) == COLUMNS
            assert len(files_of(engine)) == tick + 1 == engine.metrics()["streams"]["s"]["state_files"]
        answers = {name: engine.query(name).results().to_pylist() for name in QUERIES}
        assert all([row["n"] for row in rows] == [1] * 6 for rows in answers.values())
    with fed_engine(tmp_path / "state") as engine:
        assert {name: engine.query(name).results().to_pylist() for name in QUERIES} == answers


def test_a_large_table_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fed_engine(tmp_path / "state") as engine:
        feed(engine, 0, rows=3)
        monkeypatch.setattr(change, "SMALL_BYTES", 1000)
        feed(engine, 1, rows=1000)
        parquet = [path for path in files_of(engine) if path.endswith(".parquet")]
        assert len(parquet) == COLUMNS and len(files_of(engine)) == COLUMNS + 1
        feed(engine, 2)
        assert all(engine.query(name).results().num_rows == 1003 for name in QUERIES)


def test_files_of_parts_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "FILE_BYTES", 500)
    with fed_engine(tmp_path / "state") as engine:
        feed(engine, 0)
        assert 1 < len(files_of(engine)) < COLUMNS


def test_a_node_that_is_sealed_late_does_not_keep_the_files_of_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left in a file moves to a newer file, so that the old one can go."""
    monkeypatch.setattr(tend, "LEASE", timedelta(0))
    with fed_engine(tmp_path / "state") as engine:
        engine.register("SELECT c0, c1, count(*) AS n FROM s GROUP BY window(ts, '1 hour'), c0, c1", name="long")
        for tick in range(40):
            feed(engine, tick)
        numbers = engine.metrics()["streams"]["s"]
        assert len(files_of(engine)) == numbers["state_files"] < 20, "a file of every tick would be 40 and more"
        assert sum(map(engine.files.size, files_of(engine))) <= sparse.SPARSE * numbers["state_bytes"]
        feed(engine, 59)
        weft.testing.feed(engine, "s", [{"ts": "2026-01-01T01:00:00"}])
        assert {row["n"] for row in engine.query("long").results().to_pylist()} == {41}
        assert all(sum(engine.query(name).results()["n"].to_pylist()) == 3 * 41 for name in QUERIES)


def test_a_damaged_part_that_would_move_keeps_no_tick_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is sealed, which would read it.
    monkeypatch.setattr("weft.store.seal.PATIENCE", 100)
    with fed_engine(tmp_path / "state") as engine:
        engine.register("SELECT c0, c1, count(*) AS n FROM s GROUP BY window(ts, '1 hour'), c0, c1", name="long")
        for tick in range(6):
            feed(engine, tick)
        part = engine.state_of("s").synopses[node_of(engine, "long")].files[-1]
        assert part.kind == "tick"
    place = tmp_path / "state" / "segments" / part.path
    data = bytearray(place.read_bytes())
    data[part.byte_from + part.bytes // 2] ^= 1
    place.write_bytes(data)
    with fed_engine(tmp_path / "state") as engine:
        for tick in range(6, 16):
            feed(engine, tick)
        assert all(engine.query(name).results().num_rows == 3 * 15 for name in QUERIES)
        assert part in engine.state_of("s").synopses[node_of(engine, "long")].files


def node_of(engine: weft.Engine, query: str) -> str:
    (part,) = engine.registered(query).needs.parts
    return part.node
