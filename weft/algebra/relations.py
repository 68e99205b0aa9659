"""The relational algebra: what a query means, as a tree over feeds, with nothing of any SQL dialect in it.

At a moment, a feed with a window is the relation of the rows of that window; every other relation is made of the
relations below it. The tree is the canonical form: equal meanings are equal trees as far as Weft knows it. So
expressions are canonical (weft/algebra/canonical.py), and relations are made by `filtered`, `grouped`, `ordered` and
`limited`, which leave out what changes nothing.

Expressions above a group are over its keys and its aggregates, written out: they need no names, and two spellings have
nothing to differ in. A column names the scan that it is of; the name is empty where the query has a single scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from weft.algebra import expressions
from weft.algebra.expressions import Aggregate, Column, Expression, WindowPart, column_text, text
from weft.algebra.literals import TRUE
from weft.algebra.windows import Running, Window

THE_WINDOW = WindowPart("window")


@dataclass(frozen=True)
class SelectItem:
    """A column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class OrderItem:
    """A key of ORDER BY; where nulls go is always written out."""

    expression: Expression
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Scan:
    """The rows of a feed, a stream or a table, that are in its window now; columns call it by `name`.

    `moment` is the column with the event time, where rows are asked for as they came.
    """

    feed: str
    window: Window = Running()
    name: str = ""
    moment: str = ""


@dataclass(frozen=True)
class Filter:
    """The rows for which the condition is true."""

    source: Relation
    condition: Expression


@dataclass(frozen=True)
class Project:
    """One row for each row, of these columns."""

    source: Relation
    items: tuple[SelectItem, ...]


@dataclass(frozen=True)
class Group:
    """One row for each different value of the keys; without keys, one row for all rows, even for none."""

    source: Relation
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class Join:
    """The pairs of rows for which the condition is true: inner, left, right, full, semi or anti."""

    kind: str
    left: Relation
    right: Relation
    condition: Expression | None = None


@dataclass(frozen=True)
class SetOperator:
    """The rows of both sides by union, intersect or except; each row once, or as often as it is there."""

    kind: str
    left: Relation
    right: Relation
    distinct: bool = True


@dataclass(frozen=True)
class Over:
    """Every row with a further value, the slot `name`: a function of the rows of its partition, in their order."""

    source: Relation
    name: str
    call: Expression
    partition: tuple[Expression, ...] = ()
    order: tuple[OrderItem, ...] = ()


@dataclass(frozen=True)
class Order:
    """The rows in the order of the keys."""

    source: Relation
    keys: tuple[OrderItem, ...]


@dataclass(frozen=True)
class Limit:
    """The first rows, as many as `count`."""

    source: Relation
    count: int


Relation = Scan | Filter | Project | Group | Join | SetOperator | Over | Order | Limit


def filtered(source: Relation, condition: Expression | None) -> Relation:
    """The rows for which a condition is true: all rows where there is no condition or a condition that always holds."""
    return source if condition is None or condition == TRUE else Filter(source, condition)


def grouped(source: Relation, keys: Iterable[Expression], aggregates: Iterable[Aggregate]) -> Group:
    """The groups of a relation, by keys and with aggregates that are sorted and without repeats.

    All rows of a relation are of the same window. As a key the window only says that no rows make no group, and every
    other key says so, too.
    """
    distinct = set(keys)
    by = distinct - {THE_WINDOW} or distinct
    return Group(source, tuple(sorted(by, key=_rank)), tuple(sorted(set(aggregates), key=_rank)))


def _rank(expression: Expression) -> tuple[str, str]:
    # NULL has the same text whatever its type.
    return text(expression), str(expression.type)


def ordered(source: Relation, keys: tuple[OrderItem, ...]) -> Relation:
    """The rows in an order, if there is any key to order them by."""
    return Order(source, keys) if keys else source


def limited(source: Relation, count: int | None) -> Relation:
    """The first rows, or all of them."""
    return source if count is None else Limit(source, count)


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """The relations that a relation is made of, in order."""
    match relation:
        case Scan():
            return ()
        case Join() | SetOperator():
            return relation.left, relation.right
        case Filter() | Project() | Group() | Over() | Order() | Limit():
            return (relation.source,)


def walk(relation: Relation) -> Iterator[Relation]:
    """Every relation of the tree, parents before inputs."""
    stack = [relation]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(inputs(current)))


def feeds(relation: Relation) -> tuple[str, ...]:
    """The names of the feeds that a relation is made of, each once, in the order of the text."""
    return tuple(dict.fromkeys(part.feed for part in walk(relation) if isinstance(part, Scan)))


def own_expressions(relation: Relation) -> tuple[Expression, ...]:
    """The expressions that a relation itself evaluates, without the expressions of its inputs."""
    match relation:
        case Scan() | SetOperator() | Limit():
            return ()
        case Filter():
            return (relation.condition,)
        case Join():
            return () if relation.condition is None else (relation.condition,)
        case Project():
            return tuple(item.expression for item in relation.items)
        case Group():
            return (*relation.keys, *relation.aggregates)
        case Over():
            return (relation.call, *relation.partition, *(key.expression for key in relation.order))
        case Order():
            return tuple(key.expression for key in relation.keys)


def columns_read(relation: Relation) -> frozenset[Column]:
    """The columns of feeds that a relation reads, anywhere in its tree."""
    return frozenset(
        node
        for part in walk(relation)
        for expression in own_expressions(part)
        for node in expressions.walk(expression)
        if isinstance(node, Column)
    )


def tree_text(relation: Relation) -> str:
    """The canonical print of a tree: a line for each relation, with its inputs below it and further in.

    >>> from weft.algebra.types import INT
    >>> print(tree_text(Limit(Project(Scan("packets"), (SelectItem("port", Column("port", INT)),)), 3)))
    limit 3
      project port = port : int
        scan packets
    """
    below = (f"  {line}" for source in inputs(relation) for line in tree_text(source).splitlines())
    return "\n".join([_line(relation), *below])


def item_text(item: SelectItem) -> str:
    """A column of the result, with its type."""
    return f"{item.name} = {text(item.expression)} : {item.expression.type}"


def key_text(key: OrderItem) -> str:
    """A key of ORDER BY."""
    direction, nulls = "asc" if key.ascending else "desc", "first" if key.nulls_first else "last"
    return f"{text(key.expression)} {direction} nulls {nulls}"


def _line(relation: Relation) -> str:
    match relation:
        case Scan():
            window = "" if isinstance(relation.window, Running) else f" {relation.window}"
            name = f" as {column_text(relation.name)}" if relation.name else ""
            return f"scan {relation.feed}{window}{name}"
        case Filter():
            return f"filter {text(relation.condition)}"
        case Project():
            return f"project {', '.join(map(item_text, relation.items))}"
        case Group():
            return f"group {_listed(relation.keys)} with {_listed(relation.aggregates)}"
        case Join():
            condition = "" if relation.condition is None else f" on {text(relation.condition)}"
            return f"{relation.kind} join{condition}"
        case SetOperator():
            return f"{relation.kind}{'' if relation.distinct else ' all'}"
        case Over():
            keys = ", ".join(map(key_text, relation.order))
            return f"over {relation.name} = {text(relation.call)} by {_listed(relation.partition)} order ({keys})"
        case Order():
            return f"order {', '.join(map(key_text, relation.keys))}"
        case Limit():
            return f"limit {relation.count}"


def _listed(parts: Iterable[Expression]) -> str:
    return f"({', '.join(map(text, parts))})"
