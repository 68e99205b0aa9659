"""Check that what a query selects is made of its group expressions and of aggregates alone."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from weft.algebra.canonical import canonical
from weft.algebra.expressions import Aggregate, Column, Expression, Slot, children, transform, with_children
from weft.errors import Position, SqlError
from weft.sql.guard import position_of


@dataclass(frozen=True)
class Groups:
    """The group expressions of a query without its window: canonical, sorted, without repeats."""

    expressions: tuple[Expression, ...]

    def over(self, sql: str, expression: Expression, node: exp.Expr) -> Expression:
        """The canonical form of an expression over the groups; refuses columns that the groups do not determine.

        The largest parts that equal a group expression are set aside first, so that GROUP BY a > 5 covers NOT a > 5:
        canonicalised as a whole that would read a <= 5 and match nothing.
        """
        if all(isinstance(group, Column) for group in self.expressions):
            over_groups = canonical(expression)
        else:
            slots = {group: Slot(f"group{index}", group.type) for index, group in enumerate(self.expressions)}
            back = {slot.name: group for group, slot in slots.items()}
            aside = canonical(self._set_aside(expression, slots, {}, {}))
            over_groups = transform(aside, lambda part: back.get(part.name) if isinstance(part, Slot) else None)
        self._check(sql, over_groups, node)
        return over_groups

    def _set_aside(self, expression: Expression, slots: dict[Expression, Slot], canonicals: dict[int, Expression],
                   done: dict[int, Expression]) -> Expression:
        """The tree with slots for group expressions; each node is looked at once, however many parents share it."""
        if isinstance(expression, Aggregate):
            return expression
        replaced = done.get(id(expression)) or slots.get(canonical(expression, canonicals))
        if replaced is None:
            parts = tuple(self._set_aside(part, slots, canonicals, done) for part in children(expression))
            replaced = with_children(expression, parts)
        done[id(expression)] = replaced
        return replaced

    def _check(self, sql: str, expression: Expression, node: exp.Expr) -> None:
        """Refuse an expression with a column outside aggregates and group expressions."""
        known = set(self.expressions)
        stack = [expression]
        while stack:
            current = stack.pop()
            if current in known or isinstance(current, Aggregate):
                continue
            if isinstance(current, Column):
                raise SqlError("not-grouped", f"the column {current.name!r} is neither grouped nor aggregated",
                               hint=f"Add {current.name} to GROUP BY, or aggregate it: max({current.name}).",
                               position=_column_position(sql, current.name, node))
            stack.extend(children(current))


def _column_position(sql: str, name: str, node: exp.Expr) -> Position | None:
    """Where a column is first named within a node, or else where the node starts."""
    columns = [column for column in node.find_all(exp.Column) if column.name.lower() == name.lower()]
    return position_of(sql, columns[0] if columns else node)

