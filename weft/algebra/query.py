"""A query as the network sees it: the blocks that can be shared, and the finish that makes its result of them."""

from __future__ import annotations

from dataclasses import dataclass

from weft.algebra.expressions import Aggregate, Expression, text
from weft.algebra.relations import OrderItem, SelectItem, item_text, key_text
from weft.algebra.windows import Window


@dataclass(frozen=True)
class Block:
    """An aggregate, or a selection of rows, over one feed and one window: what the network can share.

    `groups` are the group expressions without the window; they and the aggregates are sorted and without repeats.
    Of selected rows `moment` is the column with their event time; the groups are then the columns of the rows, and each
    stands for as many rows as it counts.
    """

    feed: str
    window: Window
    groups: tuple[Expression, ...]
    where: Expression | None
    aggregates: tuple[Aggregate, ...]
    moment: str = ""

    @property
    def selects(self) -> bool:
        """Whether rows are selected, and none aggregated."""
        return bool(self.moment)


@dataclass(frozen=True)
class Finish:
    """What is made of the blocks' rows: HAVING, ORDER BY, LIMIT and SELECT over groups, aggregates and the window.

    Group expressions and aggregates are written out.
    """

    select: tuple[SelectItem, ...]
    having: Expression | None = None
    order: tuple[OrderItem, ...] = ()
    limit: int | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions that the finish evaluates."""
        having = () if self.having is None else (self.having,)
        return (
            *(item.expression for item in self.select),
            *having,
            *(key.expression for key in self.order),
        )


@dataclass(frozen=True)
class Query:
    """A continuous query, cut into blocks and a finish; the engine answers queries of a single block."""

    blocks: tuple[Block, ...]
    finish: Finish

    @property
    def feeds(self) -> tuple[str, ...]:
        """The feeds that the query stands on, each once."""
        return tuple(dict.fromkeys(block.feed for block in self.blocks))

    @property
    def block(self) -> Block:
        """The only block of a query; ValueError where it has several."""
        [block] = self.blocks
        return block

    def __str__(self) -> str:
        lines = []
        for block in self.blocks:
            lines += [f"stream {block.feed}", f"window {block.window}"]
            if block.groups:
                lines.append(f"{'rows of' if block.selects else 'group'} {', '.join(map(text, block.groups))}")
            if block.where is not None:
                lines.append(f"where {text(block.where)}")
        finish = self.finish
        lines += [f"select {item_text(item)}" for item in finish.select]
        if finish.having is not None:
            lines.append(f"having {text(finish.having)}")
        lines += [f"order {key_text(key)}" for key in finish.order]
        if finish.limit is not None:
            lines.append(f"limit {finish.limit}")
        return "\n".join(lines)
