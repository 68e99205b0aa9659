"""SELECT without an aggregate: rows as they came, each with its event time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from weft.algebra.expressions import Column
from weft.algebra.relations import SelectItem
from weft.algebra.schema import FeedSchema
from weft.algebra.types import TIMESTAMP
from weft.errors import SqlError
from weft.sql.guard import position_of


def without_stars(sql: str, items: Sequence[exp.Expr], feed: FeedSchema, qualifiers: frozenset[str]) -> list[exp.Expr]:
    """The items of SELECT with all columns of the feed that can be computed with in place of a star."""
    return [column for item in items for column in _columns(sql, item, feed, qualifiers)]


def _columns(sql: str, item: exp.Expr, feed: FeedSchema, qualifiers: frozenset[str]) -> Iterator[exp.Expr]:
    star = item.this if isinstance(item, exp.Column) else item
    if not isinstance(star, exp.Star):
        yield item
        return
    if any(star.args.values()):
        raise SqlError("unsupported-clause", "EXCEPT or REPLACE behind a star is not supported",
                       hint="Name the columns.", position=position_of(sql, item))
    qualifier = item.text("table").lower() if isinstance(item, exp.Column) else ""
    if qualifier and qualifier not in qualifiers:
        raise SqlError("unknown-column", f"there is nothing called {qualifier[:60]!r} in FROM",
                       position=position_of(sql, item))
    marks = next((part.meta for part in item.walk() if "start" in part.meta), {})
    for name in feed.columns:
        column = exp.to_identifier(name, quoted=True)
        column.meta.update(marks)
        yield exp.column(column)


def with_event_time(items: tuple[SelectItem, ...], feed: FeedSchema) -> tuple[SelectItem, ...]:
    """The columns of selected rows, the event time first where no column is the event time."""
    moment = Column(feed.event_time, TIMESTAMP)
    if any(item.expression == moment for item in items):
        return items
    taken, name = {item.name.lower() for item in items}, feed.event_time
    while name.lower() in taken:
        name = f"weft_{name}"
    return (SelectItem(name, moment), *items)
