"""How long the rows of a stream are kept: what the operator said, and what that means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from weft.algebra.windows import duration_text, micros
from weft.errors import StreamError
from weft.sql.ddl import Duration, parse_duration

NEVER, FOREVER = "never", "forever"
HINT = "Say a span of event time such as '2 hours', or 'forever', or 'never'."


@dataclass(frozen=True)
class Retention:
    """Whether all rows are kept, for how many microseconds (None for ever), and whether keeping is forbidden."""

    kept: bool
    span: int | None = None
    forbidden: bool = False


def parse_retain(said: Duration | None) -> str | None:
    """What was said, always in the same words; None where nothing was.

    >>> parse_retain("120 minutes"), parse_retain("Never")
    ('2 hours', 'never')
    """
    if said is None:
        return None
    word = said.strip().lower() if isinstance(said, str) else ""
    if word in (NEVER, FOREVER):
        return word
    span = parse_duration(said)
    if span <= timedelta(0):
        raise StreamError("bad-retain", f"retain={str(said)[:60]!r} would keep no row", hint=HINT)
    return duration_text(span)


@lru_cache(maxsize=1000)
def retention_of(retain: str | None) -> Retention:
    """What the words mean.

    >>> retention_of("2 seconds")
    Retention(kept=True, span=2000000, forbidden=False)
    """
    if retain is None or retain == NEVER:
        return Retention(kept=False, forbidden=retain == NEVER)
    return Retention(kept=True, span=None if retain == FOREVER else micros(parse_duration(retain)))
