"""Schema texts and durations: what Spark writes is read, what cannot be computed with is refused."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.algebra.windows import duration_text
from weft.errors import SqlError
from weft.sql.ddl import MAX_MICROS, parse_duration, parse_schema

ACCEPTED = [
    ("ts timestamp, saddr string, length int", "ts:timestamp saddr:string length:int"),
    ("a TINYINT,b smallInt, c BIGINT", "a:tinyint b:smallint c:bigint"),
    ("a byte, b short, c long, d integer, e real", "a:tinyint b:smallint c:bigint d:int e:float"),
    ("a float, b double, c boolean, d date", "a:float b:double c:boolean d:date"),
    ("amount decimal(10,2), b decimal, c dec(5), d numeric ( 38 , 38 )",
     "amount:decimal(10,2) b:decimal(10,0) c:decimal(5,0) d:decimal(38,38)"),
    ("`strange name` int, `a``b` int", "strange name:int a`b:int"),
    ("a int NOT NULL, b string COMMENT 'it\\'s, here'", "a:int b:string"),
    ("a: int, b:string", None),
    ("a : int, b : string", "a:int b:string"),
    ("at timestamp_ltz", "at:timestamp"),
    ("  a\n int ,\tb\tstring  ", "a:int b:string"),
]


@pytest.mark.parametrize(("ddl", "expected"), ACCEPTED)
def test_a_schema_text_is_read(ddl: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(SqlError):
            parse_schema(ddl)
        return
    assert " ".join(f"{name}:{kind}" for name, kind in parse_schema(ddl)) == expected


@pytest.mark.parametrize("kind", [
    "array<int>", "map<string,int>", "struct<a:int>", "binary", "timestamp_ntz", "interval day to second", "interval",
    "char(5)", "varchar(10)", "variant", "void", "json", "decimal(39,2)", "decimal(5,6)", "decimal(0)", "int(5)"])
def test_types_that_cannot_be_computed_with_are_refused(kind: str) -> None:
    with pytest.raises(SqlError) as refusal:
        parse_schema(f"ts timestamp, odd {kind}")
    assert refusal.value.code == "unsupported-type"
    assert refusal.value.position is not None and refusal.value.position.column == 19
    assert refusal.value.hint or "digits" in refusal.value.message


@pytest.mark.parametrize("ddl", ["", " ", "ts", "ts timestamp,", ", ts timestamp", "ts timestamp saddr string",
                                 "1a int", "a int, A string", "a int; drop table b", "a int -- b", "a int, `` int",
                                 "`a int", "a decimal(1", "a decimal(1,2,3)",
                                 "a int) select", "a\x00 int", "x" * 100_000])
def test_nonsense_is_refused(ddl: str) -> None:
    with pytest.raises(SqlError):
        parse_schema(ddl)


@pytest.mark.parametrize(("text", "expected"), [
    ("10 minutes", timedelta(minutes=10)),
    ("1 hour 30 minutes", timedelta(minutes=90)),
    ("interval 5 seconds", timedelta(seconds=5)),
    ("INTERVAL 5 SECOND", timedelta(seconds=5)),
    ("1 week", timedelta(weeks=1)),
    ("2 days 3 hours", timedelta(days=2, hours=3)),
    ("5 milliseconds", timedelta(milliseconds=5)),
    ("7 microseconds", timedelta(microseconds=7)),
    ("1.5 seconds", timedelta(seconds=1.5)),
    ("-5 minutes", timedelta(minutes=-5)),
    ("1 hour -5 minutes", timedelta(minutes=55)),
    ("  10   minutes  ", timedelta(minutes=10)),
    ("10minutes", timedelta(minutes=10)),
    ("0 seconds", timedelta(0)),
])
def test_a_duration_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "interval", "10", "minutes", "ten minutes", "10 fortnights", "1 month",
                                  "1 year 2 days", "10 minutes and 5", "1.5 minutes", "10 minutes;", "1e3 seconds",
                                  "200 years", "99999999999999999999 seconds", "36601 days", "१० minutes", "5 s",
                                  "x" * 1000])
def test_what_is_no_fixed_span_is_refused(text: str) -> None:
    with pytest.raises(SqlError) as refusal:
        parse_duration(text)
    assert refusal.value.code == "bad-duration" and refusal.value.hint


@given(st.integers(min_value=-MAX_MICROS, max_value=MAX_MICROS))
def test_what_is_printed_is_read_again(micros: int) -> None:
    span = timedelta(microseconds=micros)
    assert parse_duration(duration_text(span)) == span


@pytest.mark.parametrize("schema", ["a int" + " " * 60_000 + "x", "a" + " " * 60_000 + "1", "a int not" + " " * 60_000 + "x",
                                    "a int comment" + " " * 60_000 + "x", "a decimal(" + " " * 60_000 + "x",
                                    "a int comment '" + "x" * 60_000, "`" + "x" * 60_000, "a" * 60_000])
def test_a_long_schema_is_refused_in_one_pass(schema: str) -> None:
    """With two repetitions that share the spaces it takes minutes, with three hours."""
    start = time.process_time()
    with pytest.raises(SqlError):
        parse_schema(schema)
    assert time.process_time() - start < 2


def test_spaces_and_colons_may_stand_where_they_did() -> None:
    spaced = "  a :  int   not  null   comment 'it\\'s'  ,`b c`: decimal ( 10 , 2 ) ,c\tstring"
    assert [f"{name} {kind}" for name, kind in parse_schema(spaced)] == ["a int", "b c decimal(10,2)", "c string"]
