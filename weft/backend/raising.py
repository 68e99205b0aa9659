"""What evaluating an expression may do: fail, or give NULL. Where it may, what stands after it must be guarded."""

from __future__ import annotations

from weft.algebra.expressions import Call, Case, Cast, Expression, Literal


def can_raise(expression: Expression) -> bool:
    """Whether evaluating may fail; says yes when in doubt."""
    match expression:
        case Call(function, arguments, kind):
            if any(map(can_raise, arguments)):
                return True
            if function in ("+", "-", "*", "negate", "abs"):
                return not kind.is_fractional
            if function == "/":
                return kind.is_decimal or not is_nonzero(arguments[1])
            return function in ("%", "div", "round", "floor", "ceil")
        case Cast(operand, kind):
            total = kind.name in ("string", "boolean", "double", "float") or _widens(expression)
            return can_raise(operand) or not total
        case Case(branches, otherwise):
            return can_raise(otherwise) or any(can_raise(part) for branch in branches for part in branch)
        case _:
            return False


def can_be_null(expression: Expression) -> bool:
    """Whether the value may be NULL; says yes when in doubt."""
    match expression:
        case Literal(value):
            return value is None
        case Call(function):
            return function not in ("is_null", "<=>")
        case _:
            return True


def is_nonzero(expression: Expression) -> bool:
    """Whether the value is a constant other than zero."""
    return isinstance(expression, Literal) and expression.value not in (None, 0)


def _widens(cast: Cast) -> bool:
    order = ("boolean", "tinyint", "smallint", "int", "bigint")
    source, target = cast.operand.type.name, cast.type.name
    return source in order and target in order and order.index(source) <= order.index(target)
