"""The trees that Weave Share finds for the windows of shapes, as candidates of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from weft.algebra.windows import Sliced
from weft.plan.decide import Decider
from weft.plan.finer import Dimensions
from weft.plan.shapes import Shape
from weft.weave.share import weave_share

# Weave Share's rate is rows for a fragment's worth of work; what a fragment costs here depends on more, so several
# rates are tried.
RATES = (0.1, 1.0, 10.0)
# How far each plan of Weave Share is refined: a second or so.
REFINING = 60_000
# Beyond this many windows a single rate must do.
MANY_WINDOWS = 200


def woven(
    shapes: Sequence[Shape], decider: Decider, stop: Callable[[], bool], *, refined: bool
) -> Iterator[dict[int, str]]:
    """The trees of shapes, by their indexes: for the windows of all, and if they are refined, of each dimension set."""
    sets: dict[Dimensions, list[int]] = {}
    for index, shape in enumerate(shapes):
        for dimensions in shape.shards if shape.in_trees else ():
            sets.setdefault(dimensions, []).append(index)
    everyone = [index for index, shape in enumerate(shapes) if shape.in_trees]
    for indexes in [everyone, *(sorted(sets.values(), key=len, reverse=True) if refined else ())]:
        windows = {window for index in indexes for window in shapes[index].window.as_sliced()}
        if len(windows) < 2:
            continue
        refine = refined and len(windows) <= MANY_WINDOWS
        for rate in _rates(shapes, decider, indexes, len(windows)):
            plan = weave_share(sorted(windows, key=str), rate=rate, refine=refine, effort=REFINING, stop=stop)
            trees = {window: _label(tree) for tree in plan.trees for window in tree}
            yield {index: trees[window] for index in indexes for window in shapes[index].window.as_sliced()}


def _rates(shapes: Sequence[Shape], decider: Decider, indexes: Iterable[int], windows: int) -> list[float]:
    """Weave Share's rates for these shapes: rows a second over what a fragment's groups cost."""
    facts, costs = decider.facts, decider.costs
    a_row = costs.group + costs.measure
    groups = [
        decider.estimates.kinds_of(decider.mask(dimensions)) for index in indexes for dimensions in shapes[index].shards
    ]
    fragment = min(max(groups, default=1.0), facts.rows) * (costs.out + costs.store + costs.visit)
    rate = facts.rows / facts.span * 1e6 * a_row / max(fragment, 1e-12)
    return [round(max(rate * factor, 1e-6), 6) for factor in (RATES if windows <= MANY_WINDOWS else (1.0,))]


def _label(tree: Iterable[Sliced]) -> str:
    return "; ".join(sorted(map(str, tree)))
