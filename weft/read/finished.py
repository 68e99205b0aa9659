"""Which of a query's windows were finished ahead, and in which files; the others are merged when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from weft.segments.segment import SegmentRow


@dataclass(frozen=True)
class Span:
    """Neighbouring windows, by the positions of their ends: from `first` to before `stop`.

    If the span was finished ahead, `files` has a file for every part of the query; otherwise it is empty.
    """

    first: int
    stop: int
    files: tuple[SegmentRow, ...] = ()


def spans_of(ends: Sequence[int], parts: Sequence[Sequence[SegmentRow]]) -> list[Span]:
    """Divide these ends, oldest first, into spans; `parts` are the files of finished windows that each part has.

    A window is finished where all parts have it.
    """
    finished = [Span(0, len(ends))] if parts else []
    for files in parts:
        finished = [piece for span in finished for piece in _pieces(ends, span, files)]
    spans, at = [], 0
    for span in finished:
        if at < span.first:
            spans.append(Span(at, span.first))
        spans.append(span)
        at = span.stop
    return [*spans, Span(at, len(ends))] if at < len(ends) else spans


def _pieces(ends: Sequence[int], span: Span, files: Sequence[SegmentRow]) -> list[Span]:
    """Cut out the pieces of a span that these files hold, each with its file beside the files of the parts before."""
    pieces, at = [], span.first
    for file in sorted(files, key=lambda file: file.time_from):
        first = max(at, bisect_left(ends, file.time_from))
        stop = min(span.stop, bisect_left(ends, file.time_to))
        if first < stop:
            pieces.append(Span(first, stop, (*span.files, file)))
            at = stop
    return pieces
