"""What people are told is spelled as they would write it, and written so it means the same."""

from __future__ import annotations

import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal
from weft.sql.bind import compile_expression
from weft.sql.spelling import spelled

COLUMNS: dict[str, DataType] = {"i": INT, "j": INT, "b": BIGINT, "x": DOUBLE, "y": DOUBLE, "m": decimal(10, 2), "s": STRING, "p": BOOLEAN,
                                "q": BOOLEAN, "day": DATE, "ts": TIMESTAMP, "a b": INT}
# As it is written, and as it is told where that is another spelling.
SPELLINGS = {
    "x > 30": "", "30 < x": "x > 30", "x <= 30.5": "", "i >= 5": "", "NOT i < 5": "i >= 5", "x > 1e300": "x > 1e+300",
    "b = 5": "", "i <> 5": "", "i != 5": "i <> 5", "m < 5.25": "", "m < 5": "", "i < j": "", "x < i": "", "i = b": "b = i",
    "s = 'it\\'s'": "", "s LIKE 'a%'": "", "s NOT LIKE 'a%'": "", "s RLIKE 'a+'": "", "s IN ('a', 'b')": "", "i NOT IN (1, 2)": "",
    "s IS NULL": "", "NOT s IS NULL": "s IS NOT NULL", "i <=> j": "", "NOT (i <=> j)": "i IS DISTINCT FROM j",
    "p AND q": "", "NOT p": "", "NOT (p AND q)": "NOT p OR NOT q", "(p OR q) AND i > 1": "i > 1 AND (p OR q)", "p AND q OR i > 1": "i > 1 OR p AND q",
    "ts >= TIMESTAMP '2026-01-31 12:00:00'": "", "day = DATE '2026-01-31'": "", "year(ts) = 2026": "", "hour(day) = 5": "",
    "EXTRACT(SECOND FROM ts) > 1.5": "", "x = double('NaN')": "",
    "i + j * 2 > 4": "j * 2 + i > 4", "(i + j) * 2 > 4": "", "i - (j - 1)": "", "i - j - 1": "", "i / j": "", "x * i": "i * x", "-(i + j)": "", "i & 7 = 3": "", "~i": "",
    "CAST(i AS DOUBLE) * 2": "", "CAST(s AS INT)": "", "TRY_CAST(s AS DECIMAL(5,2))": "", "sqrt(i)": "", "upper(s)": "", "`a b` + 1": "",
    "CASE WHEN i > 1 THEN 'a' ELSE 'b' END": "", "CASE WHEN i > 1 THEN x END": "", "coalesce(s, 'none')": "",
    "sum(i)": "", "count(*)": "", "count(DISTINCT s, i)": "", "sum(x) FILTER (WHERE i > 5)": "", "avg(m) / count(*) > 2": "",
}


@pytest.mark.parametrize("written", SPELLINGS)
def test_an_expression_is_spelled_as_people_write_it(written: str) -> None:
    catalog = AggregateCatalog()
    bound = compile_expression(written, COLUMNS, catalog)
    told = spelled(bound)
    assert told == (SPELLINGS[written] or written)
    assert compile_expression(told, COLUMNS, catalog) == bound
