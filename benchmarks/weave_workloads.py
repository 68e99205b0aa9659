"""Windows to plan for: the random sets of the targets, and the simulated queries of the paper's Table 1."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from weft.plan import Window

SECOND = timedelta(seconds=1)


def divisors(seconds: int) -> list[int]:
    """All whole slides that fit into so many seconds, the largest first."""
    return [slide for slide in range(seconds, 0, -1) if seconds % slide == 0]


# "Template" slides over the range of the paper's Table 1, 1 s to 100,000 s.
TEMPLATES = divisors(100_000)
# The templates of people who look at clocks.
OF_A_DAY = divisors(86_400)
# No templates: any whole number of seconds. Their composite slide has thousands of digits.
ANY_SLIDE = list(range(100_000, 0, -1))


def small_sets(count: int, seed: int = 7) -> list[tuple[list[Window], float]]:
    """Eight windows each: slides of 2 to 15 s, ranges of 1 to 10 slides and a rest, and a rate of 0.5 to 50."""
    random = Random(seed)
    found = []
    for _ in range(count):
        windows = []
        for _ in range(8):
            slide = random.randint(2, 15)
            length = slide * random.randint(1, 10) + random.randrange(slide)
            windows.append(Window(range=length * SECOND, slide=slide * SECOND))
        found.append((windows, round(random.uniform(0.5, 50), 3)))
    return found


def simulated(
    count: int, *, skew: float = 0.6, most_overlap: int = 50, slides: list[int] | None = None, seed: int = 1
) -> list[Window]:
    """Queries of Table 1: slides by Zipf's law, large ones the most popular; overlap factors uniform from 1.

    A longer list begins with the shorter one of the same seed, so that a curve over the number of queries is one
    workload that grows.
    """
    known = slides or TEMPLATES
    chances = [rank**-skew for rank in range(1, len(known) + 1)]
    random = Random(seed)
    found = []
    for _ in range(count):
        (slide,) = random.choices(known, chances)
        found.append(Window(range=round(slide * random.uniform(1, most_overlap)) * SECOND, slide=slide * SECOND))
    return found
