"""Predicates that are looked up keep just the rows for which they are true, row by row, for every type and its corners."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.schema import FeedSchema
from weft.passes.kernel import kernel_of_process
from weft.passes.maker import pass_over
from weft.plan import match
from weft.plan.needs import Needs, analyse
from weft.plan.network import Network, build_network
from weft.plan.placement import Placement
from weft.segments.kept import MOMENT
from weft.segments.types import arrow_type
from weft.spark.render import spark_sql
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema
from weft.testing.fed import is_portable_network

DDL = "ts timestamp, i int, b bigint, d double, f float, t string, m timestamp, y date, p decimal(9,2), w decimal(30,4), x boolean"
TYPES = dict(parse_schema(DDL))
SCHEMA = FeedSchema("s", TYPES, "ts")
CATALOG = AggregateCatalog()
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ["", "a", "ab", "abc", "abd", "b", "a%", "a_c", "ä", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffa", "aZ", "a\U0010ffff"]
VALUES: dict[str, list[Any]] = {
    "i": [None, -(2**31), -2, -1, 0, 1, 2, 3, 7, 2**31 - 1],
    "b": [None, -(2**63), -5, 0, 4, 5, 6, 2**53 + 1, 2**63 - 1],
    "d": [None, -math.inf, -1.5, -0.0, 0.0, 5e-324, 0.1, 1.0, 2.5, math.inf, math.nan],
    "f": [None, -0.0, 0.5, 1.0, math.nan, math.inf],
    "t": [None, *TEXTS],
    "m": [None, *(EPOCH + timedelta(microseconds=step) for step in (-1, 0, 1, 2, 10**6))],
    "y": [None, *(date(2026, 1, 1) + timedelta(days=step) for step in range(-2, 3))],
    "p": [None, *map(Decimal, ("-9999999.99", "-0.01", "0.00", "0.01", "1.00", "1.01", "9999999.99"))],
    "w": [None, *map(Decimal, ("-1.0000", "0.0000", "12345678901234567890.1234"))],
    "x": [None, True, False],
}
Truth = Callable[[dict[str, Any]], bool | None]
Condition = tuple[str, Truth]


def key(value: Any) -> Any:
    """A value in Spark's order: NaN above all numbers, texts by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def sql(name: str, value: Any) -> str:
    """A constant, of the type of its column."""
    match_of = {"m": f"TIMESTAMP '{value}'", "y": f"DATE '{value}'"}
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS {TYPES[name]})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, Decimal):
        return f"CAST('{value}' AS {TYPES[name]})"
    if isinstance(value, bool):
        return str(value).upper()
    return match_of.get(name, f"CAST('{value}' AS {TYPES[name]})" if abs(value) >= 2**31 else str(value)) \
        if isinstance(value, int) else match_of[name]


def compared(name: str, operator: str, value: Any, *, swapped: bool = False) -> Condition:
    test: Callable[[Any, Any], bool] = {
        "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    }[operator]

    def truth(row: dict[str, Any]) -> bool | None:
        if row[name] is None or value is None:
            return None
        one, other = key(row[name]), key(value)
        return test(other, one) if swapped else test(one, other)

    text = f"{sql(name, value)} {operator} {name}" if swapped else f"{name} {operator} {sql(name, value)}"
    return text, truth


def both(one: bool | None, other: bool | None) -> bool | None:
    return False if one is False or other is False else None if one is None or other is None else True


def flipped(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def atom(random: Random) -> Condition:
    """A condition on a column."""
    name = random.choice(list(VALUES))
    kind = random.random()
    some = [value for value in random.sample(VALUES[name], min(3, len(VALUES[name]))) if value is not None or random.random() < 0.3]
    if kind < 0.1:
        wanted = random.random() < 0.5
        return f"{name} IS {'' if wanted else 'NOT '}NULL", lambda row: (row[name] is None) == wanted
    if kind < 0.25 and some and name != "x":
        tests = [compared(name, "=", value)[1] for value in some]

        def within(row: dict[str, Any]) -> bool | None:
            truths = [test(row) for test in tests]
            return True if True in truths else None if None in truths else False

        negated = random.random() < 0.4
        listed = ", ".join(sql(name, value) for value in some)
        return f"{name} {'NOT ' if negated else ''}IN ({listed})", \
            lambda row: flipped(within(row)) if negated else within(row)
    if kind < 0.35:
        prefix = random.choice(TEXTS)
        escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        ends = random.choice(["%", "", "%c"])
        test = {"%": lambda text: text.startswith(prefix), "": lambda text: text == prefix,
                "%c": lambda text: text.startswith(prefix) and text[len(prefix):].endswith("c")}[ends]
        quoted = escaped.replace("\\", "\\\\") + ends
        return f"t LIKE '{quoted}'", lambda row: None if row["t"] is None else test(row["t"])
    if kind < 0.42:
        value = random.choice(VALUES[name])
        return f"{name} <=> {sql(name, value)}", lambda row: (row[name] is None) == (value is None) and (
            value is None or key(row[name]) == key(value))
    if kind < 0.5:
        return "i < b", lambda row: None if row["i"] is None or row["b"] is None else row["i"] < row["b"]
    operator = random.choice(["=", "<>", "<", "<=", ">", ">="])
    return compared(name, operator, random.choice(VALUES[name][1:]), swapped=random.random() < 0.3)


def predicate(random: Random, depth: int = 0) -> Condition:
    """Conditions joined by AND, OR and NOT."""
    kind = random.random()
    if depth == 2 or kind < (0.2 if depth == 0 else 0.5):
        return atom(random)
    if kind < 0.6:
        text, truth = predicate(random, depth + 1)
        return f"NOT ({text})", lambda row: flipped(truth(row))
    parts = [predicate(random, depth + 1) for _ in range(random.randint(2, 4))]
    if random.random() < (0.2 if depth == 0 else 0.6):
        def any_of(row: dict[str, Any]) -> bool | None:
            answer: bool | None = True
            for _, truth in parts:
                answer = both(answer, flipped(truth(row)))
            return flipped(answer)
        return " OR ".join(f"({text})" for text, _ in parts), any_of

    def all_of(row: dict[str, Any]) -> bool | None:
        answer: bool | None = True
        for _, truth in parts:
            answer = both(answer, truth(row))
        return answer
    return " AND ".join(f"({text})" for text, _ in parts), all_of


def needs(where: str) -> Needs:
    text = f"SELECT count(*) AS n FROM s WHERE {where} GROUP BY window(ts, '1 hour')"
    return analyse(compile_query(text, {"s": SCHEMA}, CATALOG), CATALOG, Placement(matches=True))


def rows_of(random: Random, count: int) -> list[dict[str, Any]]:
    return [{name: random.choice(values) for name, values in VALUES.items()} for _ in range(count)]


def counted(network: Network, rows: list[dict[str, Any]]) -> dict[int, int]:
    """How many rows each match keeps, by its number."""
    work = pass_over(network)
    columns = {name: pa.array([row[name] for row in rows], arrow_type(TYPES[name])) for name in VALUES}
    asked = {alias: columns[name] for alias, name in work.plain.items()}
    passed = kernel_of_process(1).run(work, pa.table({MOMENT: pa.array([0] * len(rows), pa.int64()), **asked}))
    (node,) = network.base
    counts: Counter[int] = Counter()
    for part in passed.partials[node.id]:
        for row in part.to_pylist():
            counts[row[str(node.matches)]] += row[node.statistics[0].name]
    return dict(counts)


@pytest.mark.parametrize("seed", range(30))
def test_a_row_is_kept_just_where_the_predicate_is_true(seed: int) -> None:
    random = Random(f"looked up {seed}")
    conditions = [predicate(random) for _ in range(60)]
    rows, known, queries, expected = rows_of(random, 200), {}, {}, dict[int, int]()
    for place, (text, truth) in enumerate(conditions):
        asked = needs(text)
        # What no column is in, as a NULL among parts, is for the groups to answer.
        whole = asked.match is not None and asked.match.where == asked.where
        if asked.match is not None and whole and is_portable_network(build_network("s", {"q": asked})):
            queries[f"q{place}"] = asked
            known[asked.match.number] = text
            kept = sum(truth(row) is True for row in rows)
            expected |= {asked.match.number: kept} if kept else {}
    network = build_network("s", queries)
    assert pass_over(network).lookup is not None
    found = counted(network, rows)
    wrong = [known[number] for number in known if found.get(number, 0) != expected.get(number, 0)]
    assert not wrong, f"seed {seed}: {wrong[:3]}"
    with patch.object(match, "LEAST_LOOKED_UP", 1_000):
        assert pass_over(network).lookup is None
        assert counted(network, rows) == found, "listed predicates keep the same rows"


def test_a_guarded_predicate_stays_whole() -> None:
    """Its parts guard each other: taken apart, a row with a zero would fail."""
    queries = {f"q{place}": needs(f"i = {place}") for place in range(8)}
    queries["guarded"] = needs("i <> 0 AND b / i > 1")
    network = build_network("s", queries)
    work = pass_over(network)
    assert work.lookup is not None and len(work.lookup.operands) == 1 and len(work.lines) == 3, "with a counter's"
    rows = [{**dict.fromkeys(VALUES), "i": value, "b": 6} for value in (0, 1, 2, 6)]
    guarded = queries["guarded"].match
    assert guarded is not None and counted(network, rows)[guarded.number] == 2


def test_what_nothing_meets_is_not_looked_for() -> None:
    never, some = needs("i = 1 AND i = 2"), [needs(f"i = {place} AND d > 0") for place in range(5)]
    work = pass_over(build_network("s", {str(place): each for place, each in enumerate([never, *some])}))
    assert work.lookup is not None and work.lookup.predicates.count == len(some)


def test_a_long_list_of_values_is_a_predicate_and_meets_a_row_once() -> None:
    values = [f"h{place}" for place in range(3_000)]
    lists = {f"q{place}": needs(f"t IN ({', '.join(repr(value) for value in values[place::7])})") for place in range(7)}
    rows = [{**dict.fromkeys(VALUES), "t": value} for value in [*values, "other"] * 2]
    found = counted(build_network("s", lists), rows)
    assert sorted(found.values()) == sorted(2 * len(values[place::7]) for place in range(7))


def test_what_is_no_range_is_evaluated_once_however_many_predicates_have_it() -> None:
    """So is what only Spark computes: it is a column that Spark is asked for, and not one for each constant."""
    shared = {f"q{place}": needs(f"i = {place} AND t LIKE '%b%' AND upper(t) > 'A{place}'") for place in range(50)}
    work = pass_over(build_network("s", shared), spark_sql)
    assert work.lookup is not None and work.lookup.predicates.count == 50
    assert sorted(len(operand.constants) for operand in work.lookup.operands) == [1, 50, 50]
    assert len(work.asked) - len(work.plain) == 1
