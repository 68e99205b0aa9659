"""Which windows were finished ahead: spans are all of the ends in order, each with the files that hold it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.read.finished import spans_of
from weft.segments.segment import SegmentRow


def file(first: int, stop: int) -> SegmentRow:
    return SegmentRow(
        node="n", layout="l", path=f"{first} to {stop}", kind="result", rank=0, batch_from=0, batch_to=0,
        time_from=first, time_to=stop, rows=0, bytes=0, checksum="",
    )


# Files of one part do not overlap: every second of these moments begins one, every other ends it.
FILES = st.lists(st.integers(-5, 40), unique=True, max_size=8).map(sorted).map(
    lambda moments: [file(first, stop) for first, stop in zip(moments[::2], moments[1::2], strict=False)])


@given(st.integers(0, 12), st.lists(FILES, max_size=3))
def test_every_window_is_in_one_span_with_the_files_that_hold_it(count: int, parts: list[list[SegmentRow]]) -> None:
    ends = range(3, 3 + 3 * count, 3)
    spans = spans_of(ends, parts)
    assert [place for span in spans for place in range(span.first, span.stop)] == list(range(count))
    for span in spans:
        for end in ends[span.first : span.stop]:
            holding = [one for files in parts for one in files if one.time_from <= end < one.time_to]
            assert span.files == (tuple(holding) if parts and len(holding) == len(parts) else ())
    unfinished = [span.first for span in spans if not span.files]
    stops = {span.stop for span in spans if not span.files}
    assert not stops.intersection(unfinished), "neighbours that are to be merged are one span"
