"""Who is to blame when shared work fails: halving finds the queries that fail alone, in few trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.plan.needs import Needs
from weft.sql.expressions import Column, walk
from weft.sql.safety import can_fail

Trial = Callable[[Sequence[str]], str]


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


def suspected_columns(needs: Needs) -> tuple[str, ...]:
    """The columns that decide whether a query fails on a row: those of its expressions that can, or else of all."""
    dimensions = [one.expression for part in needs.parts for one in part.dimensions]
    statistics = [one for part in needs.parts for one in part.statistics]
    conditions = [one.where for one in statistics if one.where is not None]
    every = [*dimensions, *conditions, *(argument for one in statistics for argument in one.arguments)]
    fallible = [one for one in every if can_fail(one)] or every
    return tuple(sorted({node.name for one in fallible for node in walk(one) if isinstance(node, Column)}))
