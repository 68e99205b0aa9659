"""Finishing ahead: which closed windows are merged in the tick that closes them, so that reading them is a look-up.

Queries are data here. Those that read one node with predicates of one shape (`saddr = ? AND length > ?`) form a family:
their constants and windows are rows of a table that is joined with the node's rows, so ten thousand of them cost a
handful of joins. Where shapes are many and constants few, the node itself is finished instead, once for each window
that somebody reads, and its readers are views on that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.algebra.expressions import Call, Expression, Literal, Slot, identity, text, transform
from weft.algebra.windows import Sliced
from weft.plan.needs import Needs, Part

# From this many queries of one shape on, joining with their constants is less work than finishing whole nodes.
MIN_FAMILY = 16
# Windows that overlap more than this are left to blocks: one pass over slices would visit every row too often.
MAX_OVERLAP = 64


@dataclass(frozen=True)
class Request:
    """One line of a family: whose windows, which windows, and the constants of its predicate."""

    id: str
    window: Sliced
    constants: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Family:
    """Requests that are finished together: over one node, by the same keys, under one condition with parameters."""

    node: str
    keys: tuple[str, ...]
    condition: Expression | None
    requests: tuple[Request, ...]

    @property
    def id(self) -> str:
        condition = text(self.condition) if self.condition is not None else ""
        # The text names the parameters of the condition; their types come with the constants.
        return identity("f", self.node, *self.keys, condition, *(str(one.type) for one in self.requests[0].constants))


@dataclass(frozen=True)
class Finished:
    """Where a query's part finds its finished windows: the family and its own line in it.

    `filtered` says that the predicate was applied already.
    """

    family: str
    request: str
    filtered: bool


def lift(residue: Expression | None) -> tuple[Expression | None, tuple[Literal, ...]]:
    """A predicate with its constants taken out: the shape, and what stood in it."""
    constants: list[Literal] = []

    def take(node: Expression) -> Expression | None:
        if isinstance(node, Call) and node.function == "round":
            # Its number of places decides how it is written: that is part of the shape.
            operand, *places = node.arguments
            return replace(node, arguments=(transform(operand, take), *places))
        if not isinstance(node, Literal):
            return None
        constants.append(node)
        return Slot(f"p{len(constants) - 1}", node.type)

    if residue is None:
        return None, ()
    return transform(residue, take), tuple(constants)


Member = tuple[str, Needs, tuple[Literal, ...]]
Shape = tuple[str, tuple[str, ...], Expression | None]


def plan_finishing(queries: Mapping[str, Needs]) -> tuple[tuple[Family, ...], dict[str, tuple[Finished, ...]]]:
    """The families of these queries, and for each query where every part of it is found."""
    shapes = _shapes(queries)
    whole: dict[str, Whole] = {}
    for shape in sorted(shapes, key=lambda one: len(shapes[one]) >= MIN_FAMILY and one[2] is not None):
        members = shapes[shape]
        # What is finished whole for somebody else is there for these too.
        covered = whole[shape[0]].windows if shape[0] in whole else {}
        rest = [member for member in members if str(member[1].window) not in covered]
        if shape[2] is None or len(rest) < MIN_FAMILY:
            entry = whole.setdefault(shape[0], Whole(_dimensions(shape[0], members[0][1]), {}))
            entry.windows.update({str(one): one for _, needs, _ in rest for one in needs.window.as_sliced()})
            rest = []
        shapes[shape] = rest
    families = [
        Family(node, one.keys, None, tuple(Request(name, window) for name, window in sorted(one.windows.items())))
        for node, one in whole.items()
    ]
    families += [
        Family(
            node,
            keys,
            condition,
            tuple(
                Request(name, window, constants)
                for name, needs, constants in members
                for window in needs.window.as_sliced()
            ),
        )
        for (node, keys, condition), members in shapes.items()
        if members
    ]
    return tuple(families), _places(queries, families)


@dataclass(frozen=True)
class Whole:
    """A node that is finished for all its groups: its dimensions, and for which windows."""

    keys: tuple[str, ...]
    windows: dict[str, Sliced]


def _shapes(queries: Mapping[str, Needs]) -> dict[Shape, list[Member]]:
    """The parts of all queries by node, keys and shape of predicate."""
    shapes: dict[Shape, list[Member]] = {}
    for name, needs in queries.items():
        if not any(window.overlap <= MAX_OVERLAP for window in needs.window.as_sliced()):
            continue
        condition, constants = lift(needs.residue)
        for part in needs.parts:
            shapes.setdefault((part.node, _keys(needs, part), condition), []).append((name, needs, constants))
    return shapes


def _places(queries: Mapping[str, Needs], families: list[Family]) -> dict[str, tuple[Finished, ...]]:
    """For every query that is finished in all its parts: where."""
    own = {
        (family.node, request.id): Finished(family.id, request.id, filtered=True)
        for family in families
        if family.condition is not None
        for request in family.requests
    }
    shared = {
        (family.node, request.id): Finished(family.id, request.id, filtered=False)
        for family in families
        if family.condition is None
        for request in family.requests
    }
    places = {}
    for name, needs in queries.items():
        found = [own.get((part.node, name)) or shared.get((part.node, str(needs.window))) for part in needs.parts]
        # One view reads all parts, so the predicate is applied to all of them or to none.
        if all(found) and len({one.filtered for one in found if one}) == 1:
            places[name] = tuple(one for one in found if one)
    return places


def finished_candidates(name: str, needs: Needs) -> list[tuple[Finished, ...]]:
    """Where every part of a query may have been finished ahead, whatever else was registered then.

    Under its own line of a family first, else with its whole node.
    """
    window = needs.window
    if not isinstance(window, Sliced) or window.overlap > MAX_OVERLAP:
        return []
    condition, constants = lift(needs.residue)
    line, kind = (Request(name, window, constants),), (Request(str(window), window),)
    own = [Family(part.node, _keys(needs, part), condition, line).id for part in needs.parts]
    whole = [Family(part.node, _dimensions(part.node, needs), None, kind).id for part in needs.parts]
    places = [tuple(Finished(family, str(window), filtered=False) for family in whole)]
    return places if condition is None else [tuple(Finished(family, name, filtered=True) for family in own), *places]


def _dimensions(node: str, needs: Needs) -> tuple[str, ...]:
    dimensions = next(part.dimensions for part in needs.parts if part.node == node)
    return tuple(sorted(one.name for one in dimensions))


def _keys(needs: Needs, part: Part) -> tuple[str, ...]:
    """What the part is grouped by once its predicate is applied."""
    return tuple(sorted({one.name for one in (*needs.groups, *needs.carried, *part.values)}))
