"""Who is to blame when shared work fails: halving finds the queries that fail alone, in few trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
