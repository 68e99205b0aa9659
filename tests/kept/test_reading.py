"""engine.rows(): kept rows by span, columns and condition, in parts, from any process, without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.kept.rows import SQL, add, at, row
from weft import Engine
from weft.errors import EngineError, SqlError, StateError, StreamError, WeftError
from weft.passes import row_reader
from weft.segments import row_files
from weft.segments.files import LocalFiles
from weft.segments.row_files import FAN_OUT
from weft.store import tend
from weft.testing import feed


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "state") as engine:
        yield engine


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """Rows of a hundred seconds, in files of ten rows."""
    add(engine, "forever")
    for first in range(0, 100, 10):
        feed(engine, "s", [row(second, "abc"[second % 3], second) for second in range(first, first + 10)])
    return engine


def values(engine: Engine, **how: Any) -> list[int]:
    return sorted(engine.rows("s", columns=["v"], **how).table()["v"].to_pylist())


def test_all_rows_are_read(filled: Engine) -> None:
    assert values(filled) == list(range(100))
    assert filled.rows("s").table().column_names == ["ts", "k", "v"]
    assert len(filled.state_of("s").kept.files) > 1


def test_since_is_inside_and_until_is_not(filled: Engine) -> None:
    assert values(filled, since=at(20), until=at(30)) == list(range(20, 30))
    assert values(filled, since="2026-01-01T00:01:35") == [95, 96, 97, 98, 99]
    assert values(filled, since=at(200)) == []


def test_a_condition_is_weft_s_own_sql(filled: Engine) -> None:
    assert values(filled, where="k = 'a' AND v BETWEEN 10 AND 20") == [12, 15, 18]
    assert values(filled, where="v > 97 OR ts < timestamp '2026-01-01 00:00:02'") == [0, 1, 98, 99]
    assert values(filled, where="upper(k) LIKE 'B%' AND v < 9", since=at(3)) == [4, 7]


def test_columns_come_in_the_order_that_was_asked_for(filled: Engine) -> None:
    table = filled.rows("s", columns=["V", "k", "weft_tick"], where="v = 42").table()
    assert table.to_pylist() == [{"v": 42, "k": "a", "weft_tick": 4}]


def test_parts_are_bounded(engine: Engine) -> None:
    add(engine, "forever")
    with patch.object(row_files, "GROUP_ROWS", 100), patch.object(row_reader, "PIECE_ROWS", 250):
        feed(engine, "s", [row(second, "a", second) for second in range(1000)])
        parts = list(engine.rows("s", columns=["v"]))
        assert [part.num_rows for part in parts] == [200] * 5
        assert [value for part in parts for value in part["v"].to_pylist()] == list(range(1000))


def test_row_groups_that_are_not_needed_are_not_read(engine: Engine) -> None:
    add(engine, "forever")
    with patch.object(row_files, "GROUP_ROWS", 100):
        feed(engine, "s", [row(second, "a", second) for second in range(1000)])
    pieces = list(row_reader.pieces_of(engine.files, engine.state_of("s").kept.files, row_reader.RowSpan()))
    assert sum(len(piece.groups) for piece in pieces) == 10
    read: list[int] = []
    real = row_reader.read_piece

    def noted(files: Any, piece: Any, *rest: Any) -> Any:
        read.append(len(piece.groups))
        return real(files, piece, *rest)

    with patch("weft.rows.read_piece", noted):
        assert values(engine, since=at(310), until=at(320)) == list(range(310, 320))
    assert read == [1]


@pytest.mark.parametrize(
    "how, code",
    [
        ({"columns": ["nothing"]}, "unknown-column"),
        ({"columns": []}, "unknown-column"),
        ({"where": "nothing > 1"}, "unknown-column"),
        ({"where": "v + 1"}, "wrong-type"),
        ({"where": "v >"}, "syntax-error"),
        ({"where": "count(*) > 1"}, "unknown-function"),
        ({"since": "soon"}, "bad-moment"),
    ],
)
def test_what_makes_no_sense_is_refused(filled: Engine, how: dict[str, Any], code: str) -> None:
    with pytest.raises(WeftError) as refused:
        filled.rows("s", **how)
    assert refused.value.code == code


def test_nothing_kept_says_how_to_keep(engine: Engine) -> None:
    add(engine)
    with pytest.raises(StreamError) as refused:
        engine.rows("s")
    assert refused.value.code == "rows-not-retained" and "retain=" in refused.value.hint
    add(engine, "never")
    with pytest.raises(StreamError) as refused:
        engine.rows("s")
    assert "never" in refused.value.message


def test_a_span_that_is_not_kept_whole_is_refused(engine: Engine) -> None:
    add(engine)
    feed(engine, "s", [row(50)])
    add(engine, "1 hour")
    assert engine.rows("s").table().num_rows == 0, "nothing came since"
    feed(engine, "s", [row(40, v=40), row(60, v=60)])
    assert values(engine) == [60]
    with pytest.raises(EngineError) as refused:
        engine.rows("s", since=at(45))
    assert refused.value.code == "not-held" and "2026-01-01T00:00:50.000001" in refused.value.hint


def test_a_condition_that_fails_says_so(filled: Engine) -> None:
    with pytest.raises(EngineError) as refused:
        filled.rows("s", where="100 / v > 3").table()
    assert refused.value.code == "result-failed"
    assert values(filled, where="100 / nullif(v, 0) > 30") == [1, 2, 3]


def test_reading_goes_on_while_files_are_merged(filled: Engine) -> None:
    """The files that a reading began with stay for a lease, whatever ticks do meanwhile."""
    parts = iter(filled.rows("s", columns=["v"]))
    seen = next(parts)["v"].to_pylist()
    for second in range(100, 100 + 2 * FAN_OUT):
        feed(filled, "s", [row(second)])
    seen += [value for part in parts for value in part["v"].to_pylist()]
    assert sorted(seen) == list(range(100))


def test_reading_for_longer_than_a_lease_says_so(filled: Engine) -> None:
    parts = iter(filled.rows("s"))
    next(parts)
    with patch.object(tend, "LEASE", timedelta(0)):
        for second in range(100, 100 + 2 * FAN_OUT):
            feed(filled, "s", [row(second)])
    with pytest.raises(StateError) as refused:
        list(parts)
    assert refused.value.code == "rows-moved"
    assert filled.rows("s").table().num_rows == 100 + 2 * FAN_OUT


def test_damage_is_never_read_as_rows(filled: Engine) -> None:
    (file, *_) = filled.state_of("s").kept.files
    assert isinstance(filled.files, LocalFiles)
    path = Path(filled.files.uri(file.path))
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(StateError) as refused:
        filled.rows("s").table()
    assert refused.value.code == "segment-damaged"
    # Files that are not asked for are no matter.
    other = filled.state_of("s").kept.files[-1]
    assert other.time_from > file.time_to
    assert filled.rows("s", since=at(95)).table().num_rows == 5


def test_a_damaged_file_stops_the_tick_that_would_merge_it(filled: Engine) -> None:
    feed(filled, "s", [row(100)])
    file = filled.state_of("s").kept.files[-1]
    assert isinstance(filled.files, LocalFiles)
    path = Path(filled.files.uri(file.path))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StateError) as refused:
        for second in range(101, 101 + FAN_OUT):
            feed(filled, "s", [row(second)])
    assert refused.value.code == "segment-damaged"


def test_a_file_that_is_lost_is_told_as_lost(filled: Engine) -> None:
    (file, *_) = filled.state_of("s").kept.files
    filled.files.delete([file.path])
    with pytest.raises(StateError) as refused:
        filled.rows("s").table()
    assert refused.value.code == "segment-missing"


def test_a_process_that_only_reads_needs_no_spark(filled: Engine, tmp_path: Path) -> None:
    script = """
import sys, weft
with weft.Engine(sys.argv[1]) as engine:
    table = engine.rows("s", where="k = 'a' and v < 10").table()
assert "pyspark" not in sys.modules, "Spark was loaded"
print(table["v"].to_pylist())
"""
    said = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "state")], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[0, 3, 6, 9]"


def test_metrics_and_explain_say_what_is_kept(filled: Engine) -> None:
    feed(filled, "s", [row(100)])
    numbers = filled.metrics()["streams"]["s"]["kept"]
    kept = filled.state_of("s").kept
    assert (numbers["retain"], numbers["rows"], numbers["files"]) == ("forever", 101, len(kept.files))
    assert numbers["bytes"] == kept.bytes > 0 and numbers["since"] is None
    assert numbers["until"] == max(file.time_to for file in kept.files)
    filled.register(SQL, name="q")
    assert f"keeps rows forever: 101 rows, {kept.bytes:,} bytes" in filled.explain()


def test_metrics_of_a_stream_that_keeps_nothing(engine: Engine) -> None:
    add(engine)
    numbers = engine.metrics()["streams"]["s"]["kept"]
    assert numbers == {"retain": None, "rows": 0, "bytes": 0, "files": 0, "since": None, "until": None}
    assert "keeps" not in engine.explain()
    add(engine, "never")
    assert "retain='never' forbids" in engine.explain()


def test_a_condition_in_words_that_weft_does_not_know_is_refused(filled: Engine) -> None:
    with pytest.raises(SqlError):
        filled.rows("s", where="exists (select 1 from s)")
