"""The alternatives that Weave Share is judged against: each takes windows and a rate, and returns a plan.

Where the paper says "arbitrary" or "random", the choice follows from a seed, so that a run can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from weft.algebra.windows import Sliding
from weft.weave.plans import Rate, Tree, WeavePlan, as_fraction, plan_of
from weft.weave.pricing import ONE, Bundle, Pricing
from weft.weave.share import merge

# Local Search may move ten windows for every merge of Weave Share (LS-NS-10x, the best of the paper's variants).
MOVES_PER_MERGE = 10


def share_none(windows: Iterable[Sliding], *, rate: Rate) -> WeavePlan:
    """A tree for every window."""
    return WeavePlan(tuple(Tree((window,)) for window in windows), as_fraction(rate))


def share_all(windows: Iterable[Sliding], *, rate: Rate) -> WeavePlan:
    """A single tree for all windows (shared time slices)."""
    every = tuple(windows)
    return WeavePlan((Tree(every),) if every else (), as_fraction(rate))


def random_trees(windows: Iterable[Sliding], *, rate: Rate, seed: int = 0) -> WeavePlan:
    """Every window in a random tree of as many trees as there are windows."""
    every = tuple(windows)
    groups: dict[int, list[int]] = {}
    for index, chance in zip(range(len(every)), numbers(seed), strict=False):
        groups.setdefault(chance % len(every), []).append(index)
    return plan_of(every, groups.values(), as_fraction(rate))


def insert_then_weave(windows: Iterable[Sliding], *, rate: Rate) -> WeavePlan:
    """Put each window, in turn, into the tree that it weaves best with; then merge trees.

    It weaves best where weaveability is highest, and gets a tree of its own where going there would not save.
    """
    pricing = Pricing(windows, rate=rate, twins=False)
    trees: list[Bundle] = []
    for strand in range(len(pricing.strands)):
        new = pricing.bundle([strand])
        rates = [pricing.joint_rate(new, tree) for tree in trees]
        woven = [(new.rate + tree.rate - joint) * ONE // joint for tree, joint in zip(trees, rates, strict=True)]
        nearest = max(range(len(trees)), key=woven.__getitem__, default=None)
        if nearest is None or pricing.gain(new, trees[nearest]) <= 0:
            trees.append(new)
        else:
            trees[nearest] = pricing.join(trees[nearest], new)
    return plan_of(tuple(pricing.windows), map(pricing.window_indexes, merge(pricing, trees)), pricing.rate)


def best_partner(pricing: Pricing, new: Bundle, trees: Sequence[Bundle]) -> int | None:
    """The index of the tree whose merge with the new tree saves most, or None when no merge saves."""
    best, chosen = 0, None
    for index, tree in enumerate(trees):
        # the bound is exact for trees with the same edges, so the first such tree ends the search
        if pricing.most_gain(new, tree) <= best:
            continue
        gain = pricing.gain(new, tree)
        if gain > best:
            best, chosen = gain, index
    return chosen


def local_search(
    windows: Iterable[Sliding], *, rate: Rate, seed: int = 0, iterations: int | None = None, start: str = "none"
) -> WeavePlan:
    """Move a window at a time to the tree where the plan becomes cheapest, a random window in every iteration.

    It starts from no sharing or, with `start="random"`, from random trees, and ends after `iterations` (ten for every
    window but the first, unless told otherwise) or when no window wants to move.
    """
    if start not in ("none", "random"):
        raise ValueError(f'local search starts from "none" or "random", not from {start!r}')
    pricing = Pricing(windows, rate=rate, twins=False)
    count = len(pricing.strands)
    dice = numbers(seed)
    trees: dict[int, Bundle] = {}
    home = [strand if start == "none" else next(dice) % count for strand in range(count)]
    for tree in set(home):
        trees[tree] = pricing.bundle(strand for strand in range(count) if home[strand] == tree)
    content = 0
    for _ in range(MOVES_PER_MERGE * max(0, count - 1) if iterations is None else iterations):
        strand = next(dice) % count
        content = 0 if _move(pricing, trees, home, strand) else content + 1
        # so many random windows in a row that none of them is likely to have been left out
        if content > 5 * count:
            break
    return plan_of(tuple(pricing.windows), map(pricing.window_indexes, trees.values()), pricing.rate)


def _move(pricing: Pricing, trees: dict[int, Bundle], home: list[int], strand: int) -> bool:
    """Bring a window to where the plan is cheapest with it; whether it moved."""
    single, here = pricing.bundle([strand]), home[strand]
    rest = trees[here].strands - {strand}
    left = pricing.bundle(rest) if rest else None
    # what staying saves over having a tree of its own
    best = pricing.cost(single) + pricing.cost(left) - pricing.cost(trees[here]) if left else 0
    target = here
    if best < 0:
        best, target = 0, next(free for free in range(len(home)) if free not in trees)
    for number, tree in trees.items():
        if number == here or pricing.most_gain(single, tree) <= best:
            continue
        gain = pricing.gain(single, tree)
        if gain > best:
            best, target = gain, number
    if target == here:
        return False
    if left:
        trees[here] = left
    else:
        del trees[here]
    trees[target] = pricing.join(trees[target], single) if target in trees else single
    home[strand] = target
    return True


def numbers(seed: int) -> Iterator[int]:
    """Random numbers of 32 bits that follow from the seed (splitmix64)."""
    state = seed & 0xFFFFFFFFFFFFFFFF
    while True:
        state = (state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        yield (mixed ^ (mixed >> 31)) >> 32
