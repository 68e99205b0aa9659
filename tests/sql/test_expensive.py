"""Texts that would cost a machine: each is refused in milliseconds, by size before it is parsed or by what it asks for."""

from __future__ import annotations

import statistics
import time

import pytest

from tests.sql.fakes import STREAMS, FakeAggregates
from weft.errors import SqlError
from weft.sql.bind import compile_query

# The promise is 100 ms; the factor is for a machine that does other things.
PATIENCE = 0.1 * 5


def where(condition: str) -> str:
    return f"SELECT count(*) FROM packets WHERE {condition}"


def windows(arguments: str) -> str:
    return f"SELECT count(*) FROM packets GROUP BY window(ts, {arguments})"


EXPENSIVE = {
    "100,000 parentheses": where("(" * 100_000 + "TRUE" + ")" * 100_000),
    "10,000 parentheses": where("(" * 10_000 + "TRUE" + ")" * 10_000),
    "100,000 NOT": where("NOT " * 100_000 + "TRUE"),
    "20,000 minus": where("- " * 20_000 + "length > 1"),
    "10,000 CASE": where("CASE WHEN TRUE THEN " * 10_000 + "1" + " END" * 10_000),
    "10,000 functions": where("abs(" * 10_000 + "length" + ")" * 10_000),
    "1 MB of a sum": where("length" + " + 1" * 250_000 + " > 1"),
    "1 MB of a string": where("saddr = '" + "x" * 1_000_000 + "'"),
    "1 MB of a name": where("`" + "x" * 1_000_000 + "` = 1"),
    "1 MB of a comment": where("/*" + "x" * 1_000_000 + "*/ TRUE"),
    "1 MB of spaces": where(" " * 1_000_000 + "TRUE"),
    "60 KB of a sum": where("length" + " + 1" * 15_000 + " > 1"),
    "10,000 values in IN": where(f"length IN ({', '.join(map(str, range(10_000)))})"),
    "1,001 values in IN": where(f"length IN ({', '.join(map(str, range(1_001)))})"),
    "10,000 columns": "SELECT " + ", ".join(f"sum(length) AS c{n}" for n in range(10_000)) + " FROM packets",
    "1,000,000 commas": "SELECT " + "," * 1_000_000,
    "slow regex": where("saddr RLIKE '(a+)+$'"),
    "slow regex of classes": where("saddr RLIKE '([a-z]*)*x'"),
    "slow regex of alternatives": where("saddr RLIKE '(a|aa)+$'"),
    "slow regex of counts": where("saddr RLIKE '(x{1,99}){1,99}y'"),
    "slow regex of options": where("saddr RLIKE '" + "x?" * 200 + "x" * 200 + "'"),
    "slow regex of a power": where("saddr RLIKE 'x*x*x*x*x*x*y'"),
    "slow regexp": where("saddr REGEXP '(.*)(.*)(.*)(.*)x'"),
    "slow regexp_extract": where("regexp_extract(saddr, '((a+)+)$', 1) = 'x'"),
    "slow regexp_replace": where("regexp_replace(saddr, '(a*)*$', '') = 'x'"),
    "slow regex that stays in place": where("saddr RLIKE '(?=(?=(?=a){9999}){9999}){9999}'"),
    "regex from a row": where("saddr RLIKE daddr"),
    "LIKE of 1,000 wildcards": where("saddr LIKE '" + "%a" * 1_000 + "'"),
    "LIKE from a row": where("saddr LIKE daddr"),
    "repeat a billion times": where("repeat('a', 1000000000) = saddr"),
    "repeat from a row": where("repeat(saddr, length) = saddr"),
    "repeat in repeat": where("repeat(repeat(repeat(saddr, 1000), 1000), 1000) = 'x'"),
    "lpad a billion": where("lpad(saddr, 1000000000, 'x') = saddr"),
    "replace that grows": where("replace(replace(saddr, 'a', '" + "a" * 500 + "'), 'a', '" + "a" * 500 + "') = 'x'"),
    "concat_ws of a long separator": where(
        f"concat_ws(concat_ws(saddr, {'0, ' * 200}0), {'0, ' * 200}0) = 'x'"),
    "concat_ws of a constant separator": where(f"concat_ws('{'x' * 30_000}', {'saddr, ' * 200}saddr) = 'x'"),
    "regexp_replace of nothing": where("regexp_replace(" * 14 + "saddr" + ", '', 'a')" * 14 + " = 'x'"),
    "regexp_replace of nothing by much": where(
        f"regexp_replace(regexp_replace(saddr, 'x*', '{'a' * 200}'), 'x*', '{'a' * 200}') = 'x'"),
    "regexp_replace by what it looks at": where("regexp_replace(saddr, '(?=(.*+))', '$1$1$1$1') = 'x'"),
    "regexp_replace by what it looks behind for": where("regexp_replace(saddr, '(?<=(a{900}))b', '$1$1') = 'x'"),
    "regexp_replace by group 10": where(f"regexp_replace(saddr, '{'(a)' * 9}(?=(.*+))', '$10') = 'x'"),
    "repeat of a long constant": where(f"repeat(repeat('{'x' * 60_000}', 100), 100) = saddr"),
    "repeat of one long constant": where(f"repeat(upper('{'x' * 60_000}'), 100) = saddr"),
    "repeat of a case": where(f"repeat(CASE WHEN length > 1 THEN '{'x' * 60_000}' ELSE saddr END, 100) = saddr"),
    "lpad of many": where(f"repeat(concat({'lpad(saddr, 1000), ' * 9}saddr), 1000) = saddr"),
    "sequence": where("sequence(1, 1000000000) = saddr"),
    "explode": "SELECT explode(sequence(1, 1000000000)), count(*) FROM packets",
    "array_repeat": where("array_repeat('a', 1000000000) = saddr"),
    "cross join": "SELECT count(*) FROM packets CROSS JOIN packets AS b CROSS JOIN packets AS c",
    "comma join": "SELECT count(*) FROM packets, packets AS b, packets AS c",
    "cube": "SELECT count(*) FROM packets GROUP BY CUBE (saddr, daddr, proto, port, length)",
    "recursive": "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT count(*) FROM t",
    "10,000 unions": "SELECT count(*) FROM packets" + " UNION ALL SELECT count(*) FROM packets" * 10_000,
    "collect_list": "SELECT collect_list(saddr) FROM packets",
    "windows of a year by the millisecond": windows("'365 days', '1 millisecond'"),
    "windows of an hour by the microsecond": windows("'1 hour', '1 microsecond'"),
    "windows of a million years": windows("'365000000 days', '1 second'"),
    "a window of 10,000 digits": windows(f"'{'9' * 10_000} seconds'"),
    "a number of 60,000 digits": where("length > " + "9" * 60_000),
    "an exponent of 60,000 digits": where("length > 1e" + "9" * 60_000),
    "decimal digits": where("CAST(length AS DECIMAL(38, 99999999999)) = 1"),
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_an_expensive_text_is_refused_at_once(name: str) -> None:
    took = []
    for _ in range(3):
        start = time.process_time()
        with pytest.raises(SqlError) as refused:
            compile_query(EXPENSIVE[name], STREAMS, FakeAggregates())
        took.append(time.process_time() - start)
        assert len(str(refused.value)) < 1000
    assert statistics.median(took) < PATIENCE


USUAL = [
    "lpad(saddr, 15, '0') = rpad(daddr, 15)",
    "concat_ws('.', saddr, daddr, upper(saddr), 'x') = 'x'",
    "repeat('ab', 1000) = saddr",
    "regexp_replace(" * 6 + "saddr" + r", '[0-9]+', '#')" * 6 + " = 'x'",
    r"regexp_replace(regexp_replace(saddr, '([0-9]+)[.]([0-9]+)', '$1-$2'), '^.*@', '<user>@') = 'x'",
    "regexp_replace(saddr, '([0-9]{1,3})(?=([0-9]{3})$)', '$1,') = 'x'",
    "replace(replace(replace(saddr, '.', '::'), 'a', 'alpha'), 'b', 'beta') = 'x'",
    "md5(concat(saddr, '|', daddr, '|', string(length))) LIKE '0%'",
    f"saddr = '{'x' * 60_000}'",
]


@pytest.mark.parametrize("condition", USUAL)
def test_usual_strings_are_allowed(condition: str) -> None:
    compile_query(where(condition), STREAMS, FakeAggregates())


def test_there_are_enough_of_them() -> None:
    assert len(EXPENSIVE) >= 40
