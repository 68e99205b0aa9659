"""Cut a tree into blocks, which the network can share, and the finish above them.

The largest subtrees of the shape group(filter(scan)) are blocks. What stands above a block, as project(limit(order(
filter(...)))), is its finish. A tree that the engine has no way to answer yet is refused by the words of SQL.
"""

from __future__ import annotations

from weft.algebra.expressions import Expression
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
from weft.algebra.windows import Running
from weft.errors import Position, SqlError


def cut(relation: Relation) -> Query:
    """The query that a tree stands for; refuses a tree that is not a single block with a finish."""
    _refuse_unanswered(relation)
    if not isinstance(relation, Project):
        raise _unsupported("a query whose last step is not SELECT")
    rest = relation.source
    limit: int | None = None
    order: tuple[OrderItem, ...] = ()
    having: Expression | None = None
    if isinstance(rest, Limit):
        limit, rest = rest.count, rest.source
    if isinstance(rest, Order):
        order, rest = rest.keys, rest.source
    if isinstance(rest, Filter):
        having, rest = rest.condition, rest.source
    return Query((_block(rest),), Finish(relation.items, having, order, limit))


def _block(relation: Relation) -> Block:
    if not isinstance(relation, Group):
        raise aggregates_nothing()
    scan = relation.source
    where: Expression | None = None
    if isinstance(scan, Filter):
        where, scan = scan.condition, scan.source
    if not isinstance(scan, Scan):
        raise _unsupported("a subquery in FROM")
    if not isinstance(scan.window, Running) and not relation.keys:
        # Such a query has a result row even for a window without rows; a node has none.
        raise _unsupported("a window that no GROUP BY names")
    groups = tuple(key for key in relation.keys if key != THE_WINDOW)
    return Block(scan.feed, scan.window, groups, where, relation.aggregates)


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


def aggregates_nothing(position: Position | None = None) -> SqlError:
    """The refusal of a query that only selects rows."""
    return SqlError("not-an-aggregate", "the query aggregates nothing",
                    hint="Use an aggregate such as count(*), or GROUP BY.", position=position)


def _unsupported(what: str) -> SqlError:
    return SqlError("unsupported-clause", f"{what} is not supported")
