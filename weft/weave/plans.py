"""Plans: windows in trees, and what they cost in aggregations a second (Eqs. 1 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from weft.algebra.windows import Sliding
from weft.weave.density import Density
from weft.weave.edges import edge_rate_bounds, overlap_factor
from weft.weave.progressions import total

Rate = int | float | Decimal | Fraction


def as_fraction(rate: Rate) -> Fraction:
    """Rows a second as a fraction; a float means the decimal number that it prints.

    >>> as_fraction(1.2)
    Fraction(6, 5)
    """
    exact = Fraction(str(rate)) if isinstance(rate, float) else Fraction(rate)
    if exact < 0:
        raise ValueError("a stream's rate cannot be negative")
    return exact


@dataclass(frozen=True)
class Tree:
    """Windows that share their fragments: each row is aggregated once for all of them."""

    windows: tuple[Sliding, ...]

    def __iter__(self) -> Iterator[Sliding]:
        return iter(self.windows)

    def __len__(self) -> int:
        return len(self.windows)

    @cached_property
    def edge_rate_bounds(self) -> Density:
        return edge_rate_bounds(self.windows)

    @property
    def edge_rate(self) -> Fraction:
        """Fragments a second."""
        return self.edge_rate_bounds.value

    @cached_property
    def overlap_factor(self) -> Fraction:
        """Final aggregations on every fragment."""
        return overlap_factor(self.windows)

    @property
    def final_aggregations(self) -> Fraction:
        """Final aggregations a second."""
        return self.edge_rate * self.overlap_factor

    def cost(self, rate: Rate) -> Fraction:
        """Aggregations a second: each row once, and the final aggregations (Eq. 1)."""
        return as_fraction(rate) + self.final_aggregations


@dataclass(frozen=True)
class WeavePlan:
    """A partition of the windows into trees, and the rows a second that every tree takes in."""

    trees: tuple[Tree, ...]
    rate: Fraction

    @cached_property
    def cost(self) -> Fraction:
        """Aggregations a second (Eq. 3)."""
        return self.rate * len(self.trees) + total(tree.final_aggregations for tree in self.trees)

    @cached_property
    def error(self) -> Fraction:
        """How far off the cost can be at most; zero when every edge rate is exact."""
        return total(tree.edge_rate_bounds.error * tree.overlap_factor for tree in self.trees)

    @property
    def windows(self) -> tuple[Sliding, ...]:
        return tuple(window for tree in self.trees for window in tree)

    def __str__(self) -> str:
        lines = [f"{len(self.trees)} trees, {float(self.cost):.4g} aggregations a second"]
        for tree in self.trees:
            lines.append(f"  tree: {float(tree.cost(self.rate)):.4g} a second")
            lines += [f"    {window}" for window in tree]
        return "\n".join(lines)


def plan_of(windows: tuple[Sliding, ...], groups: Iterable[Iterable[int]], rate: Fraction) -> WeavePlan:
    """The plan of a partition of the windows' indexes: trees by their first window, windows in their order."""
    ordered = sorted(sorted(group) for group in groups if group)
    return WeavePlan(tuple(Tree(tuple(windows[index] for index in group)) for group in ordered), rate)
