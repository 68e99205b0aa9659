"""Moments and ticks as users write and see them: microseconds since the epoch are for Weft alone."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, time, timedelta
from typing import SupportsIndex

from weft.algebra.windows import MICROSECOND
from weft.errors import EngineError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_TICK = 2**63 - 1

Moment = datetime | date | str


def tick_of(value: SupportsIndex) -> int:
    """Read the number of a tick, also from a data frame; numbers outside the range of ticks become its bounds."""
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
    """Read a moment in microseconds; a text or a datetime without a zone is UTC, a date its beginning in UTC."""
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, date):
        raise _no_moment(value)
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // MICROSECOND


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise _no_moment(text) from error


def _no_moment(value: object) -> EngineError:
    hint = "Give a datetime, a date, or a text such as 2026-01-05T12:00:00."
    return EngineError("bad-moment", f"{repr(value)[:200]} is no moment", hint=hint)


def datetime_of(moment: int) -> datetime:
    """Return a moment as a datetime, as far as datetimes reach."""
    try:
        return EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC) if moment < 0 else datetime.max.replace(tzinfo=UTC)
