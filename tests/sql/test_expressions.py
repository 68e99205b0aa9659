"""compile_expression: parts of user-defined aggregates, over columns of their own."""

from __future__ import annotations

import pytest

from tests.sql.fakes import FakeAggregates
from weft.algebra.expressions import text
from weft.algebra.types import BIGINT, DOUBLE, STRING
from weft.errors import SqlError
from weft.sql.bind import compile_expression

COLUMNS = {"x": DOUBLE, "n": BIGINT, "(x + n)": STRING, "null": STRING}


@pytest.mark.parametrize(("sql", "expected"), [
    ("sum(x * x)", "sum((x * x))"),
    ("sum(x) / nullif(count(*), 0)",
     "(sum(x) / cast(case when (count(*) = bigint '0') then null else count(*) end as double))"),
    ("count_if(x > 1)", "count(*) filter ((double '1.0' < x))"),
    ("any_value(x) IGNORE NULLS", "any_value(x, true)"),
    ("first(x, TRUE)", "first(x, true)"),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY n)", "percentile(cast(n as double), decimal(1,1) '0.5')"),
    ("`(x + n)`", "`(x + n)`"),
    ("`null`", "`null`"),
    ("'it''s' || '\\u0041'", "concat('it\\'s', 'A')"),
    ("'a' 'b'", "'ab'"),
    ("r'a\\n'", "'a\\\\n'"),
    ("''''", "'\\''"),
    ('"a""b"', "'a\"b'"),
    ("'a\\tb\\%c'", "'a\tb\\\\%c'"),
])
def test_an_expression_is_read(sql: str, expected: str) -> None:
    assert text(compile_expression(sql, COLUMNS, FakeAggregates())) == expected


@pytest.mark.parametrize(("sql", "code"), [
    ("", "syntax-error"),
    ("x +", "syntax-error"),
    ("x, n", "syntax-error"),
    ("x AS y", "unsupported-clause"),
    ("x FROM packets", "syntax-error"),
    ("x; n", "several-statements"),
    ("y", "unknown-column"),
    ("window", "unknown-column"),
    ("window(x, '1 hour')", "bad-window"),
    ("(SELECT 1)", "unsupported-clause"),
    ("*", "unsupported-clause"),
    ("sum(sum(x))", "nested-aggregate"),
])
def test_what_is_no_expression_is_refused(sql: str, code: str) -> None:
    with pytest.raises(SqlError) as refusal:
        compile_expression(sql, COLUMNS, FakeAggregates())
    assert refusal.value.code == code


def test_aggregates_are_allowed_only_when_given() -> None:
    with pytest.raises(SqlError) as refusal:
        compile_expression("sum(x)", COLUMNS, None)
    assert refusal.value.code == "unknown-function"
