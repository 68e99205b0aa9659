"""Cut a tree into blocks, which the network can share, and the finish above them.

The largest subtrees of the shape group(filter(scan)) are blocks. What stands above a block, as project(limit(order(
filter(...)))), is its finish. Where there is no group, the rows themselves are the block: rows that are the same in all
columns that the finish reads are counted, as a group is. A tree that the engine has no way to answer yet is refused by
the words of SQL.
"""

from __future__ import annotations

from weft.algebra.expressions import Aggregate, Call, Column, Expression, text
from weft.algebra.expressions import walk as walk_expression
from weft.algebra.query import Block, Finish, Query
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
    SetOperator,
    walk,
)
from weft.algebra.types import BIGINT, BOOLEAN, TIMESTAMP
from weft.algebra.windows import Asked, Running
from weft.errors import SqlError


def cut(relation: Relation) -> Query:
    """The query that a tree stands for; refuses a tree that is not a single block with a finish."""
    _refuse_unanswered(relation)
    if not isinstance(relation, Project):
        raise _unsupported("a query whose last step is not SELECT")
    rest = relation.source
    limit: int | None = None
    order: tuple[OrderItem, ...] = ()
    having: Expression | None = None
    if _is_selection(rest):
        return _selection(relation)
    if isinstance(rest, Limit):
        limit, rest = rest.count, rest.source
    if isinstance(rest, Order):
        order, rest = rest.keys, rest.source
    if isinstance(rest, Filter):
        having, rest = rest.condition, rest.source
    return Query((_block(rest),), Finish(relation.items, having, order, limit))


def _block(relation: Relation) -> Block:
    if not isinstance(relation, Group):
        raise _unsupported("a subquery in FROM")
    scan = relation.source
    where: Expression | None = None
    if isinstance(scan, Filter):
        where, scan = scan.condition, scan.source
    if not isinstance(scan, Scan):
        raise _unsupported("a subquery in FROM")
    if isinstance(scan.window, Asked):
        raise _unsupported("an aggregate over a window that is put on when somebody asks")
    if not isinstance(scan.window, Running) and not relation.keys:
        # Such a query has a result row even for a window without rows; a node has none.
        raise _unsupported("a window that no GROUP BY names")
    groups = tuple(key for key in relation.keys if key != THE_WINDOW)
    return Block(scan.feed, scan.window, groups, where, relation.aggregates)


def _is_selection(relation: Relation) -> bool:
    """Whether a relation is of rows as they came, none of them aggregated."""
    while isinstance(relation, Limit | Order | Filter):
        relation = relation.source
    return isinstance(relation, Scan)


def _selection(relation: Project) -> Query:
    """The query of a tree without a group: its block is of the columns that the finish reads."""
    rest = relation.source
    limit: int | None = None
    order: tuple[OrderItem, ...] = ()
    where: Expression | None = None
    if isinstance(rest, Limit):
        limit, rest = rest.count, rest.source
    if isinstance(rest, Order):
        order, rest = rest.keys, rest.source
    if isinstance(rest, Filter):
        where, rest = rest.condition, rest.source
    assert isinstance(rest, Scan)
    finish = Finish(relation.items, None, order, limit)
    read = (part for expression in finish.expressions for part in walk_expression(expression))
    columns: set[Expression] = {part for part in read if isinstance(part, Column)}
    columns.add(Column(rest.moment, TIMESTAMP))
    # Zeros with a sign are one group and two values: which it is stands beside the number.
    fractional = (column for column in columns if column.type.is_fractional)
    signs: set[Expression] = {Call("negative_zero", (column,), BOOLEAN) for column in fractional}
    groups = tuple(sorted({*columns, *signs}, key=text))
    count = Aggregate("count", (), BIGINT)
    return Query((Block(rest.feed, rest.window, groups, where, (count,), rest.moment),), finish)


def _refuse_unanswered(relation: Relation) -> None:
    """Refuse the relations that no engine of ours answers yet."""
    for part in walk(relation):
        match part:
            case Join():
                raise _unsupported("JOIN")
            case SetOperator():
                raise _unsupported(part.kind.upper())
            case Over():
                raise _unsupported("OVER")
            case _:
                pass


def _unsupported(what: str) -> SqlError:
    return SqlError("unsupported-clause", f"{what} is not supported")
