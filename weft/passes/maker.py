"""The first level of the network for DuckDB: how the base nodes of a network become a pass over rows.

Rows arrive with the columns that a pass asks for: columns of the stream as they are, and columns that Spark computes,
of what DuckDB does not compute as Spark does. Predicates of matches are looked up all together, whatever the nodes
(weft/passes/lookup_maker.py), but for those that can fail on a row, and few: against these every row is held in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Column, Expression, Literal, column_names, conjuncts, identity, text
from weft.algebra.safety import can_fail
from weft.algebra.types import BIGINT
from weft.errors import SqlError
from weft.passes.lookup_maker import LookupMaker
from weft.passes.row_sql import row_sql
from weft.passes.work import FOUND, LINE, NUMBER, PLACE, ROWS, CellColumn, Line, Pass, Share, SliceColumn
from weft.plan.dimensions import Dimension, lowest
from weft.plan.match import MOST_LISTED, Match, looked_up
from weft.plan.network import Network, Node
from weft.segments.types import duck_literal, duck_type

WORD = re.compile(r"\w+")
CELLED = frozenset({"tinyint", "smallint", "int", "bigint", "double"})


SparkSql = Callable[[Expression], str]
"""Writes an expression as Spark SQL."""


def pass_over(network: Network, spark_sql: SparkSql | None = None) -> Pass:
    """The pass of a network. Where nothing writes Spark SQL, what only Spark computes raises TypeError."""
    return _PassMaker(network, spark_sql).made()


class _PassMaker:
    """Collects the columns of a pass while its statements are written."""

    def __init__(self, network: Network, spark_sql: SparkSql | None) -> None:
        self._network, self._spark_sql = network, spark_sql
        self._nodes = (*network.base, *network.counters)
        self._asked: dict[str, str] = {}
        self._plain: dict[str, str] = {}
        self._columns: dict[str, str] = {}
        self._cells: dict[str, CellColumn] = {}
        self._lookup = LookupMaker(self._sql)
        # Trees of equal slices share a column.
        slicings = {node.tree: node.slicing for node in self._nodes if node.slicing is not None}
        columns = {each: SliceColumn(f"weft_slice{index}", each) for index, each in enumerate(set(slicings.values()))}
        self._slices = {tree: columns[each] for tree, each in slicings.items()}

    def made(self) -> Pass:
        """The pass."""
        whole: dict[str, list[Share]] = {}
        sought: dict[tuple[object, ...], list[Node]] = {}
        for node in self._nodes:
            if node.matches is None:
                whole.setdefault(self._whole(node), []).append(Share(node.id))
            else:
                others = tuple(dimension for dimension in node.keys if not dimension.matches)
                sought.setdefault((self._time(node), others, node.statistics), []).append(node)
        lines = [Line(sql, tuple(shares)) for sql, shares in whole.items()]
        lines += [line for nodes in sought.values() for line in self._match_lines(nodes)]
        lookup = self._lookup.made()
        return Pass(
            self._asked,
            self._plain,
            tuple(dict.fromkeys(self._slices.values())),
            tuple(self._cells.values()),
            tuple(self._columns.items()),
            lookup,
            tuple(lines),
        )

    def _whole(self, node: Node) -> str:
        """The partial rows of a node that every row has a part in."""
        keys = [self._key(dimension) for dimension in node.keys]
        values = [self._statistic(statistic, stored=True) for statistic in node.statistics]
        return _grouped(node, self._time(node), keys, values, ROWS)

    def _match_lines(self, nodes: Sequence[Node]) -> Iterable[Line]:
        """The rows that each match keeps, of those that are looked up and of those that are listed."""
        known, first = dict(self._network.matches), nodes[0]
        of_nodes = {node.id: known[str(node.matches)] for node in nodes}
        matches = tuple({match.number: match for own in of_nodes.values() for match in own}.values())
        shares = tuple(
            Share(node.id, str(node.matches), tuple(match.number for match in of_nodes[node.id])) for node in nodes
        )
        found = looked_up(matches)
        if found:
            source = f"{FOUND} JOIN {ROWS} USING ({PLACE}) WHERE {LINE} = {self._lookup.add(found)}"
            yield Line(self._matched(first, source, NUMBER, found), shares)
        listed = [match for match in matches if not match.ranges] if found else matches
        for at in range(0, len(listed), MOST_LISTED):
            yield Line(self._listed(first, listed[at : at + MOST_LISTED]), shares)

    def _listed(self, node: Node, few: Sequence[Match]) -> str:
        """The rows that predicates keep, each of which a row is held against: a row comes once for each that does."""
        conditions = [(self._condition(match), f"CAST({match.number} AS BIGINT)") for match in few]
        if len(few) == 1:
            ((condition, number),) = conditions
            return self._matched(node, f"{ROWS} WHERE {condition}", number, few)
        numbers = ", ".join(f"CASE WHEN {condition} THEN {number} END" for condition, number in conditions)
        matched = self._matched(node, f"weft_each WHERE {NUMBER} IS NOT NULL", NUMBER, few)
        # DuckDB would copy every column of a row for each predicate, so it is given only those that are read.
        read = set(WORD.findall(matched)) & {*self._asked, *self._columns, *self._cells, self._time(node)}
        columns = "".join(f", {name}" for name in sorted(filter(None, read)))
        return f"WITH weft_each AS (SELECT unnest([{numbers}]) AS {NUMBER}{columns} FROM {ROWS}) {matched}"

    def _matched(self, node: Node, source: str, number: str, matches: Iterable[Match]) -> str:
        """The partial rows of matches; statistics that none of them wants are NULL."""
        wanted = {kept.name for match in matches for kept in match.statistics}
        values = [
            self._statistic(kept, stored=False) if kept.name in wanted else f"CAST(NULL AS {_stored(kept)})"
            for kept in node.statistics
        ]
        keys = [number if dimension.matches else self._key(dimension) for dimension in node.keys]
        return _grouped(node, self._time(node), keys, values, source)

    def _condition(self, match: Match) -> str:
        """A predicate; of one that cannot fail, Spark computes no more than the parts that only Spark can compute."""
        parts = (match.where,) if can_fail(match.where) else conjuncts(match.where)
        return " AND ".join(f"({self._sql(part)})" for part in parts)

    def _time(self, node: Node) -> str | None:
        return self._slices[node.tree].name if node.clock.sliced else None

    def _key(self, dimension: Dimension) -> str:
        """A dimension as a column; for Spark both zeros are the same group."""
        if dimension.cells:
            return self._cell(dimension)
        value = self._column(dimension.expression)
        return f"({value} + CAST(0 AS {duck_type(dimension.type)}))" if dimension.type.is_fractional else value

    def _cell(self, dimension: Dimension) -> str:
        cuts = tuple(sorted({lowest(dimension.type), *dict(self._network.cuts).get(dimension.name, ())}))
        value = self._sql(dimension.expression)
        if dimension.type.name in CELLED:
            self._cells[dimension.name] = CellColumn(dimension.name, value, cuts)
        else:
            points = ", ".join(duck_literal(Literal(cut, dimension.type)) for cut in cuts)
            highest = f"list_max(list_filter([{points}], lambda weft_cut: weft_cut <= {value}))"
            self._columns[dimension.name] = f"CASE WHEN {value} IS NOT NULL THEN {highest} END"
        return dimension.name

    def _column(self, expression: Expression) -> str:
        """The expression as a column of the rows, computed once."""
        sql = self._sql(expression)
        if isinstance(expression, Column) or sql in self._asked:
            return sql
        name = identity("e", text(expression), str(expression.type))
        self._columns[name] = sql
        return name

    def _statistic(self, statistic: Statistic, *, stored: bool) -> str:
        """The aggregate of a statistic; `stored`: its arguments are columns, for every row."""
        write = self._column if stored else self._sql
        arguments = [write(argument) for argument in statistic.arguments] or ["1"]
        if statistic.where is not None:
            condition = write(statistic.where)
            arguments = [f"CASE WHEN {condition} THEN {argument} END" for argument in arguments]
        return BUILD[statistic.basic].format(*arguments, t=_stored(statistic))

    def _sql(self, expression: Expression) -> str:
        """The expression over the columns that are asked for; where only Spark can compute it, such a column."""
        if self._in_duckdb(expression) or self._spark_sql is None:
            columns = {name: self._ask(name) for name in sorted(column_names(expression))}
            return row_sql(expression, columns)
        name = identity("x", text(expression), str(expression.type))
        self._asked[name] = self._spark_sql(expression)
        return name

    def _ask(self, column: str) -> str:
        """The name under which a column of the stream arrives: its own may be any text."""
        known = next((alias for alias, name in self._plain.items() if name == column), None)
        if known is None:
            known = f"weft_column{len(self._plain)}"
            self._plain[known] = column
            self._asked[known] = column if self._spark_sql is None else self._spark_sql(Column(column, BIGINT))
        return known

    def _in_duckdb(self, expression: Expression) -> bool:
        """Whether DuckDB computes an expression as Spark does, or has to for want of Spark."""
        try:
            columns = {name: "x" for name in column_names(expression)}
            row_sql(expression, columns)
        except (TypeError, SqlError):
            if self._spark_sql is None:
                raise
            return False
        return True


def _grouped(node: Node, time: str | None, keys: list[str], values: list[str], source: str) -> str:
    """The statement of a node: its slice, where it has slices, its dimensions and its statistics."""
    named = (NUMBER if dimension.matches else dimension.name for dimension in node.keys)
    schema = [*named, *(statistic.name for statistic in node.statistics)]
    terms = [*([] if time is None else [time]), *keys]
    columns = [*terms, *values]
    aliases = [*([] if time is None else ["start"]), *schema]
    listed = ", ".join(f'{sql} AS "{alias}"' for sql, alias in zip(columns, aliases, strict=True))
    by = f" GROUP BY {', '.join(map(str, range(1, len(terms) + 1)))}" if terms else " HAVING count(*) > 0"
    return f"SELECT {listed} FROM {source}{by}"


def _stored(statistic: Statistic) -> str:
    """The type of a statistic's column in DuckDB."""
    if statistic.basic in ("least", "greatest"):
        value, order = (duck_type(argument.type) for argument in statistic.arguments)
        return f'STRUCT("o" {order}, "p" BOOLEAN, "v" {value})'
    return duck_type(statistic.type)


_EXTREME = "CASE WHEN {1} IS NOT NULL THEN struct_pack(o := {1}, p := {0} IS NOT NULL, v := {0}) END"
# How DuckDB builds a statistic from rows; {t} is the type that it is stored in.
BUILD: dict[str, str] = {
    "count": "count({0})",
    "sum": "CAST(sum({0}) AS {t})",
    "wide_sum": "CAST(sum({0}) AS {t})",
    "squares": "CAST(sum(CAST({0} AS BIGINT) * {0}) AS {t})",
    "min": "min({0})",
    "max": "max({0})",
    "bool_and": "bool_and({0})",
    "bool_or": "bool_or({0})",
    "m2": "var_pop({0}) * count({0})",
    "least": f"min({_EXTREME})",
    "greatest": f"max({_EXTREME})",
}
