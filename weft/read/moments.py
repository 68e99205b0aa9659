"""Moments and ticks as users give them, and as they are shown: microseconds since the epoch are for us alone."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from typing import SupportsIndex

from weft.algebra.windows import MICROSECOND
from weft.errors import EngineError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_TICK = 2**63 - 1

Moment = datetime | str


def tick_of(value: SupportsIndex) -> int:
    """The number of a tick, also one that a data frame holds; before the first and after the last are all alike."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise _no_tick(value) from error
    if isinstance(value, bool):
        raise _no_tick(value)
    return min(max(number, -1), LAST_TICK)


def _no_tick(value: object) -> EngineError:
    hint = "Give the greatest tick that was seen so far, or leave it out."
    return EngineError("bad-tick", f"{repr(value)[:200]} is not the number of a tick", hint=hint)


def moment_of(value: Moment) -> int:
    """A moment in microseconds; a text or a datetime without a zone is UTC."""
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, datetime):
        raise _no_moment(value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - EPOCH) // MICROSECOND


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise _no_moment(text) from error


def _no_moment(value: object) -> EngineError:
    hint = "Give a datetime, or a text such as 2026-01-05T12:00:00."
    return EngineError("bad-moment", f"{repr(value)[:200]} is no moment", hint=hint)


def datetime_of(moment: int) -> datetime:
    """A moment as a datetime, as far as datetimes reach."""
    try:
        return EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC) if moment < 0 else datetime.max.replace(tzinfo=UTC)
