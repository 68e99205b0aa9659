"""The cell of a value as Spark SQL: the last of many cuts at or below it, in a few steps however many cuts there are.

A search halves what is left of the cuts. Among whole numbers that are spread more or less evenly it starts with a jump:
a division says about where in the cuts a value is, and a step or two are left of ten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.plan.dimensions import Cut

# A jump takes about as long as this many steps.
SPARED = 3
LEAST_JUMPED, MOST_PIECES, WIDEST_JUMP = 1 << SPARED, 4096, 1 << 62


@dataclass(frozen=True)
class Jump:
    """Where a search among whole numbers starts: equal pieces between the first cut and the last, and in `starts` the
    index of the last cut at or below the beginning of every piece. From there it is at most `ahead` to the cut."""

    first: int
    last: int
    width: int
    starts: tuple[int, ...]
    ahead: int

    def sql(self, value: str, cut_count: int) -> str:
        """The index to start at; before the first cut and after the last cut it is known at once."""
        piece = f"CAST((CAST({value} AS BIGINT) - {self.first}L) DIV {self.width}L AS INT)"
        starts = f"get(array({', '.join(map(str, self.starts))}), {piece})"
        ends = f"WHEN {value} < {self.first}L THEN 0 WHEN {value} >= {self.last}L THEN {cut_count - 1}"
        return f"CASE {ends} ELSE {starts} END"


def jump_into(points: Sequence[Cut]) -> Jump | None:
    """The jump into these points, None where it saves no steps; the first of the points is below every value."""
    cuts = [point for point in points[1:] if isinstance(point, int)]
    if len(cuts) < LEAST_JUMPED or len(cuts) + 1 < len(points) or cuts[-1] - cuts[0] >= WIDEST_JUMP:
        return None
    pieces = min(MOST_PIECES, 2 << (len(cuts) - 1).bit_length())
    width = -(-(cuts[-1] - cuts[0] + 1) // pieces)
    begins = range(cuts[0], cuts[-1] + 1, width)
    starts = tuple(bisect_right(cuts, begin) for begin in begins)
    ends = (bisect_right(cuts, begin + width - 1) for begin in begins)
    ahead = max(end - start for start, end in zip(starts, ends, strict=True))
    if ahead.bit_length() + SPARED > len(cuts).bit_length():
        return None
    return Jump(cuts[0], cuts[-1], width, starts, ahead)


@dataclass(frozen=True)
class Search:
    """A search for the last of `cuts` at or below a value, by halving: a projection a step, shared by all searches.

    A step adds its power of two where the cut that far ahead is still at or below the value; past the end of the array
    `get` gives NULL, which is not. The first cut is below every value. A jump puts it close to where it ends.
    """

    name: str
    value: str
    cuts: tuple[str, ...]
    jump: Jump | None = None

    def start(self) -> list[str]:
        """The columns that the steps work on: the value, the cuts, and the index to start at."""
        begin = "0" if self.jump is None else self.jump.sql(self.value, len(self.cuts))
        return [
            f"{self.value} AS {self.name}_value",
            f"array({', '.join(self.cuts)}) AS {self.name}_cuts",
            f"{begin} AS {self.name}_at",
        ]

    def steps(self) -> Iterator[str]:
        """The position after every step."""
        ahead = len(self.cuts) - 1 if self.jump is None else self.jump.ahead
        power = 1 << max(0, ahead.bit_length() - 1)
        while power and ahead:
            cut = f"get({self.name}_cuts, {self.name}_at + {power})"
            yield f"{self.name}_at + IF({self.name}_value >= {cut}, {power}, 0) AS {self.name}_at"
            power //= 2

    def result(self) -> str:
        """The cut that the search ends at; NULL for no value."""
        return f"IF({self.name}_value IS NULL, NULL, get({self.name}_cuts, {self.name}_at)) AS {self.name}"


def layers(searches: list[Search]) -> str:
    """The rows with every search done: nested projections, as many as the longest search has steps."""
    if not searches:
        return "{rows}"
    layer = "SELECT *, " + ", ".join(part for search in searches for part in search.start()) + " FROM {rows}"
    pending = [(search, list(search.steps())) for search in searches]
    for turn in range(max(len(steps) for _, steps in pending)):
        moving = {f"{search.name}_at": steps[turn] for search, steps in pending if turn < len(steps)}
        layer = f"SELECT * EXCEPT ({', '.join(moving)}), {', '.join(moving.values())} FROM ({layer})"
    return f"({layer})"
