"""Finishing ahead: which closed windows are merged in the tick that closes them, so that reading them is a look-up.

Queries are data here. Queries that read the same node with predicates of the same shape (`saddr = ? AND length > ?`)
form a family: their constants and windows are rows of a table that is joined with the node's rows, so ten thousand of
them cost a handful of joins. Where shapes are many and constants few, the node itself is finished instead, once for
each window that somebody reads, and its readers are views on that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.algebra.expressions import Call, Expression, Literal, Slot, identity, text, transform
from weft.algebra.windows import Sliced
from weft.plan.needs import Needs, Part

# From this many queries of the same shape on, joining with their constants is less work than finishing whole nodes.
MIN_FAMILY = 16
# Windows that overlap more than this are left to blocks: a pass over slices would visit every row too often.
MAX_OVERLAP = 64


@dataclass(frozen=True)
class Request:
    """A line of a family: whose windows, which windows, and the constants of its predicate."""

    id: str
    window: Sliced
    constants: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Family:
    """Requests that are finished together: over a node, by the same keys, under the same condition with parameters."""

    node: str
    keys: tuple[str, ...]
    condition: Expression | None
    requests: tuple[Request, ...]

    @property
    def id(self) -> str:
        condition = text(self.condition) if self.condition is not None else ""
        # The text names the parameters of the condition; their types come with the constants.
        types = (str(constant.type) for constant in self.requests[0].constants)
        return identity("f", self.node, *self.keys, condition, *types)


@dataclass(frozen=True)
class FinishedSource:
    """Where a query's part finds its finished windows: the family and its own line in it.

    `filtered` says that the predicate was applied already.
    """

    family: str
    request: str
    filtered: bool


def lift(residue: Expression | None) -> tuple[Expression | None, tuple[Literal, ...]]:
    """Take the constants out of a predicate: its shape, and the constants that stood in it."""
    constants: list[Literal] = []

    def take(node: Expression) -> Expression | None:
        if isinstance(node, Call) and node.function == "round":
            # Its number of digits decides how it is written: that is part of the shape.
            operand, *digits = node.arguments
            return replace(node, arguments=(transform(operand, take), *digits))
        if not isinstance(node, Literal):
            return None
        constants.append(node)
        return Slot(f"p{len(constants) - 1}", node.type)

    if residue is None:
        return None, ()
    return transform(residue, take), tuple(constants)


Member = tuple[str, Needs, tuple[Literal, ...]]
FamilyShape = tuple[str, tuple[str, ...], Expression | None]


def plan_finishing(queries: Mapping[str, Needs]) -> tuple[tuple[Family, ...], dict[str, tuple[FinishedSource, ...]]]:
    """The families of these queries, and for each query where every part of it is finished."""
    shapes = _shapes(queries)
    whole: dict[str, Whole] = {}
    for shape in sorted(shapes, key=lambda shape: len(shapes[shape]) >= MIN_FAMILY and shape[2] is not None):
        members = shapes[shape]
        # Windows of the node that are finished whole for other queries serve these queries too.
        covered = whole[shape[0]].windows if shape[0] in whole else {}
        rest = [member for member in members if str(member[1].window) not in covered]
        if shape[2] is None or len(rest) < MIN_FAMILY:
            entry = whole.setdefault(shape[0], Whole(_dimensions(shape[0], members[0][1]), {}))
            entry.windows.update({str(window): window for _, needs, _ in rest for window in needs.window.as_sliced()})
            rest = []
        shapes[shape] = rest
    families = [
        Family(node, entry.keys, None, tuple(Request(name, window) for name, window in sorted(entry.windows.items())))
        for node, entry in whole.items()
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
    return tuple(families), _finished_of(queries, families)


@dataclass(frozen=True)
class Whole:
    """A node that is finished for all its groups: its dimensions, and for which windows."""

    keys: tuple[str, ...]
    windows: dict[str, Sliced]


def _shapes(queries: Mapping[str, Needs]) -> dict[FamilyShape, list[Member]]:
    """The parts of all queries by node, keys and shape of predicate."""
    shapes: dict[FamilyShape, list[Member]] = {}
    for name, needs in queries.items():
        if not any(window.overlap <= MAX_OVERLAP for window in needs.window.as_sliced()):
            continue
        condition, constants = lift(needs.residue)
        for part in needs.parts:
            shapes.setdefault((part.node, _keys(needs, part), condition), []).append((name, needs, constants))
    return shapes


def _finished_of(queries: Mapping[str, Needs], families: list[Family]) -> dict[str, tuple[FinishedSource, ...]]:
    """Where each query is finished, part by part, for the queries that are finished in all parts."""
    own = {
        (family.node, request.id): FinishedSource(family.id, request.id, filtered=True)
        for family in families
        if family.condition is not None
        for request in family.requests
    }
    shared = {
        (family.node, request.id): FinishedSource(family.id, request.id, filtered=False)
        for family in families
        if family.condition is None
        for request in family.requests
    }
    finished = {}
    for name, needs in queries.items():
        entries = [own.get((part.node, name)) or shared.get((part.node, str(needs.window))) for part in needs.parts]
        # A single view reads all parts, so the predicate is applied to all of them or to none.
        if all(entries) and len({entry.filtered for entry in entries if entry}) == 1:
            finished[name] = tuple(entry for entry in entries if entry)
    return finished


def finished_candidates(name: str, needs: Needs) -> list[tuple[FinishedSource, ...]]:
    """Where every part of a query may have been finished ahead, whatever else was registered then.

    The query's own line of a family comes first, then the whole node.
    """
    window = needs.window
    if not isinstance(window, Sliced) or window.overlap > MAX_OVERLAP:
        return []
    condition, constants = lift(needs.residue)
    line, kind = (Request(name, window, constants),), (Request(str(window), window),)
    own = [Family(part.node, _keys(needs, part), condition, line).id for part in needs.parts]
    whole = [Family(part.node, _dimensions(part.node, needs), None, kind).id for part in needs.parts]
    by_node = [tuple(FinishedSource(family, str(window), filtered=False) for family in whole)]
    if condition is None:
        return by_node
    return [tuple(FinishedSource(family, name, filtered=True) for family in own), *by_node]


def _dimensions(node: str, needs: Needs) -> tuple[str, ...]:
    dimensions = next(part.dimensions for part in needs.parts if part.node == node)
    return tuple(sorted(dimension.name for dimension in dimensions))


def _keys(needs: Needs, part: Part) -> tuple[str, ...]:
    """The names of the dimensions that a part is grouped by once its predicate is applied."""
    return tuple(sorted({dimension.name for dimension in (*needs.groups, *needs.carried, *part.values)}))
