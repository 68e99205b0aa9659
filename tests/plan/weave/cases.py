"""Windows to try: in seconds, as the papers have them, and strategies for random ones."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from hypothesis import strategies as st

from weft.plan import Window

SECOND = timedelta(seconds=1)


def window(length: int, slide: int, start: int = 0) -> Window:
    return Window(range=length * SECOND, slide=slide * SECOND, start=start * SECOND)


def windows(most: int, *, slides: int = 12, starts: int = 0) -> st.SearchStrategy[list[Window]]:
    """Up to so many windows with short slides, so that brute force can follow."""
    one = st.builds(
        lambda slide, turns, rest, start: window(slide * turns + rest % slide, slide, start),
        st.integers(1, slides), st.integers(1, 6), st.integers(0, slides), st.integers(0, starts),
    )
    return st.lists(one, min_size=1, max_size=most)


RATES = st.sampled_from([0, 0.5, 1.2, 7, 50, 1000])


def random_windows(random: Random, count: int, *, slides: tuple[int, int] = (2, 15), rest: bool = True) -> list[Window]:
    """Slides from the first to the last, ranges of 1 to 10 slides and a rest."""
    found = []
    for _ in range(count):
        slide = random.randint(*slides)
        found.append(window(slide * random.randint(1, 10) + (random.randrange(slide) if rest else 0), slide))
    return found
