"""Random expressions, windows, relations and queries of every kind there is, for tests of what holds for all of them."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TypeVar

from hypothesis import strategies as st

from weft.algebra.expressions import Aggregate, Call, Case, Cast, Column, Expression, Literal, Slot, WindowPart
from weft.algebra.query import Block, Finish, Query
from weft.algebra.relations import (
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
)
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    WINDOW,
    decimal,
)
from weft.algebra.windows import Running, Sliding, Window

T = TypeVar("T")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.sampled_from(["a", "b", "is", "type", "ein Name", "`"]) | TEXTS.filter(bool)
DECIMALS = st.integers(1, 38).flatmap(lambda digits: st.builds(decimal, st.just(digits), st.integers(0, digits)))
TYPES = DECIMALS | st.sampled_from(
    [BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, SMALLINT, STRING, TIMESTAMP, TINYINT, VOID, WINDOW]
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(tzinfo=UTC, fold=0))
)
LEAVES = (
    st.builds(Column, NAMES, TYPES, st.just("") | NAMES)
    | st.builds(Literal, VALUES, TYPES)
    | st.builds(WindowPart, st.sampled_from(["start", "end", "window"]))
    | st.builds(Slot, NAMES, TYPES)
)


def _above(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, max_size=3).map(tuple)
    branches = st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple)
    return (
        st.builds(Call, NAMES, several, TYPES)
        | st.builds(Cast, inner, TYPES)
        | st.builds(Case, branches, inner, TYPES)
        | st.builds(Aggregate, NAMES, several, TYPES, st.booleans(), st.none() | inner)
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(LEAVES, _above, max_leaves=8)
SPANS = st.integers(1, 10**12).map(lambda count: timedelta(microseconds=count))
WINDOWS: st.SearchStrategy[Window] = st.just(Running()) | st.builds(
    lambda slide, more, start: Sliding(range=slide + more, slide=slide, start=start), SPANS, SPANS, SPANS
)
ITEMS = st.builds(SelectItem, NAMES, EXPRESSIONS)
KEYS = st.builds(OrderItem, EXPRESSIONS, st.booleans(), st.booleans())
AGGREGATES = st.builds(Aggregate, NAMES, st.lists(EXPRESSIONS, max_size=2).map(tuple), TYPES)
SCANS = st.builds(Scan, NAMES, WINDOWS, st.just("") | NAMES)


def _several(kind: st.SearchStrategy[T], least: int = 0) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(kind, min_size=least, max_size=2).map(tuple)


def _made_of(inner: st.SearchStrategy[Relation]) -> st.SearchStrategy[Relation]:
    return st.one_of(
        st.builds(Filter, inner, EXPRESSIONS),
        st.builds(Project, inner, _several(ITEMS, 1)),
        st.builds(Group, inner, _several(EXPRESSIONS), _several(AGGREGATES)),
        st.builds(Join, st.sampled_from(["inner", "left", "anti"]), inner, inner, st.none() | EXPRESSIONS),
        st.builds(SetOperator, st.sampled_from(["union", "except"]), inner, inner, st.booleans()),
        st.builds(Over, inner, NAMES, EXPRESSIONS, _several(EXPRESSIONS), _several(KEYS)),
        st.builds(Order, inner, _several(KEYS, 1)),
        st.builds(Limit, inner, st.integers(0, 2**31)),
    )


RELATIONS: st.SearchStrategy[Relation] = st.recursive(SCANS, _made_of, max_leaves=3)
BLOCKS = st.builds(Block, NAMES, WINDOWS, _several(EXPRESSIONS), st.none() | EXPRESSIONS, _several(AGGREGATES))
FINISHES = st.builds(
    Finish, _several(ITEMS, 1), st.none() | EXPRESSIONS, _several(KEYS), st.none() | st.integers(0, 2**31)
)
QUERIES = st.builds(Query, _several(BLOCKS, 1), FINISHES)
