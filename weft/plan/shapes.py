"""Shapes: queries as the search sees them, told apart only by what a placement depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.algebra.windows import Window
from weft.plan.finer import Dimensions
from weft.plan.needs import Needs
from weft.plan.network import Wanted


@dataclass(frozen=True)
class Choice:
    """A query as the search sees it: what it needs in either form (None where there is only a single form)."""

    shards: Needs
    matched: Needs | None = None
    eager: bool = False

    @property
    def home(self) -> str:
        """The only tree that it may be in; selections have no other."""
        return self.shards.tree if self.shards.selects else ""

    @property
    def forms(self) -> tuple[Needs, ...]:
        """What it needs in each form that it has."""
        return (self.shards,) if self.matched is None else (self.shards, self.matched)


@dataclass
class Shape:
    """Queries that differ in nothing that a placement depends on."""

    window: Window
    queries: list[str] = field(default_factory=list)
    # The nodes in either form: dimensions, and what is wanted of each.
    shards: dict[Dimensions, Wanted] = field(default_factory=dict)
    matched: dict[Dimensions, Wanted] = field(default_factory=dict)
    eager: bool = False
    # The only tree that it may be in.
    home: str = ""

    @property
    def in_trees(self) -> bool:
        """Whether it has slices, and so a tree to be in; selected rows have a tree of their own."""
        return self.window.clock.sliced and not self.home

    @property
    def can_match(self) -> bool:
        return bool(self.matched)

    @property
    def own_tree(self) -> str:
        """A tree of the shape's own."""
        return f"own {self.queries[0]}"

    def form(self, matched: bool) -> Mapping[Dimensions, Wanted]:
        """The nodes in a form."""
        return self.matched if matched else self.shards


def shapes_of(queries: Mapping[str, Choice]) -> list[Shape]:
    """The shapes of queries, in their order."""
    shapes: dict[tuple[object, ...], Shape] = {}
    for name, choice in queries.items():
        key = likeness(choice)
        shape = shapes.get(key)
        if shape is None:
            shape = shapes[key] = Shape(choice.shards.window, eager=choice.eager, home=choice.home)
        shape.queries.append(name)
        want(shape.shards, choice.shards)
        if choice.matched is not None:
            want(shape.matched, choice.matched)
    return list(shapes.values())


def likeness(choice: Choice) -> tuple[object, ...]:
    """What a placement depends on; queries that are alike in it are placed alike."""
    shards = choice.shards
    sets = tuple(part.dimensions for part in shards.parts)
    return shards.window, choice.eager, choice.matched is None, choice.home, sets


def want(nodes: dict[Dimensions, Wanted], needs: Needs) -> None:
    """Add what a query needs to what is wanted of nodes, by their dimensions."""
    for part in needs.parts:
        entry = nodes.get(part.dimensions)
        if entry is None:
            entry = nodes[part.dimensions] = Wanted(needs.window.clock, part.dimensions)
        entry.counts_values &= bool(part.values)
        entry.statistics.update(part.statistics)
        entry.windows.update(needs.window.as_sliced())
        if needs.match is not None:
            entry.matches.add(needs.match)
