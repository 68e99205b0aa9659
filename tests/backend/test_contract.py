"""What every backend must do with the same specifications; the driver's is the first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.expressions import Column
from weft.algebra.types import BIGINT
from weft.backend import kinds
from weft.backend.driver import DriverBackend
from weft.backend.duck import Duck
from weft.backend.interface import Backend, BackendError, Cells, Kinds, Merge, Rows, Selection, Source, Windows
from weft.backend.kinds import FEW_ROWS
from weft.plan.dimensions import Dimension
from weft.segments.cache import TableCache
from weft.segments.files import LocalFiles
from weft.segments.rows import END, LATE, LEVEL, ON_TIME, START, row_schema
from weft.segments.segment import SegmentRow

KEY = Dimension(Column("k", BIGINT))
SCHEMA = row_schema((KEY,), (ROW_COUNT,))
NAMES = tuple(SCHEMA.names)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    files, duck = LocalFiles(tmp_path), Duck()
    yield DriverBackend(duck, TableCache(files), files)
    duck.close()


def fresh(backend: Backend, *rows: tuple[int, int, int], late: int = ON_TIME) -> Rows:
    """Partial rows of (start, key, rows of the stream)."""
    lines = [{START: start, LATE: late, LEVEL: 0, KEY.name: key, ROW_COUNT.name: count} for start, key, count in rows]
    return backend.hold(pa.Table.from_pylist(lines, schema=SCHEMA))


def stored(backend: Backend, path: str, *rows: tuple[int, int, int]) -> SegmentRow:
    written = backend.write(path, fresh(backend, *rows))
    return SegmentRow(
        node="n", layout="l", path=path, kind="tick", rank=0, batch_from=0, batch_to=0, time_from=0, time_to=0,
        rows=written.rows, bytes=written.bytes, checksum=written.checksum,
    )


def merged(selection: Selection, **given: Any) -> Merge:
    beside = ((f"max({START})", START), (f"CAST({ON_TIME} AS BIGINT)", LATE), ("CAST(0 AS TINYINT)", LEVEL))
    return Merge(selection, ((KEY.name, KEY.name),), (ROW_COUNT,), beside, schema=SCHEMA, **given)


def seen(backend: Backend, rows: Rows) -> list[tuple[int, ...]]:
    selection = Selection((Source((rows,)),), NAMES, SCHEMA)
    table = backend.answer("SELECT * FROM {part0}", [[selection]], SCHEMA)
    return sorted((row[START], row[KEY.name], row[ROW_COUNT.name]) for row in table.to_pylist())


def test_stored_and_fresh_rows_merge_each_under_its_condition(backend: Backend) -> None:
    file = stored(backend, "a.parquet", (0, 1, 1), (10, 1, 2), (10, 2, 4))
    sources = (
        Source((file,), f"{KEY.name} = 1"),
        Source((fresh(backend, (20, 1, 8), (30, 1, 16), (40, 1, 32)),), span=(20, 40)),
    )
    rows = backend.merge(merged(Selection(sources, NAMES, SCHEMA)))
    assert seen(backend, rows) == [(30, 1, 27)]
    assert (rows.count, rows.least, rows.greatest) == (1, 30, 30)


def test_no_rows_merge_to_none(backend: Backend) -> None:
    rows = backend.merge(merged(Selection((Source(()),), NAMES, SCHEMA)))
    assert (rows.count, rows.least, rows.greatest) == (0, None, None)


@pytest.mark.parametrize("few", [FEW_ROWS, 0])
def test_kinds_are_counted_alike_however_few_the_rows(backend: Backend, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(kinds, "FEW_ROWS", few)
    table = pa.table(
        {
            "k": ["a", "a", None, "b", None], "v": [1.5, 1.5, 1.5, 2.5, 1.5],
            "t": [True, None, True, False, True], ROW_COUNT.name: [1, 2, 3, 4, 6],
        }
    )
    rows = backend.hold(table)
    assert backend.kinds(rows, ["k", "v"], ["t"]) == Kinds({"k": 3, "v": 2}, {"t": 10 / 16}, 4)
    assert backend.kinds(rows, ["k"], []) == Kinds({"k": 3}, {}, 3)
    assert backend.kinds(rows, [], ["t"]) == Kinds({}, {"t": 10 / 16}, 3)
    nothing = table.set_column(0, "k", pa.nulls(5)).set_column(2, "t", pa.nulls(5, pa.bool_()))
    assert backend.kinds(backend.hold(nothing), ["k"], ["t"]) == Kinds({"k": 1}, {"t": 0}, 1)


def test_cells_fall_to_wider_ones_before_they_are_merged(backend: Backend) -> None:
    selection = Selection((Source((fresh(backend, (0, 3, 1), (0, 5, 2), (0, 9, 4)),)),), NAMES, SCHEMA)
    rows = backend.merge(merged(selection, cells=(Cells(KEY.name, BIGINT, (3, 9)),)))
    assert seen(backend, rows) == [(0, 3, 3), (0, 9, 4)]


def test_rows_come_once_for_every_window_that_was_open_for_them(backend: Backend) -> None:
    rows = (fresh(backend, (0, 1, 1), (10, 1, 2)), fresh(backend, (0, 2, 4), late=15))
    selection = Selection((Source(rows),), (START, LATE, KEY.name), SCHEMA, windows=Windows(10, 30, 20, 10))
    (windows,) = backend.measure(selection, [f"list_sort(list(({END}, {KEY.name})))"])
    assert [tuple(one.values()) for one in windows] == [(10, 1), (20, 1), (20, 1), (20, 2), (30, 1)]


def test_late_rows_are_marked_counted_and_left_out_by_their_starts(backend: Backend) -> None:
    rows = backend.mark(fresh(backend, (0, 1, 1), (10, 1, 2), (10, 2, 4)), frozenset({10}), 99)
    assert backend.starts(rows) == {0, 10} and backend.count(rows) == 7
    assert backend.measure(Selection((Source((rows,), f"{LATE} = 99"),), NAMES), ["count(*)"]) == (2,)
    assert seen(backend, backend.without(rows, frozenset({10}))) == [(0, 1, 1)]


def test_a_column_of_several_values_gives_a_row_for_each(backend: Backend) -> None:
    window = f"unnest(CASE WHEN {START} IN (0) THEN ['a', 'b'] END)"
    source = Source((fresh(backend, (0, 1, 1), (10, 1, 2)),), beside=((window, "window"),))
    assert backend.measure(Selection((source,), (ROW_COUNT.name,)), ['string_agg("window", \'\')']) == ("ab",)


def test_files_are_gathered_in_order(backend: Backend) -> None:
    files = (stored(backend, "a.parquet", (20, 1, 1)), stored(backend, "b.parquet", (10, 2, 2)))
    rows = backend.filter(Selection((Source(files),), NAMES, SCHEMA), order=(START,))
    selection = Selection((Source((rows,)),), NAMES, SCHEMA)
    assert backend.answer("SELECT * FROM {part0}", [[selection]], SCHEMA)[START].to_pylist() == [10, 20]
    assert backend.stored(files[0]).greatest == 20


def test_what_cannot_be_computed_is_a_backend_error(backend: Backend) -> None:
    selection = Selection((Source((fresh(backend, (0, 1, 1)),)),), NAMES)
    with pytest.raises(BackendError, match="[Oo]verflow|out of range"):
        backend.measure(selection, [f"CAST({2**62} AS BIGINT) * 4 + max({START})"])
