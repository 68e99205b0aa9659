"""The law of statistics, through the SQL that really merges them: any split, any order, any grouping of merges."""

from __future__ import annotations

import math
import statistics as reference
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import Plain
from weft.aggregates.statistics import BASICS, Statistic
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT
from weft.backend.duck import Duck
from weft.backend.merge import merge_sql
from weft.backend.render import duck_sql
from weft.segments.rows import stored_type
from weft.sql.bind import compile_expression

CATALOG = AggregateCatalog()
COLUMNS = {"i": INT, "b": BIGINT, "x": DOUBLE, "f": BOOLEAN}
CALLS = (
    "count(*)",
    "count(x)",
    "sum(i)",
    "sum(b)",
    "sum(x)",
    "avg(i)",
    "avg(x)",
    "min(x)",
    "max(i)",
    "bool_and(f)",
    "bool_or(f)",
    "var_pop(x)",
    "var_samp(x)",
    "stddev_pop(x)",
    "stddev_samp(x)",
    "stddev(i)",
    "min_by(i, x)",
    "max_by(i, x)",
)
Row = dict[str, Any]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-1000, 1000) | st.integers(-(2**31), 2**31 - 1),
            "b": st.none() | st.integers(-(2**40), 2**40),
            "x": st.none() | st.floats(-1e6, 1e6).map(lambda value: round(value, 3)),
            "f": st.none() | st.booleans(),
        }
    ),
    min_size=0,
    max_size=24,
)


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    duck = Duck()
    yield duck
    duck.close()


def decomposed(call: str) -> Plain:
    bound = compile_expression(call, COLUMNS, CATALOG)
    made = CATALOG.decompose(bound)  # type: ignore[arg-type]
    assert isinstance(made, Plain)
    return made


def lift(one: Statistic, rows: Sequence[Row]) -> Any:
    """A statistic of some rows by definition, in plain Python: what Spark's build rule stands for."""
    names = [getattr(argument, "name", None) or argument.operand.name for argument in one.arguments]  # type: ignore[union-attr]
    values = [row[names[0]] for row in rows if row[names[0]] is not None] if names else list(rows)
    match one.basic:
        case "count":
            return len(values)
        case "sum" | "wide_sum":
            return (math.fsum(values) if one.type == DOUBLE else sum(values)) if values else None
        case "squares":
            return sum(value * value for value in values) if values else None
        case "min" | "max":
            return {"min": min, "max": max}[one.basic](values) if values else None
        case "bool_and" | "bool_or":
            return {"bool_and": all, "bool_or": any}[one.basic](values) if values else None
        case "m2":
            mean = math.fsum(values) / len(values) if values else 0.0
            return math.fsum((value - mean) ** 2 for value in values) if values else None
        case "least" | "greatest":
            ordered = [
                (row[names[1]], row[names[0]] is not None, row[names[0]] or 0)
                for row in rows
                if row[names[1]] is not None
            ]
            if not ordered:
                return None
            order, present, value = {"least": min, "greatest": max}[one.basic](ordered)
            return {"o": order, "p": present, "v": value if present else None}
    raise AssertionError(one.basic)


def partial(statistics: Sequence[Statistic], parts: Sequence[Sequence[Row]]) -> pa.Table:
    """One partial row for each part."""
    arrays = []
    for one in statistics:
        values = [lift(one, part) for part in parts]
        kind = stored_type(one)
        if pa.types.is_decimal(kind):
            arrays.append(pa.array([None if value is None else Decimal(int(value)) for value in values], kind))
        else:
            arrays.append(pa.array(values, kind))
    return pa.table(arrays, names=[one.name for one in statistics])


def merge(duck: Duck, statistics: Sequence[Statistic], rows: pa.Table) -> pa.Table:
    merged = duck.run(merge_sql("part", [], statistics), {"part": rows})
    return merged.cast(rows.schema)


def close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-6)
    return bool(left == right)


def same(left: pa.Table, right: pa.Table) -> bool:
    return all(close(a, b) for a, b in zip(left.to_pylist()[0].values(), right.to_pylist()[0].values(), strict=True))


@pytest.mark.parametrize("call", CALLS)
@settings(max_examples=25)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 24), max_size=4), order=st.randoms(use_true_random=False))
def test_merging_any_split_in_any_order_is_the_whole(
    duck: Duck, call: str, rows: list[Row], cuts: list[int], order: Any
) -> None:
    statistics = decomposed(call).statistics
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]
    whole = merge(duck, statistics, partial(statistics, [rows]))
    order.shuffle(parts)
    assert same(whole, merge(duck, statistics, partial(statistics, parts)))
    # Associative: first merging some, then the rest, changes nothing.
    half = len(parts) // 2
    both = pa.concat_tables(
        [merge(duck, statistics, partial(statistics, some)) for some in (parts[:half], parts[half:])]
    )
    assert same(whole, merge(duck, statistics, both))


def result(duck: Duck, call: str, parts: Sequence[Sequence[Row]]) -> Any:
    made = decomposed(call)
    slots = {one.name: f'"{one.name}"' for one in made.statistics}
    slots |= {f"{one.name}.v": f'"{one.name}".v' for one in made.statistics}
    merged = merge(duck, made.statistics, partial(made.statistics, parts))
    return duck.run(f"SELECT {duck_sql(made.result, slots)} AS r FROM part", {"part": merged})["r"][0].as_py()


def xs(*values: float | None) -> list[Row]:
    return [{"i": None, "b": None, "x": value, "f": None} for value in values]


def test_variance_is_stable_where_the_mean_is_large_and_the_spread_small(duck: Duck) -> None:
    values = [1e9 + number * 0.001 for number in range(1000)]
    parts = [xs(*values[start : start + 10]) for start in range(0, 1000, 10)]
    assert math.isclose(result(duck, "var_samp(x)", parts), reference.variance(values), rel_tol=1e-6)
    assert math.isclose(result(duck, "stddev_pop(x)", parts), reference.pstdev(values), rel_tol=1e-6)


@pytest.mark.parametrize(
    "call,expected",
    [
        ("count(x)", 0),
        ("sum(x)", None),
        ("avg(x)", None),
        ("var_pop(x)", None),
        ("stddev(x)", None),
        ("min(x)", None),
        ("bool_and(f)", None),
    ],
)
def test_nothing_but_nulls_gives_what_spark_gives(duck: Duck, call: str, expected: Any) -> None:
    assert result(duck, call, [xs(None), xs(None, None)]) == expected


def test_one_value_has_no_sample_variance_and_no_spread(duck: Duck) -> None:
    assert result(duck, "var_samp(x)", [xs(3.5), xs(None)]) is None
    assert result(duck, "var_pop(x)", [xs(3.5), xs(None)]) == 0.0


def test_a_total_beyond_64_bits_fails_only_when_it_is_read(duck: Duck) -> None:
    rows: list[Row] = [{"i": None, "b": 2**62, "x": None, "f": None}]
    made = decomposed("sum(b)")
    merged = merge(duck, made.statistics, partial(made.statistics, [rows, rows, rows]))
    assert int(merged.column(0)[0].as_py()) == 3 * 2**62
    with pytest.raises(Exception, match=r"weft:overflow|out of range|Conversion"):
        result(duck, "sum(b)", [rows, rows, rows])


def test_every_basic_statistic_is_held_to_the_law() -> None:
    used = {one.basic for call in CALLS for one in decomposed(call).statistics}
    assert used == set(BASICS)
