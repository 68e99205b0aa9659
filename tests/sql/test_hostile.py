"""Hostile texts: refused quickly and by code, whatever they hold; nothing but a refusal ever comes out."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sql.fakes import STREAMS, FakeAggregates
from weft.aggregates.catalog import AggregateCatalog
from weft.errors import SqlError
from weft.sql.bind import compile_expression, compile_query
from weft.sql.guard import MAX_DEPTH, MAX_IN_LIST, MAX_TOKENS
from weft.sql.texts import MAX_BYTES

# Refusals take milliseconds; the allowance is for a machine that is busy with other things.
PATIENCE = 3.0


def refusal(sql: str) -> SqlError:
    """The refusal of a text, which must come, and soon."""
    start = time.process_time()
    with pytest.raises(SqlError) as found:
        compile_query(sql, STREAMS, FakeAggregates())
    assert time.process_time() - start < PATIENCE
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", found.value.code)
    assert "Traceback" not in str(found.value) and len(str(found.value)) < 1000
    return found.value


def where(condition: str) -> str:
    return f"SELECT count(*) FROM packets WHERE {condition}"


def nested(opening: str, inner: str, closing: str) -> Callable[[int], str]:
    return lambda depth: where(opening * depth + inner + closing * depth)


NESTINGS: dict[str, Callable[[int], str]] = {
    "parentheses": nested("(", "length > 1", ")"),
    "functions": nested("abs(", "length", ")"),
    "functions of two": nested("coalesce(1, ", "length", ")"),
    "unknown functions": nested("f(", "length", ")"),
    "casts": nested("CAST(", "length", " AS INT)"),
    "case then": nested("CASE WHEN settled THEN ", "1", " END"),
    "case when": nested("CASE WHEN ", "1", " THEN 1 END"),
    "case of": nested("CASE ", "1", " WHEN 1 THEN 1 END"),
    "case hidden by window.end": nested("CASE WHEN window.end > ", "ts", " THEN 1 END"),
    "not": nested("NOT ", "TRUE", ""),
    "not in parentheses": nested("NOT (", "TRUE", ")"),
    "bang": nested("!", "TRUE", ""),
    "minus": nested("- ", "length", ""),
    "minus in parentheses": nested("-(", "length", ")"),
    "tilde": nested("~ ", "length", ""),
    "in": nested("1 IN (", "1", ")"),
    "filter": nested("sum(length) FILTER (WHERE ", "TRUE", ")"),
    "extract": nested("EXTRACT(YEAR FROM ", "ts", ")"),
    "position": nested("POSITION('a' IN ", "saddr", ")"),
    "interval": nested("INTERVAL ", "1", ""),
    "brackets": nested("saddr[", "1", "]"),
    "braces": nested("{", "x", "}"),
    "types": lambda depth: where(f"CAST(saddr AS {'ARRAY<' * depth}INT{'>' * depth}) = 1"),
    "type functions": nested("timestamp(", "ts", ")"),
    "decimal functions": nested("decimal(", "1", ")"),
    "struct functions": nested("struct(", "1", ")"),
    "subqueries": lambda depth: where("(SELECT " * depth + "1" + ")" * depth),
    "from": lambda depth: f"SELECT count(*) FROM {'(' * depth}packets{')' * depth}",
    "joins": lambda depth: f"SELECT count(*) FROM packets {'JOIN trades ' * depth}{'ON TRUE ' * depth}",
    "joins in select": lambda depth: f"SELECT {'a JOIN CASE WHEN ' * depth}1 FROM packets",
    "limit inside": nested("f(a LIMIT ", "1", ")"),
    "lambdas": lambda depth: where(f"f({'x -> ' * depth}1)"),
    "methods": lambda depth: where("saddr" + ".f()" * depth + " = 1"),
    "windows": nested("window(", "ts", ")"),
    "over": nested("sum(length) OVER (PARTITION BY ", "1", ")"),
    "comments": lambda depth: where("/*" * depth + "*/" * depth + "length > 1 -- (" + "(" * depth + "\n AND ("),
    "open parentheses": lambda depth: where("(" * depth),
    "closed parentheses": lambda depth: where("length > 1" + ")" * depth),
    "unions": lambda depth: "SELECT count(*) FROM packets" + " UNION SELECT 1" * depth,
    "group by": lambda depth: f"SELECT count(*) FROM packets GROUP BY {'(' * depth}saddr{')' * depth}",
    "order by": lambda depth: f"SELECT count(*) AS n FROM packets ORDER BY {'(' * depth}n{')' * depth}",
    "begin": lambda depth: "BEGIN SHOW " * depth,
}


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100, 3000, 100_000])
@pytest.mark.parametrize("text", NESTINGS.values(), ids=NESTINGS)
def test_deep_nesting_is_refused(text: Callable[[int], str], depth: int) -> None:
    refusal(text(depth))


CHAINS: dict[str, Callable[[int], str]] = {
    "plus": lambda length: where("length" + " + 1" * length + " > 1"),
    "concat": lambda length: where("saddr" + " || 'x'" * length + " = 'y'"),
    "equals": lambda length: where("TRUE" + " = TRUE" * length),
    "casts": lambda length: where("length" + "::int" * length + " = 1"),
    "and of nothing": lambda length: where("AND " * length),
    "between": lambda length: where("1 BETWEEN 1 AND " * length + "1"),
    "dots": lambda length: where("a" + ".a" * length + " = 1"),
    "strings": lambda length: where("saddr = " + "'a' " * length + "OR"),
    "commas": lambda length: f"SELECT {'1, ' * length}",
    "selected columns": lambda length: "SELECT " + ", ".join(f"sum(length + {n}) AS c{n}" for n in range(length))
                                       + " FROM packets",
    "in list": lambda length: where(f"length IN ({', '.join(map(str, range(length)))})"),
    "case branches": lambda length: where(f"CASE {'WHEN TRUE THEN 1 ' * length} END = 1"),
    "or": lambda length: where(" OR ".join(f"length = {n} AND port = {n}" for n in range(length))),
}


@pytest.mark.parametrize("length", [2_500, 50_000])
@pytest.mark.parametrize("text", CHAINS.values(), ids=CHAINS)
def test_long_chains_are_refused(text: Callable[[int], str], length: int) -> None:
    refusal(text(length))


def test_what_is_just_within_the_limits_is_accepted() -> None:
    deep = where(f"{'(' * MAX_DEPTH}length > 1{')' * MAX_DEPTH}")
    wide = where(" AND ".join(f"length <> {n}" for n in range(900)))
    listed = where(f"length IN ({', '.join(map(str, range(MAX_IN_LIST)))})")
    summed = where("length" + " + 1" * 80 + " > 1")
    for sql in (deep, wide, listed, summed):
        compile_query(sql, STREAMS, FakeAggregates())


def test_depth_does_not_depend_on_how_deep_the_caller_is() -> None:
    """A server calls from dozens of frames down; the costliest allowed nesting must still fit Python's limit."""
    costliest = where("NOT abs(CASE WHEN TRUE THEN " * (MAX_DEPTH // 3) + "1" + " END)" * (MAX_DEPTH // 3))

    def down(frames: int) -> None:
        if frames:
            down(frames - 1)
        else:
            with pytest.raises(SqlError) as found:
                compile_query(costliest, STREAMS, FakeAggregates())
            assert found.value.code == "wrong-type"
    down(150)


def test_a_recursion_error_is_a_refusal() -> None:
    """Even with hardly any stack left, nothing but a refusal comes out."""
    codes: list[str] = []

    def down(frames: int) -> None:
        if frames:
            return down(frames - 1)
        try:
            compile_query(where("((((((((((length > 1))))))))))"), STREAMS, FakeAggregates())
            codes.append("accepted")
        except SqlError as error:
            codes.append(error.code)

    def run() -> None:
        for frames in range(500, sys.getrecursionlimit() - 60, 20):
            down(frames)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "accepted" in codes and "too-deep" in codes and set(codes) <= {"accepted", "too-deep"}


@pytest.mark.parametrize(("sql", "code"), [
    ("x" * (MAX_BYTES + 1), "too-large"),
    (where("saddr = '" + "x" * MAX_BYTES + "'"), "too-large"),
    (where("saddr = '" + "ä" * (MAX_BYTES // 2) + "'"), "too-large"),
    (" " * 10_000_000, "too-large"),
    ("(" * 100_000, "too-large"),
    ("1 " * (MAX_TOKENS + 1), "too-large"),
    (where("saddr = '\x00'"), "syntax-error"),
    ("SELECT\x00count(*) FROM packets", "syntax-error"),
    (where("saddr = '\ud800'"), "syntax-error"),
    ("\ufeffSELECT count(*) FROM packets", "not-a-select"),
    ("SELECT count(*) FROM packets WHERE ѕaddr = 'x'", "unknown-column"),
    ("SELECT count(*) FROM рackets", "unknown-stream"),
    (where("length＝5"), "unknown-column"),
    (where("length > ١"), "unknown-column"),
    (where("length > 1" + "0" * 5000), "wrong-type"),
    (where("length > 1e" + "9" * 5000), "syntax-error"),
    (where("length > 0x" + "F" * 5000), "unsupported-clause"),
    (where("saddr = '" + "\\" * 60_001), "syntax-error"),
    (where("`" + "a" * 60_000 + "` = 1"), "unknown-column"),
    (f"SELECT count(*) AS `{'a' * 60_000}` FROM packets", "duplicate-name"),
    ("SELECT count(*) FROM packets GROUP BY window(ts, '1000000 days', '1 microsecond')", "bad-duration"),
    ("SELECT count(*) FROM packets GROUP BY window(ts, '36500 days', '1 microsecond')", "bad-window"),
    ("SELECT count(*) FROM packets GROUP BY " + "9" * 5000, "unknown-column"),
    ("SELECT count(*) FROM packets LIMIT " + "9" * 5000, "wrong-type"),
    (where("repeat('a', 1000000000) = saddr"), "wrong-type"),
    (where("repeat(repeat(repeat('a', 1000), 1000), 1000) = saddr"), "too-large"),
    (where("concat(" + ", ".join(["repeat(saddr, 1000)"] * 20) + ") = saddr"), "too-large"),
    (where("saddr RLIKE '(a+)+$'"), "bad-pattern"),
    (where("saddr RLIKE '" + "(" * 30_000 + "'"), "bad-pattern"),
    (where("saddr RLIKE '" + "(" * 400 + ")" * 400 + "'"), "bad-pattern"),
    (where("saddr LIKE '" + "%a" * 400 + "'"), "bad-pattern"),
    (where("sequence(1, 1000000000) = saddr"), "unknown-function"),
    *((where(f"CAST(length AS DECIMAL({digits})) = 1"), "unsupported-type") for digits in (
        "²", "5,²", "5, 2²", "5,2,1", "9" * 5000)),
    (where("length::decimal(²) = 1"), "unsupported-type"),
    (where("saddr RLIKE 'a{٣}'"), "bad-pattern"),
    (where("regexp_replace(saddr, '(a)', '$٣') = 'x'"), "bad-pattern"),
    ("SELECT count(*) FROM packets GROUP BY ²", "unknown-column"),
    ("SELECT count(*) FROM packets LIMIT ²", "wrong-type"),
    ("SELECT count(*) FROM packets CROSS JOIN packets CROSS JOIN packets", "unsupported-clause"),
])
def test_a_single_hostile_text(sql: str, code: str) -> None:
    assert refusal(sql).code == code


@pytest.mark.parametrize("share", ["DATE '2026-01-01'", "TIMESTAMP '2026-01-01 00:00:00'", "TRUE", "'a'", "NULL", "1.5",
                                   "-1", "CAST('NaN' AS DOUBLE)", "length"])
def test_a_share_that_is_no_number_from_0_to_1_is_refused(share: str) -> None:
    with pytest.raises(SqlError) as found:
        compile_query(f"SELECT percentile(length, {share}) FROM packets", STREAMS, AggregateCatalog())
    assert found.value.code == "wrong-arguments"


PAYLOADS = """
java_method('java.lang.System', 'getProperty', 'user.dir')
reflect('java.lang.System', 'getenv', 'HOME')
try_reflect('java.lang.Runtime', 'exit', 1)
`java_method`('java.lang.System', 'exit', 1)
JAVA_METHOD ( 'java.lang.System' , 'exit' , 1 )
java_method/**/('a', 'b')
system.java_method('a', 'b')
(SELECT max(length) FROM packets)
(SELECT value FROM text.`/etc/passwd`)
(FROM packets)
EXISTS (SELECT 1 FROM text.`/etc/passwd`)
TRANSFORM (saddr) USING 'cat /etc/passwd' AS (x)
1; DROP TABLE packets
1; ADD JAR '/tmp/x.jar'
1; SET spark.sql.runSQLOnFiles = true
1 UNION SELECT * FROM text.`/etc/passwd`
1 FROM text.`/etc/passwd`
1) FROM packets; DROP TABLE packets --
read_files('/etc/passwd')
from_json('{}', 'a int')
input_file_name()
current_user()
version()
spark_partition_id()
assert_true(FALSE)
raise_error('x')
rand()
uuid()
now()
monotonically_increasing_id()
:name
?
${env:HOME}
${spark.app.name}
{name}
{{ name }}
{% raw %}
@name
$name
x -> x
filter(array(1), x -> x > 0)
aggregate(array(1), 0, (a, b) -> a + b)
explode(array(1))
posexplode(saddr)
inline(saddr)
stack(2, 1, 2)
IDENTIFIER('saddr')
session_window(ts, '5 minutes')
python_udf(saddr)
http_get('http://169.254.169.254/')
ai_query('model', saddr)
aes_encrypt(saddr, 'key')
to_json(saddr)
named_struct('a', 1)
saddr.*
*
sum(length) OVER ()
X'CAFE'
0xCAFE
CAST(saddr AS BINARY)
CAST(saddr AS MAP<STRING, INT>)
CAST(saddr AS java.lang.Object)
saddr COLLATE UNICODE
saddr::xml
length ?: 1
length ?? 1
length |> 1
length #> 'a'
length ~~ 'a'
length ~* 'a'
length @> 1
saddr -> '$.a'
saddr:a.b
ARRAY[1, 2]
MAP['a']
[1, 2]
ROW(1, 2)
VALUES (1)
TABLE packets
LATERAL packets
UNNEST(saddr)
GROUPING(saddr)
MATCH(saddr) AGAINST ('a')
DECODE(saddr, 'utf-8')
CONVERT(saddr USING utf8)
PREDICT(MODEL m, saddr)
NEXT VALUE FOR s
KILL 1
\u2028SELECT
saddr\\
`saddr
'saddr
"saddr
""".strip().split("\n")
PLACES = {
    "select": "SELECT {} AS x, count(*) FROM packets",
    "where": "SELECT count(*) FROM packets WHERE {} = 'x'",
    "argument": "SELECT sum({}) FROM packets",
    "function": "SELECT count(*) FROM packets WHERE upper({}) = 'x'",
    "group": "SELECT count(*) FROM packets GROUP BY {}",
    "having": "SELECT count(*) FROM packets HAVING {} = count(*)",
    "order": "SELECT count(*) FROM packets ORDER BY {}",
    "filter": "SELECT count(*) FILTER (WHERE {} = 'x') FROM packets",
    "from": "SELECT count(*) FROM {}",
    "window": "SELECT count(*) FROM packets GROUP BY window(ts, {})",
    "limit": "SELECT count(*) FROM packets LIMIT {}",
}


@pytest.mark.parametrize("place", PLACES)
def test_no_payload_gets_through_anywhere(place: str) -> None:
    for payload in PAYLOADS:
        refusal(PLACES[place].replace("{}", payload))


WORDS = """SELECT FROM packets WHERE GROUP BY HAVING ORDER BY LIMIT window ( ) ( ) , . * + - / % = < > AND OR NOT IN
BETWEEN LIKE IS NULL TRUE CASE WHEN THEN ELSE END CAST AS INT DECIMAL TIMESTAMP DATE STRUCT INTERVAL DISTINCT FILTER
OVER ts saddr length proto 5 1.5 'x' '1 hour' sum( count(*) max( upper( coalesce( if( || :: & ~ ! `a` UNION JOIN ON ALL
VALUES EXTRACT( ROLLUP DESC NULLS FIRST WITH 1L 1e3 current_date ; -- /* */""".split()


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=30))
@example(["1", "AND"])
def test_any_soup_of_words_is_a_query_or_a_refusal(words: list[str]) -> None:
    for sql in (" ".join(words), "SELECT " + " ".join(words), where(" ".join(words))):
        try:
            compile_query(sql, STREAMS, FakeAggregates())
        except SqlError as error:
            assert str(error)


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_any_text_is_a_query_or_a_refusal(text: str) -> None:
    for compiled in (lambda: compile_query(text, STREAMS, FakeAggregates()),
                     lambda: compile_query(where(text), STREAMS, FakeAggregates()),
                     lambda: compile_expression(text, {"x": STREAMS["packets"].columns["length"]}, None)):
        try:
            compiled()
        except SqlError as error:
            assert str(error)
