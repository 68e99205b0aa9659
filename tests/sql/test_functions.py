"""The table of functions holds together, and every function of the list is there."""

from __future__ import annotations

import pytest

from weft.algebra.expressions import Aggregate, Call, Column, Literal, Slot, WindowPart
from weft.algebra.functions import (
    ALL,
    FORBIDDEN,
    FUNCTIONS,
    NONDETERMINISTIC,
    OPERATORS,
    PORTABLE,
    function_named,
    is_portable,
)
from weft.algebra.safety import TOTAL
from weft.algebra.types import BIGINT, INT, STRING, decimal
from weft.errors import SqlError
from weft.sql.bind import compile_expression

COLUMNS = {"i": INT, "b": BIGINT, "s": STRING, "m": decimal(10, 2)}
PROMISED = """
    abs ceil floor round sign sqrt cbrt exp ln log10 log2 pow pmod greatest least coalesce if nullif nvl ifnull isnan
    nanvl hash xxhash64 md5 sha1 sha2 crc32 upper lower trim ltrim rtrim length char_length concat concat_ws substring
    substr left right replace translate lpad rpad reverse repeat instr locate position startswith endswith contains
    split_part regexp_extract regexp_replace ascii initcap year quarter month day dayofmonth dayofweek dayofyear
    weekofyear hour minute second date_trunc trunc to_date date_add date_sub datediff unix_timestamp unix_micros
    unix_millis unix_seconds timestamp_seconds timestamp_millis timestamp_micros last_day make_date date_format
    shiftleft shiftright try_divide try_add try_subtract try_multiply
""".split()


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_function_is_there_in_any_case(name: str) -> None:
    assert function_named(name) is function_named(name.upper()) is FUNCTIONS[name]


def test_names_are_one_function_each() -> None:
    names = [name for function in ALL for name in (function.name, *function.aliases)]
    assert len(names) == len(set(names)) == len(FUNCTIONS)
    assert all(name == name.lower() for name in names)
    assert not (NONDETERMINISTIC | FORBIDDEN) & set(names)


def test_the_lists_name_functions_that_exist() -> None:
    canonical = {function.name for function in ALL}
    assert PORTABLE <= canonical
    # The last is called by no query: what selects rows is made with it.
    assert TOTAL - {"try_cast", "negative_zero"} <= canonical
    assert OPERATORS <= canonical


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_are_not_called_by_their_inner_names(name: str) -> None:
    with pytest.raises(SqlError):
        function_named(name)


@pytest.mark.parametrize(("sql", "expected"), [
    ("i + 1", True),
    ("CASE WHEN i > 1 THEN round(m, 1) ELSE 0 END", True),
    ("CAST(i AS STRING)", True),
    ("CAST(m AS DOUBLE) / sqrt(i)", True),
    ("CAST(i > 1 AS INT)", True),
    ("nullif(i, 0) IS NULL", True),
    ("greatest(i, b) IN (1, 2)", True),
    ("upper(s)", False),
    ("s LIKE 'a'", False),
    ("CAST(s AS INT)", False),
    ("CAST(CAST(m AS DOUBLE) AS STRING)", False),
    ("try_divide(i, b)", False),
    ("i + length(s)", False),
    ("pmod(i, 3)", False),
])
def test_what_the_reading_engine_may_compute(sql: str, expected: bool) -> None:
    assert is_portable(compile_expression(sql, COLUMNS, None)) is expected


def test_leaves_are_portable() -> None:
    for leaf in (Column("s", STRING), Slot("x", STRING), Literal("a", STRING), WindowPart("window"),
                 Aggregate("count", (), BIGINT)):
        assert is_portable(leaf)
    assert is_portable(Call("+", (Aggregate("count", (), BIGINT), Slot("n", BIGINT)), BIGINT))
