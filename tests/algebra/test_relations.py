"""What holds for every relation: its parts are walked, its columns are named, and its print tells it from others."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, get_args

from hypothesis import given, settings

from tests.algebra.trees import RELATIONS
from weft.algebra import expressions
from weft.algebra.expressions import Aggregate, Call, Column, Expression, Literal, Slot, WindowPart
from weft.algebra.literals import TRUE
from weft.algebra.relations import (
    THE_WINDOW,
    Filter,
    Group,
    Join,
    Limit,
    Order,
    OrderItem,
    Over,
    Project,
    Relation,
    Scan,
    SelectItem,
    SetOperator,
    columns_read,
    feeds,
    filtered,
    grouped,
    inputs,
    limited,
    ordered,
    own_expressions,
    tree_text,
    walk,
)
from weft.algebra.types import BIGINT, BOOLEAN, INT, STRING
from weft.algebra.windows import Sliding

KINDS = get_args(Relation)
A, B = Column("a", INT, "x"), Column("b", INT, "y")
ROWS, TOTAL = Aggregate("count", (), BIGINT), Aggregate("sum", (A,), BIGINT)
SAME = Call("=", (A, B), BOOLEAN)
X, Y = Scan("packets", Sliding(range=timedelta(seconds=10), slide=timedelta(seconds=5)), "x"), Scan("flows", name="y")
BY_A = OrderItem(A, ascending=False, nulls_first=True)
EVERY: dict[type, Relation] = {
    Scan: X,
    Filter: Filter(X, SAME),
    Project: Project(X, (SelectItem("n", A),)),
    Group: Group(X, (A,), (TOTAL,)),
    Join: Join("left", X, Y, SAME),
    SetOperator: SetOperator("union", X, Y, distinct=False),
    Over: Over(X, "rank", Call("rank", (), INT), (A,), (BY_A,)),
    Order: Order(X, (BY_A,)),
    Limit: Limit(X, 3),
}


def held(value: object) -> list[object]:
    """Every dataclass and every text directly inside a value, by its fields."""
    if isinstance(value, tuple):
        return [part for one in value for part in held(one)]
    return [value]


def parts(relation: Relation) -> list[Any]:
    return [part for one in fields(relation) for part in held(getattr(relation, one.name))]


def test_every_kind_of_relation_is_among_the_examples() -> None:
    assert set(EVERY) == set(KINDS)


@given(RELATIONS)
def test_the_inputs_and_expressions_of_a_relation_are_all_that_it_holds(relation: Relation) -> None:
    everything = parts(relation)
    items = [one.expression for one in everything if isinstance(one, SelectItem | OrderItem)]
    assert list(inputs(relation)) == [one for one in everything if isinstance(one, KINDS)]
    plain = [one for one in everything if isinstance(one, get_args(Expression))]
    assert sorted(map(repr, own_expressions(relation))) == sorted(map(repr, [*plain, *items]))


@given(RELATIONS)
def test_walking_meets_those_above_before_those_below(relation: Relation) -> None:
    met = list(walk(relation))
    assert met[0] is relation
    assert len(met) == 1 + sum(len(list(walk(one))) for one in inputs(relation))
    assert feeds(relation) == tuple(dict.fromkeys(one.feed for one in met if isinstance(one, Scan)))


@given(RELATIONS)
def test_the_columns_of_a_tree_are_those_of_its_expressions(relation: Relation) -> None:
    own = {part for one in own_expressions(relation) for part in expressions.walk(one) if isinstance(part, Column)}
    assert columns_read(relation) == own.union(*map(columns_read, inputs(relation)))


@settings(max_examples=30)
@given(RELATIONS)
def test_equal_trees_print_alike(relation: Relation) -> None:
    again = type(relation)(**{one.name: getattr(relation, one.name) for one in fields(relation)})
    assert is_dataclass(again) and again == relation and hash(again) == hash(relation)
    assert tree_text(again) == tree_text(relation)


DIFFERENT: list[Relation] = [
    *EVERY.values(), Y, Scan("packets", name="x"), Scan("packets", X.window), Filter(X, TRUE),
    Project(X, (SelectItem("m", A),)), Project(X, (SelectItem("n", B),)), Group(X, (), (TOTAL,)), Group(X, (A,), ()),
    Group(X, (A,), (ROWS,)), Join("inner", X, Y, SAME), Join("left", X, Y), Join("left", Y, X, SAME),
    SetOperator("union", X, Y), SetOperator("except", X, Y, distinct=False), SetOperator("union", Y, X, distinct=False),
    Over(X, "rank", Call("rank", (), INT), (A,)), Over(X, "rank", Call("rank", (), INT), (), (BY_A,)),
    Over(X, "place", Call("rank", (), INT), (A,), (BY_A,)), Order(X, (OrderItem(A, True, True),)),
    Order(X, (OrderItem(A, False, False),)), Limit(X, 4), Limit(EVERY[Filter], 3), Filter(Limit(X, 3), SAME),
]


def test_different_trees_print_differently() -> None:
    assert len(set(map(tree_text, DIFFERENT))) == len(DIFFERENT) == len(set(DIFFERENT))


def test_a_print_has_a_line_for_each_relation_and_its_inputs_further_in() -> None:
    tree = Limit(Join("left", Filter(X, SAME), Y, SAME), 3)
    assert tree_text(tree).splitlines() == [
        "limit 3",
        "  left join on (x.a = y.b)",
        "    filter (x.a = y.b)",
        "      scan packets range 10 seconds slide 5 seconds as x",
        "    scan flows as y",
    ]
    assert tree_text(EVERY[Over]).splitlines()[0] == "over rank = rank() by (x.a) order (x.a desc nulls first)"


def test_a_column_is_told_by_its_relation_where_there_are_several() -> None:
    names = [Column("a", INT), Column("a", INT, "x"), Column("x.a", INT), Column("a", INT, "window"), WindowPart("start")]
    assert list(map(expressions.text, names)) == ["a", "x.a", "`x.a`", "`window`.a", "window.start"]
    assert len(set(names)) == len(names)
    assert columns_read(EVERY[Join]) == {A, B} and feeds(EVERY[Join]) == ("packets", "flows")
    assert feeds(SetOperator("union", X, X)) == ("packets",)


def test_what_changes_nothing_is_left_out() -> None:
    assert filtered(X, None) is filtered(X, TRUE) is ordered(X, ()) is limited(X, None) is X
    assert (filtered(X, SAME), ordered(X, (BY_A,)), limited(X, 0)) == (Filter(X, SAME), Order(X, (BY_A,)), Limit(X, 0))


def test_keys_and_aggregates_are_in_one_order_and_without_repeats() -> None:
    assert grouped(X, [B, A, B], [TOTAL, ROWS, TOTAL]) == grouped(X, [A, B], [ROWS, TOTAL]) == Group(
        X, (A, B), (ROWS, TOTAL)
    )


def test_null_of_two_types_has_one_order_though_it_has_one_text() -> None:
    sums = [Aggregate("sum", (Literal(None, kind),), kind) for kind in (INT, STRING)]
    assert grouped(X, [], sums) == grouped(X, [], reversed(sums)) and len(grouped(X, [], sums).aggregates) == 2


def test_the_window_is_a_key_only_where_it_is_the_only_one() -> None:
    assert grouped(X, [A, THE_WINDOW], []).keys == (A,)
    assert grouped(X, [THE_WINDOW], []).keys == (THE_WINDOW,)
    assert grouped(X, [], []).keys == ()


def test_a_slot_is_no_column_of_a_feed() -> None:
    assert columns_read(Filter(EVERY[Over], Call("=", (Slot("rank", INT), A), BOOLEAN))) == {A}
