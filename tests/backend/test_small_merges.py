"""Few rows are merged by Arrow exactly as DuckDB merges them, and what Arrow would answer otherwise is left to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from weft.aggregates.statistics import ROW_COUNT, Statistic, statistic
from weft.algebra.expressions import Column
from weft.algebra.types import BIGINT, DOUBLE, INT, STRING, DataType, decimal
from weft.backend import driver, small_merges
from weft.backend.driver import DriverBackend
from weft.backend.duck import Duck
from weft.backend.interface import BackendError, Merge, Rows, Selection, Source
from weft.backend.keys import Aligned, Constant, Either, Greatest, Key, Same
from weft.plan.dimensions import Dimension
from weft.segments.cache import TableCache
from weft.segments.files import LocalFiles
from weft.segments.rows import LATE, LEVEL, ON_TIME, START, row_schema

TEXT, NUMBER, MONEY, BROKEN = (Column(*pair) for pair in (("k", STRING), ("g", INT), ("m", decimal(9, 2)), ("f", DOUBLE)))
VALUE, WIDE, TRUTH = Column("v", INT), Column("w", BIGINT), Column("b", DataType("boolean"))
STATISTICS = (
    ROW_COUNT, statistic("count", VALUE), statistic("sum", VALUE), statistic("min", VALUE), statistic("max", VALUE),
    statistic("wide_sum", WIDE), statistic("squares", VALUE), statistic("sum", MONEY), statistic("sum", BROKEN),
    statistic("bool_and", TRUTH), statistic("bool_or", TRUTH), statistic("min", BROKEN), statistic("max", BROKEN),
)
DIMENSIONS = tuple(map(Dimension, (TEXT, NUMBER, MONEY, Column("h", DOUBLE))))
SLICES = (Same(START), Same(LATE), Either(START, -5, -1, 0, LEVEL))
BLOCKS = (Aligned(START, 7), Same(LATE), Constant(2, LEVEL, tiny=True))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverBackend]:
    files, duck = LocalFiles(tmp_path_factory.mktemp("files")), Duck()
    yield DriverBackend(duck, TableCache(files), files)
    duck.close()


def value_of(kind: pa.DataType, random: Random) -> Any:
    if random.random() < 0.3:
        return None
    if pa.types.is_decimal(kind):
        return Decimal(random.randint(-3, 3)) / (1 if kind.scale == 0 else 4)
    if pa.types.is_boolean(kind):
        return random.random() < 0.5
    if pa.types.is_floating(kind):
        return random.choice([float("inf"), float("-inf"), 5e-324, *map(float, range(-3, 4))])
    return random.choice(["", "a", "ü"]) if pa.types.is_string(kind) else random.randint(-3, 3)


def table_of(dimensions: tuple[Dimension, ...], statistics: tuple[Statistic, ...], seed: int) -> pa.Table:
    random, schema = Random(seed), row_schema(dimensions, statistics)
    lines = [
        {name: value_of(schema.field(name).type, random) for name in schema.names}
        | {START: random.randint(-20, 20), LATE: random.choice([ON_TIME, 3]), LEVEL: 0}
        for _ in range(random.choice([0, 1, 8, 200]))
    ]
    return pa.Table.from_pylist(lines, schema)


def merge_of(rows: Rows, dimensions: tuple[Dimension, ...], statistics: tuple[Statistic, ...], keys: tuple[Key, ...],
             beside: tuple[Key, ...] = ()) -> Merge:  # fmt: skip
    schema = row_schema(dimensions, statistics)
    selection = Selection((Source((rows,), span=(-15, 15)),), tuple(schema.names), schema)
    named = tuple(Same(dimension.name) for dimension in dimensions)
    return Merge(selection, (*keys, *named), statistics, beside, schema=schema)


def merged_twice(backend: DriverBackend, merge: Merge, monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, Any]]]:
    """The rows as they are merged now, and as DuckDB merges them."""
    told, schema = [], merge.schema
    assert schema is not None
    for few in (small_merges.FEW_ROWS, -1):
        monkeypatch.setattr(small_merges, "FEW_ROWS", few)
        rows = backend.merge(merge)
        selection = Selection((Source((rows,)),), tuple(schema.names), schema)
        table = backend.answer("SELECT * FROM {part0}", [[selection]], schema)
        told.append(sorted(table.to_pylist(), key=repr))
    return told


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("keys", [SLICES, BLOCKS], ids=["slices", "blocks"])
def test_slices_and_blocks(
    backend: DriverBackend, monkeypatch: pytest.MonkeyPatch, seed: int, keys: tuple[Key, ...]
) -> None:
    rows = backend.hold(table_of(DIMENSIONS, STATISTICS, seed))
    merge = merge_of(rows, DIMENSIONS, STATISTICS, keys)
    with monkeypatch.context() as without:
        without.setattr(DriverBackend, "_run", refused)
        backend.merge(merge)
    by_arrow, by_duckdb = merged_twice(backend, merge, monkeypatch)
    assert repr(by_arrow) == repr(by_duckdb)


def refused(*_: Any) -> None:
    raise AssertionError("a statement of DuckDB")


def test_totals_keep_the_last_tick_that_changed_a_group(backend: DriverBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = backend.hold(table_of(DIMENSIONS[:2], STATISTICS, 0))
    beside = (Greatest(START), Constant(ON_TIME, LATE), Constant(0, LEVEL, tiny=True))
    by_arrow, by_duckdb = merged_twice(backend, merge_of(rows, DIMENSIONS[:2], STATISTICS, (), beside), monkeypatch)
    assert repr(by_arrow) == repr(by_duckdb) and by_arrow


FLOAT = Dimension(BROKEN)
OTHERWISE: dict[str, tuple[tuple[Dimension, ...], tuple[Statistic, ...], str, list[Any]]] = {
    "zeros and NaN are groups": ((FLOAT,), (ROW_COUNT,), FLOAT.name, [0.0, -0.0, float("nan"), float("nan")]),
    "an extreme of floats": ((), (statistic("max", BROKEN),), statistic("max", BROKEN).name, [1.0, float("nan")]),
    "two zeros are a group": ((FLOAT,), (ROW_COUNT,), FLOAT.name, [0.0, -0.0, 1.0]),
    "two zeros have an order": ((), (statistic("min", BROKEN),), statistic("min", BROKEN).name, [0.0, -0.0]),
    "an extreme of texts": ((), (statistic("min", TEXT),), statistic("min", TEXT).name, ["b", "a"]),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_what_engines_see_differently_is_left_to_duckdb(
    backend: DriverBackend, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    dimensions, statistics, name, values = OTHERWISE[what]
    schema = row_schema(dimensions, statistics)
    lines = [{**{other: 1 for other in schema.names}, START: 0, LATE: 0, LEVEL: 0, name: value} for value in values]
    rows = backend.hold(pa.Table.from_pylist(lines, schema))
    assert small_merges.merge_few(driver._table(rows), merge_of(rows, dimensions, statistics, SLICES)) is None
    by_arrow, by_duckdb = merged_twice(backend, merge_of(rows, dimensions, statistics, SLICES), monkeypatch)
    assert repr(by_arrow) == repr(by_duckdb)


@pytest.mark.parametrize(("chosen", "value"), [(statistic("sum", VALUE), 2**62), (ROW_COUNT, 2**62)])
def test_a_sum_that_overflows_is_an_error(backend: DriverBackend, chosen: Statistic, value: int) -> None:
    lines = [{START: 0, LATE: 0, LEVEL: 0, chosen.name: value} for _ in range(2)]
    rows = backend.hold(pa.Table.from_pylist(lines, row_schema((), (chosen,))))
    with pytest.raises(BackendError):
        backend.merge(merge_of(rows, (), (chosen,), SLICES))
