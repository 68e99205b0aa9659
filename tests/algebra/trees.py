"""Random expressions, windows and queries of every kind there is, for tests of what holds for all of them."""

from __future__ import annotations

from datetime import UTC, timedelta

from hypothesis import strategies as st

from weft.algebra.expressions import Aggregate, Call, Case, Cast, Column, Expression, Literal, Slot, WindowPart
from weft.algebra.query import OrderItem, Query, SelectItem
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
    st.builds(Column, NAMES, TYPES)
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
QUERIES = st.builds(
    Query,
    NAMES,
    WINDOWS,
    st.lists(EXPRESSIONS, max_size=2).map(tuple),
    st.none() | EXPRESSIONS,
    st.lists(ITEMS, min_size=1, max_size=2).map(tuple),
    st.none() | EXPRESSIONS,
    st.lists(KEYS, max_size=2).map(tuple),
    st.none() | st.integers(0, 2**31),
)
