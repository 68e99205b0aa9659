"""Compile a text to a relation over known feeds, or refuse it whole: with a code, a position and a hint.

The order follows SQL's own: FROM, GROUP BY (with the window), WHERE, SELECT, HAVING, ORDER BY, LIMIT. Past this module
there is no sqlglot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from weft.algebra.canonical import canonical
from weft.algebra.coercion import implicit
from weft.algebra.cut import cut
from weft.algebra.expressions import Aggregate, Expression, WindowPart, text, walk
from weft.algebra.finals import HINT, carried_parts
from weft.algebra.literals import is_whole
from weft.algebra.query import Query
from weft.algebra.relations import (
    THE_WINDOW,
    OrderItem,
    Project,
    Scan,
    SelectItem,
    filtered,
    grouped,
    limited,
    ordered,
)
from weft.algebra.schema import AggregateTypes, FeedSchema
from weft.algebra.size import check_written, size
from weft.algebra.types import BOOLEAN, VOID, DataType
from weft.algebra.windows import Asked, Running, Window
from weft.errors import SqlError
from weft.sql.expression_binder import ExpressionBinder, has_aggregate
from weft.sql.groups import Groups
from weft.sql.guard import position_of, too_deep
from weft.sql.names import name_of
from weft.sql.parse import parse_expression, parse_select
from weft.sql.rows import with_event_time, without_stars
from weft.sql.scope import Scope, known_names_hint
from weft.sql.texts import position_at
from weft.sql.window_call import window_of
from weft.sql.window_clause import WindowClause
from weft.sql.words import unsupported

MAX_NAME = 255
MAX_LIMIT = 2**31 - 1


def compile_query(sql: str, feeds: Mapping[str, FeedSchema], aggregates: AggregateTypes) -> Query:
    """The canonical query of a text, cut into what the network can share and the rest."""
    return cut(compile_relation(sql, feeds, aggregates))


def compile_relation(sql: str, feeds: Mapping[str, FeedSchema], aggregates: AggregateTypes) -> Project:
    """The canonical tree of a text."""
    try:
        return _QueryBinder(sql, *parse_select(sql), feeds, aggregates).relation()
    except RecursionError:
        raise too_deep() from None


def compile_expression(sql: str, columns: Mapping[str, DataType], aggregates: AggregateTypes | None) -> Expression:
    """The canonical expression of a text over columns; aggregates are allowed only when given."""
    try:
        return canonical(ExpressionBinder(sql, Scope(columns), aggregates).bind(parse_expression(sql)))
    except RecursionError:
        raise too_deep() from None


class _QueryBinder:
    """Binds the SELECT of a text, clause by clause, to a relation."""

    def __init__(self, sql: str, select: exp.Select, clause: WindowClause | None, feeds: Mapping[str, FeedSchema],
                 aggregates: AggregateTypes) -> None:
        self.sql = sql
        self.select = select
        self.feed, qualifiers = self._from(feeds)
        select.set("expressions", without_stars(sql, select.expressions, self.feed, qualifiers))
        self.aggregates = aggregates.over(self.feed.event_time)
        self.scope = Scope(self.feed.columns, qualifiers, unusable=self.feed.unusable)
        self.clause = clause
        self.window: Window = Running() if clause is None else clause.window
        self.parts = 0

    def relation(self) -> Project:
        groups = self._groups()
        where = self._condition("where", "WHERE", self.scope)
        self.scope = replace(self.scope, windowed=self.windowed)
        bound = [self._typed(self._bind(self.scope, item.unalias()), item) for item in self.select.expressions]
        names = self._names(bound)
        having_scope = replace(self.scope, aliases=self._aliases(bound))
        having = self._condition("having", "", having_scope)
        order = self._order(bound, having_scope)
        aggregates = any(map(has_aggregate, (*bound, *(expression for expression, *_ in order))))
        selects = not aggregates and having is None and self.select.args.get("group") is None
        if self.select.args.get("distinct") is not None:
            groups = self._distinct(bound, selects)
        elif selects:
            return self._selection(where, names, bound, order)
        self._check_clause(groups)
        rows = filtered(Scan(self.feed.name, self.window), where and canonical(where))
        items = tuple(SelectItem(name, self._final(groups, expression, node))
                      for name, expression, node in zip(names, bound, self.select.expressions, strict=True))
        final_having = having and self._final(groups, having, self.select.args["having"])
        keys = tuple(OrderItem(self._final(groups, expression, node), ascending, nulls_first)
                     for expression, node, ascending, nulls_first in order)
        limit = self._limit()
        finals = [*(item.expression for item in items), *([final_having] if final_having else []),
                  *(key.expression for key in keys)]
        measures = {part for final in finals for part in walk(final) if isinstance(part, Aggregate)}
        # A window beside the stream is no group: without any there is a row for rows that are none, too.
        by = (*groups.expressions, THE_WINDOW) if self.windowed and self.clause is None else groups.expressions
        result = filtered(grouped(rows, by, measures), final_having)
        return Project(limited(ordered(result, keys), limit), items)

    def _selection(self, where: Expression | None, names: list[str], bound: list[Expression],
                   order: list[tuple[Expression, exp.Expr, bool, bool]]) -> Project:
        """Rows as they came; without a window of its own, all that are kept."""
        window = Asked() if self.clause is None else self.clause.window
        rows = filtered(Scan(self.feed.name, window, moment=self.feed.event_time), where and canonical(where))
        items = tuple(SelectItem(name, canonical(item)) for name, item in zip(names, bound, strict=True))
        keys = tuple(OrderItem(canonical(key), ascending, nulls_first) for key, _, ascending, nulls_first in order)
        return Project(limited(ordered(rows, keys), self._limit()), with_event_time(items, self.feed))

    def _check_clause(self, groups: Groups) -> None:
        """Refuse what nobody answers of a window that is written beside the stream."""
        if self.clause is None:
            return
        at = position_at(self.sql, self.clause.offset)
        if isinstance(self.window, Asked):
            raise SqlError("unsupported-clause", "an aggregate over a window that is put on when somebody asks is not "
                           "supported", position=at, hint="Use [RANGE ..] or GROUP BY window(..), or select rows.")
        if not groups.expressions:
            raise SqlError("unsupported-clause", "an aggregate over a window without GROUP BY is not supported",
                           position=at, hint="Write GROUP BY window(..): it has no row for a window without rows.")

    def _distinct(self, bound: list[Expression], selects: bool) -> Groups:
        """SELECT DISTINCT groups by all that it selects."""
        distinct = self.select.args["distinct"]
        if not selects or distinct.args.get("on"):
            raise SqlError("unsupported-clause", "SELECT DISTINCT beside GROUP BY or an aggregate is not supported",
                           hint="Groups are distinct already; leave DISTINCT out.",
                           position=position_of(self.sql, self.select.expressions[0]))
        return Groups(tuple(sorted({canonical(expression) for expression in bound}, key=text)))

    def _final(self, groups: Groups, expression: Expression, node: exp.Expr) -> Expression:
        """The expression over groups; refused where it needs more of an aggregate than readers can compute."""
        final = groups.over(self.sql, expression, node)
        if carried_parts(final, groups.expressions) is None:
            raise SqlError("not-over-aggregates", f"{text(final)} cannot be computed from aggregates or the window",
                           hint=HINT, position=position_of(self.sql, node))
        return final

    def _typed(self, expression: Expression, node: exp.Expr) -> Expression:
        if expression.type == VOID:
            raise SqlError("wrong-type", "NULL alone has no type", hint="Write for example CAST(NULL AS INT).",
                           position=position_of(self.sql, node))
        return expression

    def _binder(self, scope: Scope, row_clause: str = "") -> ExpressionBinder:
        window = None if row_clause else self._same_window
        return ExpressionBinder(self.sql, scope, self.aggregates, window, row_clause)

    def _bind(self, scope: Scope, node: exp.Expr, row_clause: str = "") -> Expression:
        return self._counted(self._binder(scope, row_clause).bind(node), node)

    def _counted(self, expression: Expression, node: exp.Expr) -> Expression:
        """The expression, counted; refused before anything walks it if the expressions together are too large."""
        self.parts += size(expression)
        try:
            check_written(self.parts)
        except SqlError as error:
            error.position = position_of(self.sql, node)
            raise
        return expression

    # FROM

    def _from(self, streams: Mapping[str, FeedSchema]) -> tuple[FeedSchema, frozenset[str]]:
        source = self.select.args.get("from_")
        if source is None:
            raise SqlError("syntax-error", "the query has no FROM",
                           hint=known_names_hint("", streams) or "Name a stream in FROM.",
                           position=position_at(self.sql, len(self.sql)))
        table = source.this
        at = position_of(self.sql, table)
        if isinstance(table, exp.Subquery | exp.Values | exp.Lateral | exp.Unnest) or isinstance(table.this, exp.Func):
            what = FROM_SOURCES.get(type(table), "a function in FROM")
            raise SqlError("unsupported-clause", f"{what} is not supported", hint="Name a stream in FROM.", position=at)
        self._only(table, {"this", "alias", "db", "catalog"})
        name = table.name
        schema = {known.lower(): schema for known, schema in streams.items()}.get(name.lower())
        a_name = isinstance(table.this, exp.Identifier) and not table.args.get("db")
        if not a_name or (schema is None and not name.isidentifier()):
            written = ".".join(part.name for part in table.parts)[:80]
            raise SqlError("not-a-stream", f"{written!r} is a table or a file, not a stream", position=at,
                           hint=known_names_hint(name, streams) or "Add a stream first.")
        if schema is None:
            raise SqlError("unknown-stream", f"there is no stream {name[:60]!r}", position=at,
                           hint=known_names_hint(name, streams) or "Add a stream first.")
        alias = table.args.get("alias")
        if alias is not None:
            self._only(alias, {"this"})
        return schema, frozenset({(alias.name if alias is not None else name).lower()})

    def _only(self, node: exp.Expr, known: set[str]) -> None:
        """Refuse a node that has a part which is not known."""
        for part, value in node.args.items():
            if value and part not in known:
                clause = FROM_PARTS.get(part, part.strip("_").upper())
                raise SqlError("unsupported-clause", f"{clause} is not supported", position=position_of(self.sql, node))

    # GROUP BY and the window

    @property
    def windowed(self) -> bool:
        """Whether the query has a window of its own, and is not just about all that has arrived."""
        return not isinstance(self.window, Running)

    def _groups(self) -> Groups:
        group = self.select.args.get("group")
        if group is None:
            return Groups(())
        for part, value in group.args.items():
            if value and part != "expressions":
                raise unsupported(self.sql, GROUP_PARTS.get(part, part.upper()), self.sql.lower().find("group"))
        expressions: list[Expression] = []
        # GROUP BY 1, 1, 1 names the same item of SELECT three times: it is bound once.
        for node in {id(node): node for node in map(self._named, group.expressions)}.values():
            if isinstance(node, exp.Anonymous) and node.name.lower() == "window":
                self._set_window(node)
                continue
            self._refuse_grouping(node)
            expressions.append(canonical(self._typed(self._bind(self.scope, node, "GROUP BY"), node)))
        return Groups(tuple(sorted(set(expressions), key=text)))

    def _named(self, node: exp.Expr) -> exp.Expr:
        """The item of SELECT that an ordinal or an alias in GROUP BY stands for; a real column wins over an alias."""
        if isinstance(node, exp.Literal) and not node.is_string and is_whole(node.name):
            return self._item(node)
        if isinstance(node, exp.Column) and not node.table and self.scope.column(node.name) is None:
            for item in self.select.expressions:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    return item.unalias()
        return node

    def _item(self, node: exp.Expr) -> exp.Expr:
        index = int(node.name[:9])
        if not 1 <= index <= len(self.select.expressions):
            raise SqlError("unknown-column", f"there is no column {index} in SELECT, which has "
                           f"{len(self.select.expressions)}", position=position_of(self.sql, node))
        item: exp.Expr = self.select.expressions[index - 1]
        return item.unalias()

    def _refuse_grouping(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Tuple):
            raise SqlError("unsupported-clause", "a row of values in GROUP BY is not supported",
                           hint="Remove the parentheses.", position=position_of(self.sql, node))
        if isinstance(node, exp.Anonymous) and node.name.lower() in ("cube", "rollup", "session_window"):
            raise SqlError("unsupported-clause", f"{node.name.upper()} is not supported",
                           position=position_of(self.sql, node))

    def _set_window(self, node: exp.Anonymous) -> None:
        if self.windowed:
            raise SqlError("bad-window", "a query has a single window", position=position_of(self.sql, node),
                           hint="Register one query for each window.")
        self.window = window_of(self.sql, node, self.scope, self.feed)

    def _same_window(self, node: exp.Anonymous) -> Expression:
        if not self.windowed or window_of(self.sql, node, self.scope, self.feed) != self.window:
            raise SqlError("bad-window", "this window is not the one in GROUP BY", position=position_of(self.sql, node),
                           hint="Write the same window(...) in both places, or the word window alone.")
        return THE_WINDOW

    # SELECT

    def _names(self, bound: list[Expression]) -> list[str]:
        names: list[str] = []
        seen: set[str] = set(self.window.lead)
        for item, expression in zip(self.select.expressions, bound, strict=True):
            column = self.scope.column(item.name) if isinstance(item, exp.Column) else None
            name = item.alias if isinstance(item, exp.Alias) else column.name if column else name_of(item)
            if isinstance(expression, WindowPart) and not isinstance(item, exp.Alias):
                name = expression.part
            if not name or len(name) > MAX_NAME:
                raise SqlError("duplicate-name", f"a column needs a name of 1 to {MAX_NAME} characters",
                               hint="Name it with AS.", position=position_of(self.sql, item))
            if name.lower() in seen:
                why = "is the window's own" if name.lower() in self.window.lead else "stands twice in SELECT"
                raise SqlError("duplicate-name", f"the name {name!r} {why}", position=position_of(self.sql, item),
                               hint="Give one of them another name with AS.")
            seen.add(name.lower())
            names.append(name)
        return names

    def _aliases(self, bound: list[Expression]) -> dict[str, Expression]:
        return {item.alias.lower(): expression
                for item, expression in zip(self.select.expressions, bound, strict=True) if isinstance(item, exp.Alias)}

    # WHERE, HAVING, ORDER BY, LIMIT

    def _condition(self, part: str, row_clause: str, scope: Scope) -> Expression | None:
        """The condition of WHERE or HAVING, by sqlglot's name for it; `row_clause` as in ExpressionBinder."""
        clause = self.select.args.get(part)
        if clause is None:
            return None
        bound = self._bind(scope, clause.this, row_clause)
        try:
            return implicit(bound, BOOLEAN)
        except SqlError as error:
            error.position = position_of(self.sql, clause)
            raise

    def _order(self, bound: list[Expression], scope: Scope) -> list[tuple[Expression, exp.Expr, bool, bool]]:
        clause = self.select.args.get("order")
        keys: list[tuple[Expression, exp.Expr, bool, bool]] = []
        for key in clause.expressions if clause is not None else ():
            node, descending = key.this, bool(key.args.get("desc"))
            if key.args.get("with_fill") or isinstance(node, exp.Column) and node.name.lower() == "all":
                raise unsupported(self.sql, "ORDER BY ALL", self.sql.lower().find("order"))
            if isinstance(node, exp.Literal) and not node.is_string and is_whole(node.name):
                self._item(node)
                expression = self._counted(bound[int(node.name[:9]) - 1], node)
            else:
                expression = self._bind(scope, node)
            keys.append((expression, node, not descending, bool(key.args.get("nulls_first"))))
        return keys

    def _limit(self) -> int | None:
        clause = self.select.args.get("limit")
        if clause is None:
            return None
        value = clause.expression if isinstance(clause, exp.Limit) else None
        if not isinstance(value, exp.Literal) or value.is_string or not is_whole(value.name) or \
                len(value.name) > 10 or int(value.name) > MAX_LIMIT:
            raise SqlError("wrong-type", "LIMIT takes a whole number that is not negative",
                           position=position_of(self.sql, clause) or position_at(self.sql, len(self.sql)))
        return int(value.name)


FROM_SOURCES: dict[type[exp.Expr], str] = {exp.Subquery: "a subquery in FROM", exp.Values: "VALUES"}
FROM_PARTS = {"joins": "JOIN", "pivots": "PIVOT", "sample": "TABLESAMPLE", "laterals": "LATERAL VIEW",
              "when": "TIME TRAVEL", "version": "TIME TRAVEL", "hints": "a hint", "columns": "an alias for columns"}
GROUP_PARTS = {"grouping_sets": "GROUPING SETS", "cube": "CUBE", "rollup": "ROLLUP", "totals": "WITH TOTALS",
               "all": "GROUP BY ALL"}
