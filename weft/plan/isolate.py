"""Which queries are to blame when shared work fails: halving tells the queries that fail alone, in few trials."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from weft.algebra.expressions import Call, Column, Expression, Literal, walk
from weft.algebra.safety import can_fail
from weft.plan.needs import Needs, Part

Trial = Callable[[Sequence[str]], str]

COMPARISONS = frozenset({"=", "<", "<=", "<=>"})


def find_culprits(names: Sequence[str], trial: Trial, *, known_to_fail: bool = False) -> dict[str, str]:
    """The queries that fail on their own, each with its reason.

    `trial` runs a few queries without the others and returns why they fail, or nothing. k culprits among n queries take
    between k * log2(n) and twice as many trials.

    >>> bad = {"b": "division by zero"}
    >>> find_culprits("abcd", lambda names: next((bad[name] for name in names if name in bad), ""))
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


def find_misfits(names: Sequence[str], trial: Trial) -> dict[str, str]:
    """The queries that fail only together with earlier queries, each with its reason; all the others work together.

    A misfit among n queries takes about 2 * log2(n) trials.

    >>> find_misfits("abcd", lambda names: "name taken" if {"b", "d"} <= set(names) else "")
    {'d': 'name taken'}
    """
    admitted: list[str] = []
    misfits: dict[str, str] = {}

    def admit(candidates: Sequence[str]) -> None:
        reason = trial([*admitted, *candidates])
        if not reason:
            admitted.extend(candidates)
        elif len(candidates) == 1:
            misfits[candidates[0]] = reason
        else:
            admit(candidates[: len(candidates) // 2])
            admit(candidates[len(candidates) // 2 :])

    if names:
        admit(names)
    return misfits


def failing_alike(queries: Mapping[str, Needs]) -> dict[str, tuple[str, ...]]:
    """Queries that fail on the same rows for the same reason, if they fail: all of them by the first name.

    A bad row may fail a thousand alerts that compare an expression with a thousand limits: a single trial tells of all.
    """
    alike: dict[Hashable, list[str]] = {}
    for name in sorted(queries):
        needs = queries[name]
        kind = (needs.window, needs.tree, _matched(needs), *map(_what_can_fail, needs.parts))
        alike.setdefault(kind, []).append(name)
    return {names[0]: tuple(names) for names in alike.values()}


def _what_can_fail(part: Part) -> Hashable:
    """The expressions of a part that decide on which rows it fails."""
    values = tuple(value.expression for value in part.values)
    return frozenset(_compared(dimension.expression) for dimension in part.dimensions), part.statistics, values


def _matched(needs: Needs) -> Hashable:
    """What can fail of a predicate that is evaluated whole: such predicates have the same node, whatever they say."""
    return None if needs.match is None or not can_fail(needs.match.where) else _compared(needs.match.where)


def _compared(expression: Expression) -> Hashable:
    """The expression, less a constant that it is compared with at last: whatever that is, the rest is computed."""
    if isinstance(expression, Call) and expression.function in COMPARISONS:
        left, right = (None if isinstance(argument, Literal) else argument for argument in expression.arguments)
        return expression.function, left, right
    return expression


def suspected_columns(needs: Needs) -> tuple[str, ...]:
    """The columns that decide whether a query fails on a row: of its expressions that can fail, or else of all."""
    dimensions = [dimension.expression for part in needs.parts for dimension in part.dimensions if not dimension.ticks]
    statistics = [statistic for part in needs.parts for statistic in part.statistics]
    conditions = [statistic.where for statistic in statistics if statistic.where is not None]
    matched = [] if needs.match is None else [needs.match.where]
    arguments = [argument for statistic in statistics for argument in statistic.arguments]
    every = [*matched, *dimensions, *conditions, *arguments]
    fallible = [expression for expression in every if can_fail(expression)] or every
    nodes = (node for expression in fallible for node in walk(expression))
    return tuple(sorted({node.name for node in nodes if isinstance(node, Column)}))
