"""Who is to blame when shared work fails: halving finds the queries that fail alone, in few trials."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from weft.algebra.expressions import Call, Column, Expression, Literal, walk
from weft.algebra.safety import can_fail
from weft.plan.needs import Needs, Part

Trial = Callable[[Sequence[str]], str]

COMPARISONS = frozenset({"=", "<", "<=", "<=>"})


def find_culprits(names: Sequence[str], trial: Trial, *, known_to_fail: bool = False) -> dict[str, str]:
    """The queries that fail on their own, each with its reason.

    `trial` runs some queries without the others and returns why they fail, or nothing. k culprits among n queries take
    between k * log2(n) and twice as many trials.

    >>> bad = {"b": "division by zero"}
    >>> find_culprits("abcd", lambda some: next((bad[one] for one in some if one in bad), ""))
    {'b': 'division by zero'}
    """
    if not names:
        return {}
    if len(names) == 1 or not known_to_fail:
        reason = trial(names)
        if not reason:
            return {}
        if len(names) == 1:
            return {names[0]: reason}
    half = len(names) // 2
    first = find_culprits(names[:half], trial)
    # What fails as a whole and not in its first half fails in its second: no need to try that as a whole.
    return {**first, **find_culprits(names[half:], trial, known_to_fail=not first)}


def failing_alike(queries: Mapping[str, Needs]) -> dict[str, tuple[str, ...]]:
    """Queries that fail on the same rows for the same reason, if they fail: all of them by the first one's name.

    One bad row may fail a thousand alerts that compare one expression with a thousand limits: one trial tells of all.
    """
    alike: dict[Hashable, list[str]] = {}
    for name in sorted(queries):
        needs = queries[name]
        alike.setdefault((needs.window, needs.tree, *map(_what_can_fail, needs.parts)), []).append(name)
    return {names[0]: tuple(names) for names in alike.values()}


def _what_can_fail(part: Part) -> Hashable:
    """What of a part decides on which rows it fails."""
    value = None if part.value is None else part.value.expression
    return frozenset(_compared(one.expression) for one in part.dimensions), part.statistics, value


def _compared(expression: Expression) -> Hashable:
    """The expression, less a constant that it is compared with at last: whatever that is, the rest is computed."""
    if isinstance(expression, Call) and expression.function in COMPARISONS:
        left, right = (None if isinstance(one, Literal) else one for one in expression.arguments)
        return expression.function, left, right
    return expression


def suspected_columns(needs: Needs) -> tuple[str, ...]:
    """The columns that decide whether a query fails on a row: those of its expressions that can, or else of all."""
    dimensions = [one.expression for part in needs.parts for one in part.dimensions]
    statistics = [one for part in needs.parts for one in part.statistics]
    conditions = [one.where for one in statistics if one.where is not None]
    every = [*dimensions, *conditions, *(argument for one in statistics for argument in one.arguments)]
    fallible = [one for one in every if can_fail(one)] or every
    return tuple(sorted({node.name for one in fallible for node in walk(one) if isinstance(node, Column)}))
