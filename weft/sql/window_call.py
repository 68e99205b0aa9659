"""Bind window(event time, range[, slide[, start]]) to a Sliding window, or refuse it."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from weft.algebra.schema import FeedSchema
from weft.algebra.windows import Sliding, micros
from weft.errors import SqlError
from weft.sql.ddl import parse_duration
from weft.sql.guard import position_of
from weft.sql.scope import Scope

MAX_OVERLAP = 2_000_000


def window_of(sql: str, node: exp.Anonymous, scope: Scope, feed: FeedSchema) -> Sliding:
    """The window that a call describes."""
    try:
        return _window(node, scope, feed)
    except SqlError as error:
        error.position = error.position or position_of(sql, node)
        raise


def _window(node: exp.Anonymous, scope: Scope, feed: FeedSchema) -> Sliding:
    arguments = node.expressions
    if not 2 <= len(arguments) <= 4:
        raise SqlError("bad-window", f"window takes 2 to 4 arguments, not {len(arguments)}",
                       hint=f"Write window({feed.event_time}, '10 minutes', '2 minutes').")
    moment = scope.resolve(arguments[0], aliases=False) if isinstance(arguments[0], exp.Column) else None
    if moment != scope.column(feed.event_time):
        raise SqlError("bad-window", f"the first argument of window must be the event time, {feed.event_time}")
    times = [_duration(part) for part in arguments[1:]]
    span, slide = times[0], times[min(1, len(times) - 1)]
    start = times[2] if len(times) > 2 else timedelta(0)
    check_sliding(span, slide)
    return Sliding(range=span, slide=slide, start=start)


def check_sliding(span: timedelta, slide: timedelta) -> None:
    """Refuse lengths that no sliding window has."""
    if span <= timedelta(0) or slide <= timedelta(0):
        raise SqlError("bad-window", "the range and the slide of a window must be longer than nothing")
    if slide > span:
        raise SqlError("bad-window", "the slide of a window must not be longer than its range",
                       hint="Rows between two windows would be lost; swap the two.")
    if micros(span) // micros(slide) > MAX_OVERLAP:
        raise SqlError("bad-window", f"a row would be in more than {MAX_OVERLAP:,} windows", hint="Use a longer slide.")


def _duration(node: exp.Expr) -> timedelta:
    """'10 minutes' or INTERVAL 10 MINUTES."""
    if isinstance(node, exp.Literal) and node.is_string:
        return parse_duration(node.name)
    unit = node.args.get("unit")
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and isinstance(unit, exp.Var | None):
        return parse_duration(f"{node.this.name} {unit.name if unit is not None else ''}")
    raise SqlError("bad-window", "the times of a window must be constants", hint="Write for example '10 minutes'.")
