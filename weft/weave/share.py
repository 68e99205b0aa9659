"""`weave_share`: the optimizer that groups windows into the trees that weave best together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from weft.algebra.windows import Sliding
from weft.weave.greedy import merge_greedily
from weft.weave.lazy import LazyMerges
from weft.weave.operations import Operations
from weft.weave.plans import Rate, Tree, WeavePlan, plan_of
from weft.weave.pricing import Bundle, Pricing
from weft.weave.probing import ProbingWork
from weft.weave.refine import EFFORT, Refiner

# Up to here every pair of trees is priced; beyond, gains of grown trees are estimated first.
MOST_PRICED_PAIRWISE = 256
# Beyond this, trees are first merged among so many at a time, until one tree in so many is left.
CHUNK = 512
KEPT = 4


def weave_share(  # noqa: PLR0913 - every switch is the paper's
    windows: Iterable[Sliding],
    *,
    rate: Rate,
    refine: bool = False,
    cost_lookup: bool = True,
    edge_bitmap: bool = True,
    probing_order: bool = True,
    merge_twins: bool = True,
    operations: Operations | None = None,
    effort: int = EFFORT,
    stop: Callable[[], bool] = lambda: False,
) -> WeavePlan:
    """Merge the two trees that save most until no merge saves; never dearer than sharing nothing or everything.

    `refine` goes on with moves, swaps and splits, and with a second start from a single tree, as far as
    `effort` goes, and until `stop` says so. The other switches change what the search costs (`operations` counts
    it) and not what it finds: `cost_lookup`, `edge_bitmap` and `probing_order` come from Section 8, `merge_twins`
    treats windows with the same edges as a single window from the start, since they are the pairs that save most.

    >>> from datetime import timedelta
    >>> s = lambda n: timedelta(seconds=n)
    >>> windows = [Sliding(range=s(r), slide=s(n)) for r, n in ((16, 4), (10, 5), (8, 4))]
    >>> plan = weave_share(windows, rate=1.2)
    >>> float(plan.cost), [len(tree) for tree in plan.trees]
    (4.3, [2, 1])
    """
    pricing = Pricing(windows, rate=rate, twins=merge_twins)
    work = None
    if operations is not None:
        work = ProbingWork(pricing, operations, edge_bitmap=edge_bitmap, probing_order=probing_order)
    singles = [pricing.bundle([strand]) for strand in range(len(pricing.strands))]
    bundles = merge(pricing, singles, cost_lookup=cost_lookup, work=work)
    if refine and bundles:
        whole = [pricing.bundle(range(len(singles)))]
        bundles = Refiner(pricing, effort, stop).best_of([bundles, whole])
    return best_plan(pricing, bundles)


def merge(
    pricing: Pricing, bundles: Sequence[Bundle], *, cost_lookup: bool = True, work: ProbingWork | None = None
) -> list[Bundle]:
    """Greedy merges: pair by pair where that is affordable or the work is to be counted, else by estimates."""
    if work or not cost_lookup or len(bundles) <= MOST_PRICED_PAIRWISE:
        return merge_greedily(pricing, bundles, cost_lookup=cost_lookup, work=work)
    grown = list(bundles)
    while len(grown) > CHUNK:
        before = len(grown)
        # trees with about as many edges stand together: only they may gain by a merge
        grown.sort(key=lambda tree: (tree.rate, min(tree.strands)))
        chunks = [grown[index : index + CHUNK] for index in range(0, before, CHUNK)]
        grown = [tree for chunk in chunks for tree in LazyMerges(pricing, chunk).run(until=len(chunk) // KEPT)]
        if 2 * len(grown) > before:
            break
    grown = LazyMerges(pricing, grown).run()
    # estimates may have missed a merge that saves; few trees are left to look at
    return merge_greedily(pricing, grown) if len(grown) <= MOST_PRICED_PAIRWISE else grown


def best_plan(pricing: Pricing, bundles: Sequence[Bundle]) -> WeavePlan:
    """The plan of these trees, or a single tree of everything, or a tree for each strand, if that is cheaper.

    Greedy merges alone promise only that they are not dearer than the last. Plans are compared by the exact
    prices that the user sees.
    """
    windows = tuple(pricing.windows)
    merged = plan_of(windows, map(pricing.window_indexes, bundles), pricing.rate)
    if len(windows) <= 1:
        return merged
    # a tree for each strand is never dearer than a tree for each window
    apart = plan_of(windows, [strand.window_indexes for strand in pricing.strands], pricing.rate)
    together = WeavePlan((Tree(windows),), pricing.rate)
    return min((merged, together, apart), key=lambda plan: plan.cost)
