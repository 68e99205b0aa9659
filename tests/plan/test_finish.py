"""Queries as data: those of one shape form a family, the others are views on a finished node."""

from __future__ import annotations

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import StreamSchema
from weft.plan.finish import MIN_FAMILY, lift, plan_finishing
from weft.plan.needs import Needs, analyse
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

STREAM = StreamSchema("p", dict(parse_schema("ts timestamp, saddr string, port int, length int, d double")), "ts")


def needs(where: str = "", window: str = "'10 seconds'", select: str = "count(*) AS n", group: str = "") -> Needs:
    condition = f"WHERE {where}" if where else ""
    sql = f"SELECT {select} FROM p {condition} GROUP BY window(ts, {window})" + (f", {group}" if group else "")
    return analyse(compile_query(sql, {"p": STREAM}, AggregateCatalog()), AggregateCatalog())


def test_constants_are_lifted_out_of_a_predicate() -> None:
    one, other = needs("saddr = 'a' AND length > 5"), needs("saddr = 'b' AND length > 7")
    (shape, constants), (same, others) = lift(one.residue), lift(other.residue)
    assert shape == same and constants != others
    assert [literal.value for literal in constants] == [6, "a"] or [literal.value for literal in constants] == ["a", 6]


def test_the_places_of_round_are_part_of_the_shape() -> None:
    """How it is written for the reading engine depends on them, so they are no parameter."""
    grouped = {"select": "saddr, length, count(*) AS n", "group": "saddr, length"}
    tens, others, hundreds = (
        lift(needs(f"saddr = '{key}' AND round(CAST(length AS DOUBLE), {places}) <> CAST(length AS DOUBLE)", **grouped).residue)
        for key, places in [("a", -1), ("b", -1), ("a", -2)]
    )
    assert tens[0] == others[0] != hundreds[0]
    assert [literal.value for literal in tens[1]] == ["a"] and [literal.value for literal in others[1]] == ["b"]


def test_many_entities_are_one_family() -> None:
    queries = {
        f"q{number}": needs(f"saddr = 'a{number}'", window)
        for number in range(MIN_FAMILY)
        for window in ["'10 seconds'" if number % 2 else "'20 seconds', '5 seconds'"]
    }
    families, places = plan_finishing(queries)
    assert len(families) == 1 and len(families[0].requests) == MIN_FAMILY
    assert families[0].keys == () and families[0].condition is not None
    assert all(place[0].filtered and place[0].request == name for name, place in places.items())


def test_few_of_a_shape_share_the_finished_node() -> None:
    queries = {"a": needs("saddr = 'a'"), "b": needs("saddr = 'b'"), "c": needs("saddr = 'b'", "'20 seconds'")}
    families, places = plan_finishing(queries)
    assert len(families) == 1 and families[0].condition is None
    assert sorted(request.id for request in families[0].requests) == ["range 10 seconds", "range 20 seconds"]
    assert places["a"] == places["b"] != places["c"]


def test_windows_that_overlap_too_often_are_left_to_blocks() -> None:
    families, places = plan_finishing({"a": needs(window="'1000 seconds', '1 second'")})
    assert families == () and places == {}


def test_a_query_of_several_parts_is_finished_in_all_of_them() -> None:
    families, places = plan_finishing({"a": needs(select="count(*) AS n, median(length) AS m")})
    assert len(families) == 2 and len(places["a"]) == 2


def test_what_is_finished_whole_for_somebody_serves_a_family_too() -> None:
    entities = {f"q{number}": needs(f"saddr = 'a{number}'") for number in range(MIN_FAMILY)}
    everybody = {"all": needs(select="saddr, count(*) AS n", group="saddr")}
    families, places = plan_finishing({**entities, **everybody})
    assert len(families) == 1 and families[0].condition is None
    assert places["q0"] == places["all"]
    other = {"all": needs(select="saddr, count(*) AS n", window="'30 seconds'", group="saddr")}
    families, places = plan_finishing({**entities, **other})
    assert len(families) == 2 and places["q0"] != places["all"], "other windows help nobody"
