"""The canonical form of expressions: equivalent spellings become the same tree, which means what the text meant.

Comparisons are = < <= with a constant on the right of =, and have a single zero, 0.0; NOT stands only before what
cannot absorb it; the parts of AND and OR are flat, without repeats and sorted; x = 1 OR x = 2 is x IN (1, 2).
Values never change: nothing is re-associated, and no error is folded away. Parts that can fail on a row stay behind the
parts that cannot, in the order in which they were written, because `port <> 0 AND length / port > 5` is a guard and its
halves must not be swapped.

Idempotent: canonical(canonical(e)) == canonical(e).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite, isnan

from weft.algebra.expressions import Aggregate, Call, Case, Cast, Expression, Literal, children, text, with_children
from weft.algebra.literals import FALSE, TRUE, convert, fits
from weft.algebra.safety import can_fail
from weft.algebra.size import check_written, size
from weft.algebra.types import BOOLEAN, INTEGRAL_DIGITS
from weft.errors import SqlError

UNKNOWN = Literal(None, BOOLEAN)


def canonical(expression: Expression, done: dict[int, Expression] | None = None) -> Expression:
    """The tree that this expression and all its equivalent spellings have in common.

    A node that several parents share is rewritten once; `done` holds the rewritten nodes, by the identity of the
    original nodes, for a caller who asks about many parts of the same tree.
    """
    done = {} if done is None else done
    rewritten = done.get(id(expression))
    if rewritten is None:
        parts = tuple(canonical(part, done) for part in children(expression))
        rewritten = done[id(expression)] = _rewrite(with_children(expression, parts))
    return rewritten


def negated(expression: Expression) -> Expression:
    """NOT of a canonical truth value. Spark orders NaN above all numbers, so NOT a < b is b <= a for doubles, too."""
    match expression:
        case Literal(value=None):
            return UNKNOWN
        case Literal():
            return FALSE if expression.value else TRUE
        case Call(function="not"):
            return expression.arguments[0]
        case Call(function="<"):
            return _comparison("<=", *reversed(expression.arguments))
        case Call(function="<="):
            return _comparison("<", *reversed(expression.arguments))
        case Call(function="and"):
            return _connect("or", map(negated, expression.arguments))
        case Call(function="or"):
            return _connect("and", map(negated, expression.arguments))
        case _:
            return Call("not", (expression,), BOOLEAN)


def _rewrite(node: Expression) -> Expression:
    """The canonical form of a node whose parts are canonical."""
    match node:
        case Call(function="and" | "or"):
            return _connect(node.function, node.arguments)
        case Call(function="not"):
            return negated(node.arguments[0])
        case Call(function="=" | "<" | "<=" | "<=>"):
            return _comparison(node.function, *node.arguments)
        case Call(function="in"):
            return _membership(node.arguments[0], node.arguments[1:])
        case Call(function="is_null"):
            return _null_test(node)
        case Call(function="+" | "-" | "*" | "negate"):
            return _arithmetic(node)
        case Call(function="coalesce"):
            return _coalesce(node)
        case Call(function="greatest" | "least"):
            # Of -0.0 and 0.0, which are equal, the first is the answer: their order is part of the meaning.
            parts = tuple(dict.fromkeys(node.arguments)) if node.type.is_fractional else _ordered(node.arguments)
            return parts[0] if len(parts) == 1 else replace(node, arguments=parts)
        case Cast():
            return _cast(node)
        case Case():
            return _case(node)
        case Aggregate() if node.where == TRUE:
            return replace(node, where=None)
        case _:
            return node


def _connect(operator: str, parts: Iterable[Expression]) -> Expression:
    """AND or OR of canonical parts."""
    identity, absorbing = (TRUE, FALSE) if operator == "and" else (FALSE, TRUE)
    flat: list[Expression] = []
    for part in parts:
        flat.extend(part.arguments if isinstance(part, Call) and part.function == operator else (part,))
    flat = [part for part in _merged(operator, flat) if part != identity]
    if absorbing in flat and not any(map(can_fail, flat)):
        return absorbing
    ordered = _ordered(flat)
    if len(ordered) < 2:
        return ordered[0] if ordered else identity
    return Call(operator, ordered, BOOLEAN)


def _merged(operator: str, parts: Sequence[Expression]) -> list[Expression]:
    """x = 1 OR x IN (2, 3) as x IN (1, 2, 3), and the same behind NOT for AND."""
    groups: dict[Expression, list[Expression]] = {}
    for part in parts:
        key, values = _choices(operator, part)
        if key is not None:
            groups.setdefault(key, []).extend(values)
    merged: list[Expression] = []
    done: set[Expression] = set()
    for part in parts:
        key, values = _choices(operator, part)
        if key is None or len(groups[key]) == len(values):
            merged.append(part)
        elif key not in done:
            done.add(key)
            membership = _membership(key, groups[key])
            merged.append(membership if operator == "or" else negated(membership))
    return merged


def _choices(operator: str, part: Expression) -> tuple[Expression | None, tuple[Expression, ...]]:
    """The operand and the constants of x = 1 or x IN (1, 2), or of their negation under AND."""
    if operator == "and":
        if not isinstance(part, Call) or part.function != "not":
            return None, ()
        part = part.arguments[0]
    if isinstance(part, Call) and part.function in ("=", "in"):
        operand, *values = part.arguments
        if all(isinstance(value, Literal) for value in values) and not isinstance(operand, Literal):
            return operand, tuple(values)
    return None, ()


def _ordered(parts: Iterable[Expression]) -> tuple[Expression, ...]:
    """The parts without repeats: first the parts that cannot fail, by their text, then the others as they stand."""
    distinct = list(dict.fromkeys(parts))
    safe = [part for part in distinct if not can_fail(part)]
    return tuple(sorted(safe, key=text)) + tuple(part for part in distinct if can_fail(part))


def _comparison(operator: str, left: Expression, right: Expression) -> Expression:
    left, right = map(_positive_zero, _narrowed(left, right))
    if operator in ("=", "<=>") and _operand_order(right) < _operand_order(left):
        left, right = right, left
    if isinstance(left, Literal) and isinstance(right, Literal):
        known = _compare(operator, left, right)
        if known is not None:
            return known
    constant, other = (right, left) if isinstance(right, Literal) else (left, right)
    if isinstance(constant, Literal):
        if constant.value is None and operator == "<=>":
            return Call("is_null", (other,), BOOLEAN)
        if constant.value is None and not can_fail(other):
            return UNKNOWN
        if operator == "=" and constant.type == BOOLEAN and constant.value is not None:
            return other if constant.value else negated(other)
    return Call(operator, (left, right), BOOLEAN)


def _positive_zero(expression: Expression) -> Expression:
    """0.0 for the constant -0.0, since no comparison tells them apart; every other expression as it is."""
    if isinstance(expression, Literal) and expression.type.is_fractional and expression.value == 0:
        return Literal(0.0, expression.type)
    return expression


def _operand_order(expression: Expression) -> tuple[bool, str]:
    """The sort key of an operand that may stand on either side: constants last, the others by their text."""
    return isinstance(expression, Literal), text(expression)


def _narrowed(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The sides of CAST(small AS bigint) = bigint 5 as in small = 5: the same rows, without the cast."""
    for this, other in ((left, right), (right, left)):
        if isinstance(this, Cast) and isinstance(other, Literal) and (narrow := _narrow(this, other)) is not None:
            return (this.operand, narrow) if this is left else (narrow, this.operand)
    return left, right


def _narrow(wide: Cast, constant: Literal) -> Literal | None:
    """The constant in the type under the cast, where that type is integral, the cast exact and the constant whole."""
    source, target, value = wide.operand.type, wide.type, constant.value
    if not source.is_integral or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    # A double holds every integer of 15 digits exactly, a float every integer of six.
    rooms = {**INTEGRAL_DIGITS, "double": 15, "float": 6, "decimal": target.precision - target.scale}
    if INTEGRAL_DIGITS[source.name] > rooms[target.name] or not isfinite(value):
        return None
    whole = int(value)
    return Literal(whole, source) if whole == value and fits(whole, source) else None


def _compare(operator: str, left: Literal, right: Literal) -> Literal | None:
    """A comparison of constants, where Python and Spark order them alike: not for NaN and the two zeros of doubles."""
    if left.value is None or right.value is None:
        both = left.value is None and right.value is None
        return Literal(both, BOOLEAN) if operator == "<=>" else UNKNOWN
    if left.type.is_fractional and not all(side.value and not isnan(side.value) for side in (left, right)):  # type: ignore[arg-type]
        return None
    if operator in ("=", "<=>"):
        return Literal(left.value == right.value, BOOLEAN)
    less = left.value < right.value  # type: ignore[operator]  # both sides have the same type
    return Literal(less or (operator == "<=" and left.value == right.value), BOOLEAN)


def _membership(operand: Expression, values: Iterable[Expression]) -> Expression:
    """x IN (...) with sorted constants and no repeats; a single value makes it =, and a NULL in the list OR NULL."""
    distinct = list(dict.fromkeys(map(_positive_zero, values)))
    known = [value for value in distinct if not (isinstance(value, Literal) and value.value is None)]
    if len(known) < len(distinct):
        inside = [_membership(operand, known)] if known else []
        return _connect("or", [*inside, _comparison("=", operand, Literal(None, operand.type))])
    if isinstance(operand, Cast):
        narrow = [_narrow(operand, value) if isinstance(value, Literal) else None for value in known]
        if all(value is not None for value in narrow):
            return _membership(operand.operand, [value for value in narrow if value is not None])
    if len(known) == 1:
        return _comparison("=", operand, known[0])
    if operand.type == BOOLEAN or isinstance(operand, Literal):
        check_written(size(operand) * len(known))
        return _connect("or", [_comparison("=", operand, value) for value in known])
    return Call("in", (operand, *sorted(known, key=_value_order)), BOOLEAN)


def _value_order(expression: Expression) -> tuple[bool, float, str]:
    """Constants before other values, numbers by size and the rest by their text."""
    constant = isinstance(expression, Literal)
    value = expression.value if isinstance(expression, Literal) else None
    magnitude = float(value) if isinstance(value, int) and not isinstance(value, bool) else 0.0
    return not constant, magnitude, text(expression)


def _arithmetic(node: Call) -> Expression:
    """Arithmetic on whole constants as its result, where that fits; the operands of + and * in a fixed order."""
    values = [part.value for part in node.arguments if isinstance(part, Literal) and part.type.is_integral]
    whole = [value for value in values if isinstance(value, int)]
    if node.type.is_integral and len(whole) == len(node.arguments):
        match node.function:
            case "+":
                result = whole[0] + whole[1]
            case "-":
                result = whole[0] - whole[1]
            case "*":
                result = whole[0] * whole[1]
            case _:
                result = -whole[0]
        return Literal(result, node.type) if fits(result, node.type) else node
    if node.function in ("+", "*") and _operand_order(node.arguments[1]) < _operand_order(node.arguments[0]):
        return replace(node, arguments=node.arguments[::-1])
    return node


def _coalesce(node: Call) -> Expression:
    """coalesce without nested calls, repeats, constant NULLs and what stands behind another constant."""
    flat: list[Expression] = []
    for part in node.arguments:
        flat.extend(part.arguments if isinstance(part, Call) and part.function == "coalesce" else (part,))
    arguments: list[Expression] = []
    for part in dict.fromkeys(flat):
        if not isinstance(part, Literal) or part.value is not None:
            arguments.append(part)
        # What stands behind a constant is never looked at.
        if isinstance(part, Literal) and part.value is not None:
            break
    if len(arguments) < 2:
        return arguments[0] if arguments else Literal(None, node.type)
    return replace(node, arguments=tuple(arguments))


def _case(node: Case) -> Expression:
    """CASE without the branches that no row reaches."""
    branches: list[tuple[Expression, Expression]] = []
    otherwise = node.otherwise
    for test, value in node.branches:
        if test == TRUE:
            otherwise = value
            break
        if not isinstance(test, Literal):
            branches.append((test, value))
    return replace(node, branches=tuple(branches), otherwise=otherwise) if branches else otherwise


def _cast(node: Cast) -> Expression:
    if node.operand.type == node.type:
        return node.operand
    if not isinstance(node.operand, Literal):
        return node
    try:
        return convert(node.operand, node.type) or node
    except SqlError:
        return node  # the cast fails when it runs, as it should


def _null_test(node: Call) -> Expression:
    operand = node.arguments[0]
    if not isinstance(operand, Literal):
        return node
    return TRUE if operand.value is None else FALSE
