"""A canonical expression as Spark SQL: the only text of a user's making that Spark ever sees, and all of it is ours.

Keeps: the type that Spark gives the text is the type of the expression, whatever the session's settings for literals
and time zones are; names and strings cannot end early, open a comment or reach a variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from weft.algebra.expressions import INFIX, Call, Case, Cast, Column, Expression, Literal, Slot
from weft.algebra.types import DataType
from weft.algebra.windows import micros
from weft.feeds.streams import spark_identifier
from weft.segments.types import spark_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SUFFIXES = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}


def spark_sql(expression: Expression, slots: Mapping[str, str] | None = None) -> str:
    """The expression as Spark SQL; `slots` holds the SQL of slots, a missing slot stands for its own name.

    >>> from weft.algebra.types import BIGINT, BOOLEAN
    >>> spark_sql(Call("<", (Literal(5, BIGINT), Column("a b", BIGINT)), BOOLEAN))
    '(5L < `a b`)'
    """
    slots = slots or {}

    def render(node: Expression) -> str:
        match node:
            case Column(name):
                return spark_identifier(name)
            case Slot(name):
                return slots.get(name, spark_identifier(name))
            case Literal():
                return _literal(node)
            case Cast(operand, kind):
                return f"CAST({render(operand)} AS {spark_type(kind)})"
            case Case(branches, otherwise):
                whens = " ".join(f"WHEN {render(test)} THEN {render(value)}" for test, value in branches)
                return f"CASE {whens} ELSE {render(otherwise)} END"
            case Call():
                return _call(node, [render(argument) for argument in node.arguments])
            case _:
                raise TypeError(f"{type(node).__name__} is not a part of a row expression")

    return render(expression)


def string(value: str) -> str:
    r"""A string literal that reads back as the value, whatever it holds.

    Letters, digits and spaces stand for themselves, and so does every other character that no reader of the text takes
    for something else: quotes and backslashes; `$` and braces, which variables and templates use; control characters.

    >>> print(string("it's\n{5} \\ ${x}"))
    'it\u0027s\u000A\u007B5\u007D \u005C \u0024\u007Bx\u007D'
    """
    value.encode()  # a lone surrogate is no text: better refused here than replaced by a question mark there
    return "'" + "".join(map(_character, value)) + "'"


def _character(sign: str) -> str:
    if sign in "'\"\\${}" or not sign.isprintable():
        return f"\\u{ord(sign):04X}" if ord(sign) <= 0xFFFF else f"\\U{ord(sign):08X}"
    return sign


def _literal(literal: Literal) -> str:
    value, kind = literal.value, literal.type
    match value:
        case None:
            return "NULL" if kind.name == "void" else f"CAST(NULL AS {spark_type(kind)})"
        case bool():
            return str(value).lower()
        case datetime():
            return f"timestamp_micros({_number(micros(value - _EPOCH), 'L')})"
        case date():
            return f"DATE'{value.isoformat()}'"
        case str():
            return string(value)
        case Decimal():
            return f"CAST({_number(f'{value:f}', 'BD')} AS {spark_type(kind)})"
        case float():
            return _floating(value, kind)
        case int():
            return _number(value, _SUFFIXES[kind.name])


def _number(value: int | str, suffix: str) -> str:
    """Digits and suffix; in parentheses where negative, since `a - -1` without them opens a comment at `--`."""
    text = f"{value}{suffix}"
    return f"({text})" if text.startswith("-") else text


def _floating(value: float, kind: DataType) -> str:
    if math.isfinite(value):
        text = _number(repr(value), "D")
        return text if kind.name == "double" else f"CAST({text} AS FLOAT)"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS {spark_type(kind)})"


def _call(call: Call, arguments: Sequence[str]) -> str:
    if call.function in _FORMS:
        return _FORMS[call.function](call, arguments)
    if call.function in _IN_ORDER and (call.type.is_fractional or (call.type.is_decimal and call.function in INFIX)):
        arguments = [_set_apart(call, argument, sql) for argument, sql in zip(call.arguments, arguments, strict=True)]
        return _IN_ORDER[call.function].format(*arguments, every=", ".join(arguments))
    if call.function in INFIX:
        return "(" + f" {call.function} ".join(arguments) + ")"
    return f"{call.function}({', '.join(arguments)})"


# What Spark takes for the same in any order of its operands, though it is not: (a + b) + c may differ from (c + b) + a
# in its last digits, a * b * c of wide decimals from c * b * a, least(-0.0, 0.0) from least(0.0, -0.0) in its sign.
# Where queries in a statement spell it in two orders, Spark computes a single order for all; so it is written as what
# Spark does not reorder. Of integers every order that does not fail gives the same.
_IN_ORDER = {
    "+": "({} + {})",
    "*": "({} * {})",
    "least": "array_min(array({every}))",
    "greatest": "array_max(array({every}))",
}


def _set_apart(call: Call, argument: Expression, sql: str) -> str:
    """An operand that Spark does not merge with the operands of the call: negated twice, which changes no value."""
    if call.function in INFIX:
        alike = isinstance(argument, Call) and argument.function == call.function
        return f"(- (- {sql}))" if alike else sql
    return sql if argument.type == call.type else f"CAST({sql} AS {spark_type(call.type)})"


# What is not written as name(arguments).
_FORMS: dict[str, Callable[[Call, Sequence[str]], str]] = {
    "not": lambda _, arguments: f"(NOT {arguments[0]})",
    "is_null": lambda _, arguments: f"({arguments[0]} IS NULL)",
    "in": lambda _, arguments: f"({arguments[0]} IN ({', '.join(arguments[1:])}))",
    "&": lambda _, arguments: f"({arguments[0]} & {arguments[1]})",
    "|": lambda _, arguments: f"({arguments[0]} | {arguments[1]})",
    "^": lambda _, arguments: f"({arguments[0]} ^ {arguments[1]})",
    "~": lambda _, arguments: f"(~ {arguments[0]})",
    "negate": lambda _, arguments: f"(- {arguments[0]})",
    # No query calls this: rows that are selected keep their zeros apart by it.
    "negative_zero": lambda _, arguments: f"({arguments[0]} = 0 AND CAST({arguments[0]} AS STRING) = '-0.0')",
    "extract_second": lambda _, arguments: f"extract(SECOND FROM {arguments[0]})",
    "try_cast": lambda call, arguments: f"try_cast({arguments[0]} AS {spark_type(call.type)})",
}
