"""A tiny evaluator of canonical expressions: NULL is None, NaN is the largest number and equal to itself, errors raise.

AND and OR look at their operands from left to right and stop when the answer is known, as Spark does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any

from weft.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from weft.algebra.literals import fits
from weft.algebra.types import DataType


class RowError(Exception):
    """What Spark raises on a row: overflow, division by zero, a bad cast."""


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
    match expression:
        case Column():
            return row[expression.name]
        case Literal():
            return expression.value
        case Cast():
            return convert(evaluate(expression.operand, row), expression.type)
        case Case():
            for test, value in expression.branches:
                if evaluate(test, row) is True:
                    return evaluate(value, row)
            return evaluate(expression.otherwise, row)
        case Call(function="and" | "or"):
            return connect(expression, row)
        case Call(function="coalesce"):
            return next((value for part in expression.arguments if (value := evaluate(part, row)) is not None), None)
        case Call():
            return call(expression, [evaluate(part, row) for part in expression.arguments])
        case _:
            raise TypeError(expression)


def connect(expression: Call, row: Mapping[str, Any]) -> bool | None:
    decided = expression.function == "or"
    answers = set()
    for part in expression.arguments:
        answer = evaluate(part, row)
        if answer is decided:
            return decided
        answers.add(answer)
    return None if None in answers else not decided


def call(expression: Call, values: list[Any]) -> Any:
    match expression.function:
        case "is_null":
            return values[0] is None
        case "<=>":
            return values[0] is values[1] if None in values else compare(*values) == 0
        case "in":
            operand, *choices = values
            if operand is None:
                return None
            if any(choice is not None and compare(operand, choice) == 0 for choice in choices):
                return True
            return None if None in choices else False
        case "greatest" | "least":
            known = sorted((value for value in values if value is not None), key=cmp_to_key(compare))
            return known[-1 if expression.function == "greatest" else 0] if known else None
    if None in values:
        return None
    return strict(expression.function, values, expression.type)


def strict(function: str, values: list[Any], kind: DataType) -> Any:
    match function:
        case "not":
            return not values[0]
        case "=":
            return compare(*values) == 0
        case "<":
            return compare(*values) < 0
        case "<=":
            return compare(*values) <= 0
        case "negate":
            return bounded(-values[0], kind)
        case "+":
            return bounded(values[0] + values[1], kind)
        case "-":
            return bounded(values[0] - values[1], kind)
        case "*":
            return bounded(values[0] * values[1], kind)
        case "/":
            if values[1] == 0:
                raise RowError("division by zero")
            return values[0] / values[1]
        case _:
            raise TypeError(function)


def compare(left: Any, right: Any) -> int:
    if isinstance(left, float) or isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return int(math.isnan(left)) - int(math.isnan(right))
    return int(left > right) - int(left < right)


def bounded(value: Any, kind: DataType) -> Any:
    if kind.is_integral and not fits(value, kind):
        raise RowError("overflow")
    return value


def convert(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    if kind.name == "double":
        return float(value)
    if kind.is_integral and (isinstance(value, int) or math.isfinite(value)):
        return bounded(int(value), kind)
    raise RowError("bad cast")
