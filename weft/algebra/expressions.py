"""The canonical expression: small immutable trees with types, and nothing of any SQL dialect.

Two spellings of the same meaning become the same tree (weft/algebra/canonical.py), so equality of trees is
equality of meaning as far as Weft knows it. `text` prints a tree; the print is stable and names the tree wherever it is
stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from weft.algebra.types import BOOLEAN, TIMESTAMP, WINDOW, DataType

Value = bool | int | float | Decimal | str | date | datetime | None


@dataclass(frozen=True)
class Column:
    """A column of a feed; `relation` is the name of its scan where a query has several, and else empty."""

    name: str
    type: DataType
    relation: str = ""


@dataclass(frozen=True)
class Literal:
    """A constant. A timestamp is an aware datetime in UTC, a date a date, a decimal a Decimal."""

    value: Value
    type: DataType

    # 1, 1.0 and True are equal in Python and different here, and so are 0.0 and -0.0; the text tells them apart.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


@dataclass(frozen=True)
class Call:
    """An operator or scalar function, by the canonical name it has in weft/algebra/functions.py."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType


@dataclass(frozen=True)
class Cast:
    """CAST(operand AS type), with ANSI rules; implicit casts are written out as well."""

    operand: Expression
    type: DataType


@dataclass(frozen=True)
class Case:
    """CASE WHEN condition THEN value ... ELSE otherwise END."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: DataType


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function over the rows of a group, as the query wrote it."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    distinct: bool = False
    where: Expression | None = None


@dataclass(frozen=True)
class WindowPart:
    """The window of the group: 'start', 'end', or 'window' for the struct of both."""

    part: str

    @property
    def type(self) -> DataType:
        return WINDOW if self.part == "window" else TIMESTAMP


@dataclass(frozen=True)
class Slot:
    """A named value that an earlier stage computed: a dimension, a statistic, or an aggregate's result."""

    name: str
    type: DataType


Expression = Column | Literal | Call | Cast | Case | Aggregate | WindowPart | Slot


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct parts of an expression, in order."""
    match expression:
        case Call():
            return expression.arguments
        case Aggregate():
            return expression.arguments + ((expression.where,) if expression.where is not None else ())
        case Cast():
            return (expression.operand,)
        case Case():
            return (*(part for branch in expression.branches for part in branch), expression.otherwise)
        case _:
            return ()


def with_children(expression: Expression, parts: tuple[Expression, ...]) -> Expression:
    """The same expression over other parts; the very same object when the parts are the same."""
    if all(new is old for new, old in zip(parts, children(expression), strict=True)):
        return expression
    match expression:
        case Call():
            return replace(expression, arguments=parts)
        case Aggregate() if expression.where is not None:
            return replace(expression, arguments=parts[:-1], where=parts[-1])
        case Aggregate():
            return replace(expression, arguments=parts)
        case Cast():
            return replace(expression, operand=parts[0])
        case Case():
            pairs = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return replace(expression, branches=pairs, otherwise=parts[-1])
        case _:
            return expression


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node of the tree, parents before children."""
    stack = [expression]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def transform(expression: Expression, rule: Callable[[Expression], Expression | None]) -> Expression:
    """Rebuild the tree from the top: where `rule` answers, its answer stands and is not entered again."""
    answer = rule(expression)
    if answer is not None:
        return answer
    return with_children(expression, tuple(transform(part, rule) for part in children(expression)))


def column_names(expression: Expression) -> frozenset[str]:
    """The names of the feeds' columns that an expression reads."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, Column))


def conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The parts of a conjunction; none for no predicate."""
    if predicate is None:
        return ()
    if isinstance(predicate, Call) and predicate.function == "and":
        return predicate.arguments
    return (predicate,)


def conjunction(parts: tuple[Expression, ...]) -> Expression | None:
    """The AND of the parts, or None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call("and", parts, BOOLEAN)


# The hexadecimal digits of an identity, each of four bits: 96 bits make two equal identities by chance unthinkable.
IDENTITY_DIGITS = 24

INFIX = {"+", "-", "*", "/", "%", "div", "=", "<", "<=", "<=>", "and", "or", "&", "|", "^"}


def text(expression: Expression) -> str:
    """The canonical print of an expression; equal trees print alike and different trees differently.

    >>> from weft.algebra.types import INT
    >>> text(Call("<", (Literal(5, INT), Column("length", INT)), BOOLEAN))
    '(5 < length)'
    """
    match expression:
        case Column():
            of = f"{column_text(expression.relation)}." if expression.relation else ""
            return f"{of}{column_text(expression.name)}"
        case Literal():
            return literal_text(expression)
        case Call(function="try_cast"):
            return f"try_cast({text(expression.arguments[0])} as {expression.type})"
        case Call() if expression.function in INFIX:
            return "(" + f" {expression.function} ".join(map(text, expression.arguments)) + ")"
        case Call():
            return f"{expression.function}({', '.join(map(text, expression.arguments))})"
        case Cast():
            return f"cast({text(expression.operand)} as {expression.type})"
        case Case():
            return _case_text(expression)
        case Aggregate():
            inside = ("distinct " if expression.distinct else "") + ", ".join(map(text, expression.arguments))
            where = f" filter ({text(expression.where)})" if expression.where is not None else ""
            return f"{expression.function}({inside or '*'}){where}"
        case WindowPart():
            return "window" if expression.part == "window" else f"window.{expression.part}"
        case Slot():
            return f"${expression.name}"


def _case_text(case: Case) -> str:
    """A CASE as text. A NULL in it stands without its type where another value of the CASE tells that type.

    >>> from weft.algebra.types import INT
    >>> text(Case(((Column("b", BOOLEAN), Column("i", INT)),), Literal(None, INT), INT))
    'case when b then i else null end'
    """
    values = [*(value for _, value in case.branches), case.otherwise]
    told = any(value.type == case.type and not _is_null(value) for value in values)

    def print_value(value: Expression) -> str:
        return "null" if told and _is_null(value) and value.type == case.type else text(value)

    whens = " ".join(f"when {text(test)} then {print_value(value)}" for test, value in case.branches)
    return f"case {whens} else {print_value(case.otherwise)} end"


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def column_text(name: str) -> str:
    """The name of a column; between backquotes where it could be taken for something else.

    >>> column_text("length"), column_text("(a + b)"), column_text("null")
    ('length', '`(a + b)`', '`null`')
    """
    if name.isidentifier() and name.lower() not in ("null", "true", "false", "window"):
        return name
    return "`" + name.replace("`", "``") + "`"


def literal_text(literal: Literal) -> str:
    """A constant as text, with its type wherever the value alone would not tell it.

    >>> from weft.algebra.types import DOUBLE, INT
    >>> literal_text(Literal(5, INT)), literal_text(Literal(5.0, DOUBLE)), literal_text(Literal(None, INT))
    ('5', "double '5.0'", 'int null')
    """
    value = literal.value
    if value is None:
        return f"{literal.type} null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, date | datetime):
        return f"{literal.type} '{value.isoformat()}'"
    return str(value) if literal.type.name == "int" else f"{literal.type} '{value}'"


def identity(prefix: str, *parts: str) -> str:
    """A short stable name for what the parts describe; the same parts give the same name in any process."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return f"{prefix}_{digest[:IDENTITY_DIGITS]}"
