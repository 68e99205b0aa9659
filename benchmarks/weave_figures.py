"""Figures 4 to 11 and 14 of Weave Share from our runs: the curves, and the claims that the paper makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean

from benchmarks.weave_workloads import simulated
from weft.plan import (
    IncrementalWeave,
    Operations,
    Window,
    insert_then_weave,
    local_search,
    random_trees,
    share_all,
    share_none,
    weave_share,
)

Log = Callable[[str], None]
Curve = dict[float, float]

LOW, MEDIUM, HIGH = 50, 300, 10_000
COUNTS = (50, 100, 250, 500, 750, 1_000)
SEEDS = 5


@dataclass
class Figure:
    """Curves over x by name, and what the paper says of them with whether ours say the same."""

    number: int
    title: str
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    curves: dict[str, Curve] = field(default_factory=dict)
    claims: list[tuple[str, bool]] = field(default_factory=list)

    def put(self, curve: str, x: float, y: float) -> None:
        self.curves.setdefault(curve, {})[x] = y

    def claim(self, text: str, holds: bool) -> None:
        self.claims.append((text, holds))


def goes_down(values: Iterable[float], slack: float = 0.05) -> bool:
    """Whether the last is below the first, and no step up is more than the slack."""
    known = list(values)
    return known[-1] < known[0] and all(
        later <= earlier * (1 + slack) for earlier, later in zip(known, known[1:], strict=False)
    )


def goes_up(values: Iterable[float], slack: float = 0.05) -> bool:
    return goes_down([-value for value in values], -slack)


def by_random(windows: Sequence[Window], rate: float) -> float:
    """The mean of several random plans."""
    return mean(float(random_trees(windows, rate=rate, seed=seed).cost) for seed in range(SEEDS))


def policies(number: int, rate: int, counts: Sequence[int], log: Log) -> Figure:
    """Figures 4 and 5: cost by policy over the number of windows."""
    figure = Figure(number, f"{rate} rows/s", "windows", "aggregations a second", log_y=True)
    every = simulated(max(counts))
    for count in counts:
        windows = every[:count]
        for name, cost in {
            "Weave Share": float(weave_share(windows, rate=rate).cost),
            "Insert-then-Weave": float(insert_then_weave(windows, rate=rate).cost),
            "Local Search": float(local_search(windows, rate=rate).cost),
            "Shared": float(share_all(windows, rate=rate).cost),
            "Random": by_random(windows, rate),
            "No Share": float(share_none(windows, rate=rate).cost),
        }.items():
            figure.put(name, count, cost)
        log(f"figure {number}, {count} windows: " + ", ".join(f"{k} {v[count]:,.0f}" for k, v in figure.curves.items()))
    last = {name: curve[max(counts)] for name, curve in figure.curves.items()}
    others = [curve for name, curve in figure.curves.items() if name != "Weave Share"]
    figure.claim(
        "Weave Share is below all others at every number of windows",
        all(figure.curves["Weave Share"][count] <= min(curve[count] for curve in others) for count in counts),
    )
    order = sorted(last, key=last.__getitem__)
    figure.claim("No Share and Random are the dearest", set(order[-2:]) == {"No Share", "Random"})
    if rate == LOW:
        figure.claim("Local Search is below Shared at a low rate", last["Local Search"] < last["Shared"])
        figure.claim("Insert-then-Weave is below Shared at a low rate", last["Insert-then-Weave"] < last["Shared"])
    else:
        figure.claim("Shared is below Local Search at a medium rate", last["Shared"] < last["Local Search"])
        figure.claim(
            "Shared is not above Insert-then-Weave at a medium rate", last["Shared"] <= last["Insert-then-Weave"]
        )
    return figure


def against_shared(counts: Sequence[int], log: Log) -> list[Figure]:
    """Figures 6 and 7: Weave Share over Shared, and its number of trees."""
    ratio = Figure(6, "Weave Share over Shared", "windows", "cost over Shared's")
    trees = Figure(7, "trees of Weave Share", "windows", "trees", log_y=True)
    every = simulated(max(counts))
    for rate in (LOW, MEDIUM, HIGH):
        for count in counts:
            plan = weave_share(every[:count], rate=rate)
            ratio.put(f"{rate:,} rows/s", count, float(plan.cost / share_all(every[:count], rate=rate).cost))
            trees.put(f"{rate:,} rows/s", count, len(plan.trees))
        log(f"figures 6 and 7, {rate} rows/s: {list(trees.curves.values())[-1]}")
    ratio.claim("the gain over Shared grows with the windows", all(map(_falls, ratio.curves.values())))
    low, medium, high = ([*curve.values()] for curve in ratio.curves.values())
    ratio.claim("the gain is larger at lower rates", all(_ordered(low, medium)) and all(_ordered(medium, high)))
    ratio.claim("few windows at a high rate are one shared tree", high[0] == 1)
    trees.claim("more windows make more trees", all(goes_up(curve.values()) for curve in trees.curves.values()))
    few, some, many = ([*curve.values()] for curve in trees.curves.values())
    trees.claim("a higher rate makes fewer trees", all(_ordered(some, few)) and all(_ordered(many, some)))
    trees.claim("a high rate still makes more than one tree for many windows", many[-1] > 1)
    return [ratio, trees]


def _falls(curve: Curve) -> bool:
    return goes_down(curve.values())


def _ordered(lower: Sequence[float], higher: Sequence[float]) -> list[bool]:
    return [one <= other for one, other in zip(lower, higher, strict=True)]


def over_rates(counts: Sequence[int], log: Log) -> Figure:
    """Figure 8: Weave Share over Shared as the rate grows."""
    figure = Figure(8, "rate of the stream", "rows/s", "cost over Shared's", log_x=True)
    every = simulated(max(counts))
    for count in counts:
        for rate in (50, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000):
            windows = every[:count]
            ratio = weave_share(windows, rate=rate).cost / share_all(windows, rate=rate).cost
            figure.put(f"{count:,} windows", rate, float(ratio))
        log(f"figure 8, {count} windows: {[f'{y:.2f}' for y in figure.curves[f'{count:,} windows'].values()]}")
    figure.claim(
        "Weave Share approaches Shared as the rate grows", all(goes_up(c.values()) for c in figure.curves.values())
    )
    ends = [curve[10_000] for curve in figure.curves.values()]
    figure.claim("at 10,000 rows/s it still gains with many windows, the more the larger", goes_down(ends))
    return figure


def over_overlaps(count: int, log: Log) -> Figure:
    """Figure 9: Weave Share over Shared as windows become longer."""
    figure = Figure(9, f"largest overlap factor, {count:,} windows", "largest overlap factor", "cost over Shared's")
    for rate in (100, 1_000, 10_000, 100_000, 1_000_000):
        for most in (50, 200, 500, 1_000, 2_000):
            windows = simulated(count, most_overlap=most)
            ratio = weave_share(windows, rate=rate).cost / share_all(windows, rate=rate).cost
            figure.put(f"{rate:,} rows/s", most, float(ratio))
        log(f"figure 9, {rate} rows/s: {[f'{y:.2f}' for y in figure.curves[f'{rate:,} rows/s'].values()]}")
    moving = [curve for rate, curve in figure.curves.items() if min(curve.values()) < 1]
    figure.claim("longer windows gain more", all(list(c.values())[-1] < list(c.values())[0] for c in moving))
    figure.claim(
        "at 100,000 rows/s short windows are one tree, long ones are not",
        figure.curves["100,000 rows/s"][50] == 1 > figure.curves["100,000 rows/s"][2_000],
    )
    return figure


def over_skews(counts: Sequence[int], log: Log) -> Figure:
    """Figure 10: Weave Share over Shared as large slides become the only ones."""
    figure = Figure(10, "skew of the slides", "skew", "cost over Shared's")
    skews = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 3.3)
    for count in counts:
        for skew in skews:
            windows = simulated(count, skew=skew, most_overlap=10)
            ratio = weave_share(windows, rate=100).cost / share_all(windows, rate=100).cost
            figure.put(f"{count:,} windows", skew, float(ratio))
        log(f"figure 10, {count} windows: {[f'{y:.2f}' for y in figure.curves[f'{count:,} windows'].values()]}")
    lowest = [min(curve, key=curve.__getitem__) for curve in figure.curves.values()]
    figure.claim("the gain grows with the skew up to a maximum", all(0 < skew < 3.3 for skew in lowest))
    figure.claim("and then shrinks until all share one tree", all(c[3.3] > 0.9 for c in figure.curves.values()))
    figure.claim(
        "more windows have a larger largest gain", goes_down([min(c.values()) for c in figure.curves.values()])
    )
    return figure


def over_tolerances(count: int, log: Log) -> Figure:
    """Figure 11: mean error against a plan made from nothing, over how many pairs of trees were looked at."""
    figure = Figure(
        11, "tolerance of the incremental plan", "pairs of trees looked at", "mean relative error", log_x=True
    )
    windows = simulated(count)
    places = range(10, count + 1, 10)
    offline = {place: weave_share(windows[:place], rate=LOW).cost for place in places}
    errors, work = [], []
    tolerances = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, float("inf"))
    for tolerance in tolerances:
        operations = Operations()
        weave = IncrementalWeave(rate=LOW, tolerance=tolerance, operations=operations)
        found = []
        for place, window in enumerate(windows, start=1):
            weave.add(window)
            if place in offline:
                found.append(float(weave.plan.cost / offline[place]) - 1)
        errors.append(mean(found))
        work.append(operations.evaluations)
        figure.put(f"tolerance {tolerance:.0%}" if tolerance < 2 else "never anew", work[-1], errors[-1])
        log(
            f"figure 11, tolerance {tolerance}: error {errors[-1]:.2%}, {work[-1]:,} pairs, "
            f"{weave.reconstructions} reconstructions"
        )
    figure.claim("a larger tolerance looks at fewer pairs", all(a >= b for a, b in zip(work, work[1:], strict=False)))
    figure.claim("a larger tolerance has a larger error", errors[-1] == max(errors) > max(errors[:3]))
    figure.claim(
        "the error is within the tolerance", all(e <= t for e, t in zip(errors, tolerances, strict=True) if t > 0)
    )
    return figure


def speed_ups(totals: dict[str, int]) -> Figure:
    """Figure 14: counted operations with one speed-up after the other."""
    figure = Figure(14, "speed-ups", "", "counted operations", log_y=True)
    for place, (name, count) in enumerate(totals.items()):
        figure.put(name, place, count)
    counts = list(totals.values())
    figure.claim("every speed-up saves", all(a > b for a, b in zip(counts, counts[1:], strict=False)))
    figure.claim("all together save three orders of magnitude", counts[0] >= 1_000 * counts[-1])
    return figure
