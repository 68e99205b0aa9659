"""A tree is cut into a block and a finish that say the same as the tree; what nobody can answer yet is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.golden import golden_files, read_blocks
from tests.sql.fakes import STREAMS, FakeAggregates
from weft.algebra.cut import cut
from weft.algebra.expressions import Aggregate, Call, Column, WindowPart, column_names
from weft.algebra.query import Query
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
    limited,
    ordered,
)
from weft.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, TIMESTAMP
from weft.algebra.windows import Asked, Running, Sliding
from weft.errors import SqlError
from weft.sql.bind import compile_query, compile_relation

PORT = Column("port", INT)
ROWS = Aggregate("count", (), BIGINT)
TCP = Call("=", (Column("proto", INT), PORT), BOOLEAN)
SCAN = Scan("packets")
SLIDING = Scan("packets", Sliding(range=timedelta(seconds=10), slide=timedelta(seconds=5)))
ITEMS = (SelectItem("n", ROWS),)
GOLDEN = [block.given for folder in ("parse", "relations") for path in golden_files(folder) for block in read_blocks(path)]


def sewn(query: Query) -> Relation:
    """The tree that a query was cut from."""
    block, finish = query.block, query.finish
    if block.selects:
        rows = filtered(Scan(block.feed, block.window, moment=block.moment), block.where)
        return Project(limited(ordered(rows, finish.order), finish.limit), finish.select)
    window = () if isinstance(block.window, Running) else (THE_WINDOW,)
    rows = filtered(Scan(block.feed, block.window), block.where)
    groups = filtered(grouped(rows, (*block.groups, *window), block.aggregates), finish.having)
    return Project(limited(ordered(groups, finish.order), finish.limit), finish.select)


@pytest.mark.parametrize("folder", ["parse", "relations"])
def test_cutting_loses_nothing(folder: str) -> None:
    for path in golden_files(folder):
        for block in read_blocks(path):
            tree = compile_relation(block.given, STREAMS, FakeAggregates())
            query = compile_query(block.given, STREAMS, FakeAggregates())
            assert cut(tree) == query and sewn(query) == tree, f"{path}:{block.line}"
            assert query.feeds == feeds(tree) == (query.block.feed,)


def test_a_block_has_all_that_is_read_of_the_feed() -> None:
    for sql in GOLDEN:
        query = compile_query(sql, STREAMS, FakeAggregates())
        block = query.block
        where = () if block.where is None else (block.where,)
        read = {name for one in (*block.groups, *where, *block.aggregates) for name in column_names(one)}
        tree = compile_relation(sql, STREAMS, FakeAggregates())
        assert {column.name for column in columns_read(tree)} == read, sql


def test_queries_that_differ_only_in_their_finish_have_one_block() -> None:
    texts = (
        "SELECT port, count(*) AS n FROM packets GROUP BY port",
        "SELECT count(*) + 1 AS m FROM packets AS p GROUP BY p.port HAVING count(*) > 3 ORDER BY port LIMIT 2",
    )
    one, other = (compile_query(sql, STREAMS, FakeAggregates()) for sql in texts)
    assert one.block == other.block and one.finish != other.finish


def test_the_window_is_no_group_of_a_block() -> None:
    query = cut(Project(grouped(SLIDING, (THE_WINDOW,), ()), (SelectItem("e", WindowPart("end")),)))
    assert query.block.groups == () and query.block.window == SLIDING.window


REFUSED: dict[str, tuple[Relation, str]] = {
    "join": (Project(grouped(Join("inner", SCAN, SCAN, TCP), (PORT,), (ROWS,)), ITEMS), "JOIN is not supported"),
    "set operator": (
        Project(grouped(SetOperator("union", SCAN, SCAN), (PORT,), (ROWS,)), ITEMS),
        "UNION is not supported",
    ),
    "over": (Project(Over(grouped(SCAN, (PORT,), (ROWS,)), "r", ROWS), ITEMS), "OVER is not supported"),
    "subquery": (
        Project(grouped(Project(grouped(SCAN, (PORT,), (ROWS,)), ITEMS), (), (ROWS,)), ITEMS),
        "a subquery in FROM is not supported",
    ),
    "limit on top": (
        Limit(Project(grouped(SCAN, (), (ROWS,)), ITEMS), 3),
        "a query whose last step is not SELECT is not supported",
    ),
    "window without rows": (
        Project(Group(SLIDING, (), (ROWS,)), ITEMS),
        "a window that no GROUP BY names is not supported",
    ),
    "aggregate over what is asked": (
        Project(grouped(Scan("packets", Asked()), (PORT,), (ROWS,)), ITEMS),
        "an aggregate over a window that is put on when somebody asks is not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_engine_cannot_answer_is_refused(name: str) -> None:
    tree, message = REFUSED[name]
    with pytest.raises(SqlError) as refused:
        cut(tree)
    assert refused.value.message == message
    assert refused.value.code == "unsupported-clause"


def test_rows_are_counted_by_all_that_the_finish_reads() -> None:
    """Rows that are alike in these are one group; of a fraction the sign of a zero is kept beside it."""
    load, scan = Column("load", DOUBLE), Scan("packets", Asked(), moment="ts")
    items = (SelectItem("ts", Column("ts", TIMESTAMP)), SelectItem("load", load))
    query = cut(Project(Limit(Order(Filter(scan, TCP), (OrderItem(PORT, True, True),)), 3), items))
    block = query.block
    assert block.selects and block.where == TCP and block.window == Asked() and block.aggregates == (ROWS,)
    assert set(block.groups) == {load, PORT, Column("ts", TIMESTAMP), Call("negative_zero", (load,), BOOLEAN)}
    assert query.finish.select == items and query.finish.limit == 3 and query.finish.having is None


def test_a_query_of_several_blocks_names_each_feed_once() -> None:
    block = cut(Project(grouped(SCAN, (), (ROWS,)), ITEMS)).block
    query = cut(Project(grouped(Scan("flows"), (), (ROWS,)), ITEMS))
    assert Query((block, query.block, block), query.finish).feeds == ("packets", "flows")
