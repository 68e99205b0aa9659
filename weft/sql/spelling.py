"""An expression as people write it, for what they read: `temp > 30` for `(double '30.0' < temp)`.

Nothing is named or stored by this spelling. Constants are without their types, and casts that Spark makes unasked are
left out, so that two expressions may be spelled alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from weft.algebra.coercion import wider
from weft.algebra.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Slot,
    WindowPart,
    column_text,
)

# How tightly operators bind, loosest first, as in Spark's grammar.
OR, AND, NOT, PREDICATE, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, UNARY, ATOM = range(12)
INFIX_LEVELS = {"or": OR, "and": AND, "=": COMPARISON, "<": COMPARISON, "<=": COMPARISON, "<=>": COMPARISON,
                "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY,
                "%": MULTIPLY, "div": MULTIPLY}
FLIPPED = {"<": ">", "<=": ">="}
NEGATED = {"=": "<>", "<=>": "IS DISTINCT FROM", "like": "NOT LIKE", "rlike": "NOT RLIKE"}
# Functions whose arguments Spark casts unasked: to a double, to a date or to a timestamp.
OF_DOUBLES = frozenset({"sqrt", "cbrt", "exp", "ln", "log10", "log2", "pow", "sign"})
OF_TIMES = frozenset({"year", "quarter", "month", "day", "dayofweek", "dayofyear", "weekofyear", "hour", "minute",
                      "second", "extract_second", "last_day", "datediff", "date_trunc", "trunc", "date_format",
                      "date_add", "date_sub"})
# Doubles up to here have all their digits before the point when they are whole.
MANY_DIGITS = 1e15

Spelling = tuple[str, int]


def spelled(expression: Expression) -> str:
    """The expression as a person would write it.

    >>> from weft.algebra.types import BOOLEAN, DOUBLE
    >>> spelled(Call("<", (Literal(30.0, DOUBLE), Column("temp", DOUBLE)), BOOLEAN))
    'temp > 30'
    """
    return _spell(expression)[0]


def _spell(expression: Expression) -> Spelling:
    """The text, and how tightly its outermost operator binds."""
    match expression:
        case Column(name):
            return column_text(name), ATOM
        case Slot(name):
            return name, ATOM
        case WindowPart(part):
            return "window" if part == "window" else f"window.{part}", ATOM
        case Literal():
            return _constant(expression), ATOM
        case Cast(operand, kind):
            return f"CAST({spelled(operand)} AS {str(kind).upper()})", ATOM
        case Case(branches, otherwise):
            whens = " ".join(f"WHEN {spelled(test)} THEN {spelled(value)}" for test, value in branches)
            last = "" if isinstance(otherwise, Literal) and otherwise.value is None else f" ELSE {spelled(otherwise)}"
            return f"CASE {whens}{last} END", ATOM
        case Aggregate(function, arguments, _, distinct, where):
            inside = ("DISTINCT " if distinct else "") + (_listed(arguments) or "*")
            return f"{function}({inside}){filter_text(where)}", ATOM
        case Call(function) if function in CALL_SPELLINGS:
            return CALL_SPELLINGS[function](expression)
        case Call(function) if function in INFIX_LEVELS:
            return _infix(expression)
        case Call(function):
            return f"{function}({_listed(_said(expression))})", ATOM


def filter_text(where: Expression | None) -> str:
    """The FILTER of an aggregate, with a space before it, or nothing."""
    return f" FILTER (WHERE {spelled(where)})" if where is not None else ""


def _constant(literal: Literal) -> str:
    value = literal.value
    match value:
        case None | bool():
            return str(value).upper() if value is not None else "NULL"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            digits = f"{value:f}"
            return digits.rstrip("0").rstrip(".") if "." in digits else digits
        case float() if not math.isfinite(value):
            return f"double('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}')"
        case float() if value.is_integer() and abs(value) < MANY_DIGITS:
            return str(int(value))
    return str(value)


def _listed(parts: Iterable[Expression]) -> str:
    return ", ".join(map(spelled, parts))


def _within(part: Expression, least: int) -> str:
    """A part of an operator, in parentheses where it binds less tightly."""
    text, level = _spell(part)
    return text if level >= least else f"({text})"


def _infix(call: Call) -> Spelling:
    level, sign, parts = INFIX_LEVELS[call.function], call.function.upper(), _said(call)
    if call.function in FLIPPED and isinstance(parts[0], Literal):
        sign, parts = FLIPPED[call.function], parts[::-1]
    # Operators group to the left; AND and OR are flat, and comparisons do not chain.
    first = level + 1 if level in (OR, AND, COMPARISON) else level
    texts = [_within(part, first if index == 0 else level + 1) for index, part in enumerate(parts)]
    return f" {sign} ".join(texts), level


def _predicate(sign: str) -> Callable[[Call], Spelling]:
    def spell(call: Call) -> Spelling:
        left, right = (_within(part, BIT_OR) for part in call.arguments)
        return f"{left} {sign} {right}", PREDICATE
    return spell


def _membership(sign: str, call: Call) -> Spelling:
    return f"{_within(call.arguments[0], BIT_OR)} {sign} ({_listed(call.arguments[1:])})", PREDICATE


def _not(call: Call) -> Spelling:
    inner = call.arguments[0]
    if isinstance(inner, Call):
        if inner.function in NEGATED:
            left, right = (_within(part, BIT_OR) for part in _said(inner))
            return f"{left} {NEGATED[inner.function]} {right}", COMPARISON if inner.function == "=" else PREDICATE
        if inner.function == "in":
            return _membership("NOT IN", inner)
        if inner.function == "is_null":
            return f"{_within(inner.arguments[0], BIT_OR)} IS NOT NULL", PREDICATE
    return f"NOT {_within(inner, NOT)}", NOT


def _said(call: Call) -> Sequence[Expression]:
    """The arguments without the casts that Spark makes unasked."""
    return [part.operand if isinstance(part, Cast) and _unasked(call, part) else part for part in call.arguments]


def _unasked(call: Call, part: Cast) -> bool:
    source, target = part.operand.type, part.type
    if call.function in OF_TIMES:
        return {source.name, target.name} == {"date", "timestamp"}
    if not source.is_numeric or not target.is_numeric or wider(source, target) != target:
        return False
    if INFIX_LEVELS.get(call.function) in (ADD, MULTIPLY) and call.function not in ("/", "div"):
        # Beside a constant, whose type does not show, the cast is what tells the type of the result.
        return not any(isinstance(other, Literal | Cast) for other in call.arguments if other is not part)
    return call.function in INFIX_LEVELS or call.function in OF_DOUBLES


CALL_SPELLINGS: dict[str, Callable[[Call], Spelling]] = {
    "not": _not,
    "in": lambda call: _membership("IN", call),
    "is_null": lambda call: (f"{_within(call.arguments[0], BIT_OR)} IS NULL", PREDICATE),
    "like": _predicate("LIKE"),
    "rlike": _predicate("RLIKE"),
    "negate": lambda call: (f"-{_within(call.arguments[0], ATOM)}", UNARY),
    "~": lambda call: (f"~{_within(call.arguments[0], ATOM)}", UNARY),
    "try_cast": lambda call: (f"TRY_CAST({spelled(call.arguments[0])} AS {str(call.type).upper()})", ATOM),
    "extract_second": lambda call: (f"EXTRACT(SECOND FROM {_listed(_said(call))})", ATOM),
}
