"""Ranges: what a predicate asks of each of its operands, as the spans of values that it lets through.

`c0 = 3 AND v > 5 AND v <= 9 AND host LIKE 'web-%' AND a < b` asks c0 for the span of 3, v for the values after 5 up to
9, host for the texts from 'web-' up to 'web.', and the truth of `a < b`, an operand of its own, for true. So every
predicate that cannot fail on a row is a box: a set of values for each operand, and a row meets it where it meets all.

A span lies between two positions, and a position is just before or just after a constant; None is no end. Values are
ordered as Spark orders them: texts by their code points, which is the order of their UTF-8 bytes, and NaN above all
other numbers, so that it lies after infinity. Moments are microseconds, days are counted, decimals are whole numbers of
their last digit, and false and true are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from math import inf, isnan

from weft.algebra.expressions import Call, Expression, Literal, conjuncts
from weft.algebra.types import DataType
from weft.plan.dimensions import EXACT

# A constant in the order of its type, and whether the position is after it.
Value = int | float | str
Position = tuple[Value, bool]
Span = tuple[Position | None, Position | None]
EPOCH, FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
# Decimals of so many digits fit 64 bits without their point.
MOST_DIGITS = 18
LAST_CHARACTER, SURROGATES = "\U0010ffff", range(0xD800, 0xE000)


@dataclass(frozen=True)
class Values:
    """Some of the values of an operand: spans in their order that do not touch, and whether NULL is among them."""

    spans: tuple[Span, ...] = ()
    null: bool = False

    @property
    def positions(self) -> Iterable[Position]:
        """Where its spans begin and end."""
        return (position for span in self.spans for position in span if position is not None)


NOTHING, NULLS, ANYTHING = Values(), Values(null=True), Values(((None, None),))
Asked = tuple[Expression, Values]


def ranges_of(where: Expression) -> dict[Expression, Values]:
    """What a predicate that cannot fail asks of each of its operands; a part of another kind is asked to be true.

    >>> from weft.algebra.expressions import Column
    >>> from weft.algebra.types import BOOLEAN, INT
    >>> less = Call("<", (Column("a", INT), Literal(5, INT)), BOOLEAN)
    >>> ranges_of(less)[Column("a", INT)].spans
    ((None, (5, False)),)
    """
    asked: dict[Expression, Values] = {}
    for part in conjuncts(where):
        operand, values = _asked_by(part) or (part, _point(1))
        known = asked.get(operand)
        asked[operand] = values if known is None else intersection(known, values)
    return asked


def _asked_by(part: Expression) -> Asked | None:
    """What a condition asks of its only operand; None where it has another form."""
    match part:
        case Call(function="and" | "or" as function, arguments=parts):
            return _combined([_asked_by(each) for each in parts], intersection if function == "and" else union)
        case Call(function="not", arguments=(Call(function="and" | "or"),)):
            return None
        case Call(function="not", arguments=(inner,)):
            return _complement(inner)
        case Call(function="is_null", arguments=(operand,)):
            return operand, NULLS
        case Call(function="=" | "<" | "<=" | "<=>", arguments=(left, right)):
            return _compared(part.function, left, right)
        case Call(function="in", arguments=(operand, *listed)):
            points = [_compared("=", operand, value) for value in listed if not _is_null(value)]
            return _combined([(operand, NOTHING), *points], union)
        case Call(function="like", arguments=(operand, Literal(value=str(pattern)))):
            values = _like(pattern)
            return None if values is None else (operand, values)
        case Call(function="startswith", arguments=(operand, Literal(value=str(prefix)))):
            return operand, _prefixed(prefix)
    return None


def _complement(inner: Expression) -> Asked | None:
    """What NOT of a condition asks: of NULL most conditions are not known, and so is NOT of them."""
    if isinstance(inner, Call) and inner.function == "in" and any(map(_is_null, inner.arguments)):
        return inner.arguments[0], NOTHING
    asked = _asked_by(inner)
    if asked is None:
        return inner, _point(0)
    operand, values = asked
    knows_null = isinstance(inner, Call) and inner.function in ("is_null", "<=>")
    return operand, Values(_gaps(values.spans), null=knows_null and not values.null)


def _combined(parts: list[Asked | None], combine: Callable[..., Values]) -> Asked | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({operand for operand, _ in known}) > 1:
        return None
    return known[0][0], combine(*(values for _, values in known))


def _compared(function: str, left: Expression, right: Expression) -> Asked | None:
    """A comparison of an operand with a constant of its own order."""
    constant, operand, is_below = (right, left, True) if isinstance(right, Literal) else (left, right, False)
    if not isinstance(constant, Literal) or isinstance(operand, Literal):
        return None
    if constant.value is None:
        return operand, (NULLS if function == "<=>" else NOTHING)
    ends = _ends(constant, operand.type)
    if ends is None:
        return None
    before, after = ends
    if function in ("=", "<=>"):
        return operand, _between(before, after)
    # In `operand < c` all ends before c, in `c < operand` it begins after c.
    if is_below:
        return operand, _between(None, after if function == "<=" else before)
    start = before if function == "<=" else after
    return operand, NOTHING if start is None else _between(start, None)


def _ends(constant: Literal, kind: DataType) -> tuple[Position | None, Position | None] | None:
    """The positions before and after a constant among the values of a type; None where these have another order.

    After NaN nothing comes.
    """
    value = constant.value
    if kind.is_decimal and kind.precision <= MOST_DIGITS and isinstance(value, int | Decimal):
        scaled = EXACT.scaleb(Decimal(value), kind.scale)
        whole = int(scaled.to_integral_value(ROUND_FLOOR, context=EXACT))
        # What lies between two decimals is equal to none: both positions are after the lower.
        return (whole, whole != scaled), (whole, True)
    if constant.type != kind and not (constant.type.is_integral and kind.is_integral):
        return None
    if isinstance(value, float) and kind.name == "double":
        return ((inf, True), None) if isnan(value) else ((value, False), (value, True))
    plain = _plain(value)
    known = kind.is_integral or kind.name in ("string", "timestamp", "date", "boolean")
    return ((plain, False), (plain, True)) if known and plain is not None else None


def _plain(value: object) -> Value | None:
    """A constant in the order of its type."""
    match value:
        case datetime():
            return (value - EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - FIRST_DAY).days
        case int():
            return int(value)
        case str():
            return value
    return None


def _like(pattern: str) -> Values | None:
    r"""What LIKE with a constant, or with a constant before a single % at the end, lets through.

    >>> print(_like("a%").spans, _like(r"a\%").spans, _like("a%b"), _like("a_"))
    ((('a', False), ('b', False)),) ((('a%', False), ('a%', True)),) None None
    """
    prefix: list[str] = []
    place = 0
    while place < len(pattern):
        character = pattern[place]
        if character == "%" and place == len(pattern) - 1:
            return _prefixed("".join(prefix))
        if character in "%_":
            return None
        place += character == "\\"
        prefix.append(pattern[place])
        place += 1
    return _point("".join(prefix))


def _prefixed(prefix: str) -> Values:
    """All texts that begin with a prefix: up to the first that begins with a greater character at its end."""
    kept = prefix.rstrip(LAST_CHARACTER)
    if not kept:
        return _between((prefix, False), None)
    following = ord(kept[-1]) + 1
    if following in SURROGATES:
        following = SURROGATES.stop
    return _between((prefix, False), (kept[:-1] + chr(following), False))


def _point(value: Value) -> Values:
    return Values((((value, False), (value, True)),))


def is_point(span: Span) -> bool:
    """Whether a span is a single constant."""
    start, end = span
    return start is not None and end is not None and start[0] == end[0]


def _between(start: Position | None, end: Position | None) -> Values:
    """The values from a position to another."""
    if start is not None and end is not None and start >= end:
        return NOTHING
    return Values(((start, end),))


def intersection(*several: Values) -> Values:
    """The values that all have: those that are in nobody's gaps."""
    null = all(values.null for values in several)
    if all(len(values.spans) == 1 for values in several):
        starts, ends = zip(*(values.spans[0] for values in several), strict=True)
        start, end = max(filter(None, starts), default=None), min(filter(None, ends), default=None)
        return replace(_between(start, end), null=null)
    gaps = (gap for values in several for gap in _gaps(values.spans))
    return Values(_gaps(_merged(gaps)), null)


def union(*several: Values) -> Values:
    """The values that any has."""
    return Values(_merged(span for values in several for span in values.spans), any(values.null for values in several))


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in their order; those that touch are one."""
    merged: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0] is not None, span[0])):
        if merged and (merged[-1][1] is None or start is None or start <= merged[-1][1]):
            first, last = merged[-1]
            merged[-1] = (first, None if end is None or last is None else max(last, end))
        else:
            merged.append((start, end))
    return tuple(merged)


def _gaps(spans: Iterable[Span]) -> tuple[Span, ...]:
    """What lies before, between and after the spans."""
    gaps: list[Span] = []
    start: Position | None = None
    open_end = True
    for first, end in spans:
        if first is not None:
            gaps.append((start, first))
        start, open_end = end, end is not None
    return (*gaps, (start, None)) if open_end else tuple(gaps)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None
