"""Predicates become dimensions: rows that no predicate in play tells apart are aggregated together.

A WHERE clause is taken apart into atoms. Each atom asks for a dimension from which its truth can be read again after
grouping, so that queries with different constants share a node:

    x = 5, x IN (..)     the value of x                     ten thousand entities are a single dimension
    x > 5, x <= 7        the cell of x between the cuts     looked up by halving, whatever the number of thresholds
    anything else        the truth of the atom itself       evaluated once a row
    what could fail      the truth of the whole predicate   a part may guard another

Values and cells serve every query that compares the same thing, and multiply the groups. Where they would be too many,
all that the query's own groups cannot answer stays in one piece (`split`): a match, which only rows that it keeps have
a part in. In states of older versions it is a truth (`whole`), which every row has.

`shard` returns the dimensions and the predicate over them (the residue) that a reader applies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from weft.algebra.expressions import Call, Column, Expression, Literal, Slot, conjunction, conjuncts, transform, walk
from weft.algebra.functions import is_portable
from weft.algebra.safety import can_fail
from weft.algebra.types import BIGINT, BOOLEAN, DATE, INT, INTEGRAL_BITS, DataType
from weft.plan.dimensions import EXACT, Cut, Dimension, highest_decimal

CONNECTIVES = frozenset({"and", "or", "not"})
# Functions whose infinity has the sign of the zero: pow(-0.0, -1) is -Infinity. Keys hold 0.0 for either zero.
SIGNED_AT_ZERO = frozenset({"pow"})


@dataclass(frozen=True)
class Sharding:
    """What a predicate asks of a node: dimensions, the cuts of dimensions with cells, and the residue over slots."""

    dimensions: frozenset[Dimension]
    cuts: tuple[tuple[str, frozenset[Cut]], ...]
    residue: Expression | None


@dataclass(frozen=True)
class Comparison:
    """An atom `operand op literal` where op is = < <= > or >=."""

    operand: Expression
    operator: str
    value: Cut


def shard(where: Expression | None, present: Iterable[Dimension], *, whole: bool = False) -> Sharding:
    """Take a predicate apart over the dimensions that the query has anyway."""
    if where is None:
        return Sharding(frozenset(), (), None)
    if whole and not can_fail(where):
        return _shard_whole(where, frozenset(present))
    if can_fail(where):
        # A part may guard another, as in x <> 0 AND y / x > 5: only the whole is safe on every row.
        truth = Dimension(where)
        return Sharding(frozenset({truth}), (), Slot(truth.name, BOOLEAN))
    values = {dimension.expression: dimension for dimension in present if not dimension.cells}
    atoms = list(_atoms(where))
    for atom in atoms:
        operand = _equated(atom)
        if operand is not None and operand not in values and not _in_cells(operand.type):
            values[operand] = Dimension(operand)
    cells = {
        _ordinal(atom.operand)
        for atom in filter(None, map(_comparison, atoms))
        if atom.operand not in values and _ordinal(atom.operand) is not None
    }
    cuts: dict[str, set[Cut]] = {}
    used: set[Dimension] = set()

    def read(node: Expression) -> Expression | None:
        if isinstance(node, Call) and node.function in CONNECTIVES or isinstance(node, Literal):
            return None
        return _read_atom(node, values, cells, cuts, used)

    residue = transform(where, read)
    return Sharding(frozenset(used), tuple(sorted((name, frozenset(points)) for name, points in cuts.items())), residue)


@dataclass(frozen=True)
class Split:
    """A predicate in two: what the present dimensions answer, and the rest, None where there is none."""

    free: tuple[Sharding, ...]
    rest: Expression | None

    @property
    def used(self) -> frozenset[Dimension]:
        """The present dimensions that answer for a part of the predicate."""
        return frozenset(dimension for taken in self.free for dimension in taken.dimensions)

    def residue(self, rest: Expression) -> Expression | None:
        """The predicate over slots, where the rest is read as this expression."""
        return conjunction((*(taken.residue for taken in self.free if taken.residue), rest))


def split(where: Expression | None, present: Iterable[Dimension]) -> Split:
    """Split a predicate; what could fail stays whole, because its parts may guard each other."""
    if where is None or can_fail(where):
        return Split((), where)
    dimensions = frozenset(present)
    free: list[Sharding] = []
    rest: list[Expression] = []
    for conjunct in conjuncts(where):
        taken = shard(conjunct, dimensions)
        if taken.dimensions <= dimensions:
            free.append(taken)
        else:
            rest.append(conjunct)
    return Split(tuple(free), conjunction(tuple(rest)))


def _shard_whole(where: Expression, present: frozenset[Dimension]) -> Sharding:
    """Take a predicate apart: what the present dimensions answer is read from them, the rest is a single truth."""
    parts = split(where, present)
    if parts.rest is None:
        return shard(where, present)
    truth = Dimension(parts.rest)
    return Sharding(parts.used | {truth}, (), parts.residue(Slot(truth.name, BOOLEAN)))


def _read_atom(
    atom: Expression,
    values: dict[Expression, Dimension],
    cells: set[Expression | None],
    cuts: dict[str, set[Cut]],
    used: set[Dimension],
) -> Expression:
    """The atom over slots; notes the dimensions and cuts that it uses."""
    compared = _comparison(atom)
    if compared is not None and compared.operand not in values:
        ordinal = _ordinal(compared.operand)
        answer = _read_cells(compared, ordinal, cuts, used) if ordinal is not None else None
        if answer is not None:
            return answer
    direct = _over_values(atom, values, cells, used)
    if direct is not None:
        return direct
    truth = Dimension(atom)
    used.add(truth)
    return Slot(truth.name, BOOLEAN)


def _over_values(
    atom: Expression, values: dict[Expression, Dimension], cells: set[Expression | None], used: set[Dimension]
) -> Expression | None:
    """The atom computed from dimensions that are there anyway, or None where it reads anything else."""
    read_from: set[Dimension] = set()
    signed = any(isinstance(node, Call) and node.function in SIGNED_AT_ZERO for node in walk(atom))

    def read(node: Expression) -> Expression | None:
        if node in values and not (signed and node.type.is_fractional):
            read_from.add(values[node])
            return Slot(values[node].name, node.type)
        if isinstance(node, Call) and node.function == "is_null":
            ordinal = _ordinal(node.arguments[0])
            if node.arguments[0] not in values and ordinal in cells and ordinal is not None:
                cell = Dimension(ordinal, cells=True)
                read_from.add(cell)
                return Call("is_null", (Slot(cell.name, cell.type),), BOOLEAN)
        return None

    answer = transform(atom, read)
    if any(isinstance(node, Column) for node in walk(answer)) or not is_portable(answer):
        return None
    used |= read_from
    return answer


def _read_cells(
    atom: Comparison, ordinal: Expression, cuts: dict[str, set[Cut]], used: set[Dimension]
) -> Expression | None:
    """The comparison read from the cell of its operand, or None where the next value up does not exist."""
    kind, below, above = ordinal.type, atom.value, _next_up(atom.value, ordinal.type)
    if above is None and atom.operator in ("<=", ">", "="):
        return None
    dimension = Dimension(ordinal, cells=True)
    slot = Slot(dimension.name, kind)
    points = cuts.setdefault(dimension.name, set())
    used.add(dimension)
    if atom.operator == "=":
        assert above is not None
        points.update((below, above))
        return Call("=", (slot, Literal(below, kind)), BOOLEAN)
    cut = below if atom.operator in ("<", ">=") else above
    assert cut is not None
    points.add(cut)
    edge = Literal(cut, kind)
    return Call("<", (slot, edge), BOOLEAN) if atom.operator in ("<", "<=") else Call("<=", (edge, slot), BOOLEAN)


def _atoms(predicate: Expression) -> Iterable[Expression]:
    if isinstance(predicate, Call) and predicate.function in CONNECTIVES:
        for part in predicate.arguments:
            yield from _atoms(part)
    else:
        yield predicate


def _equated(atom: Expression) -> Expression | None:
    """The operand of an equality or IN with constants."""
    if not isinstance(atom, Call) or atom.function not in ("=", "in", "<=>"):
        return None
    constants = [part for part in atom.arguments if isinstance(part, Literal)]
    others = [part for part in atom.arguments if not isinstance(part, Literal)]
    return others[0] if len(others) == 1 and constants else None


def _comparison(atom: Expression) -> Comparison | None:
    """The atom as a comparison of an operand that has cells with a constant."""
    if not isinstance(atom, Call) or atom.function not in ("=", "<", "<="):
        return None
    left, right = atom.arguments
    if isinstance(left, Literal) == isinstance(right, Literal):
        return None
    literal, operand = (left, right) if isinstance(left, Literal) else (right, left)
    assert isinstance(literal, Literal)
    operator = atom.function if literal is right or atom.function == "=" else {"<": ">", "<=": ">="}[atom.function]
    if operator == "=" and not _in_cells(operand.type):
        return None
    value = _cut(literal)
    return Comparison(operand, operator, value) if value is not None else None


def _in_cells(kind: DataType) -> bool:
    """Whether a type has so many values that even equality is better read from a cell than from the value itself."""
    return kind.name in ("double", "decimal", "timestamp")


def _ordinal(operand: Expression) -> Expression | None:
    """The operand as something with cuts: numbers as they are, moments and days as whole numbers."""
    if operand.type.is_integral or operand.type.is_decimal or operand.type.name == "double":
        return operand
    if operand.type.name == "timestamp":
        return Call("unix_micros", (operand,), BIGINT)
    if operand.type.name == "date":
        return Call("datediff", (operand, Literal(date(1970, 1, 1), DATE)), INT)
    return None


def _cut(literal: Literal) -> Cut | None:
    value = literal.value
    match literal.type.name:
        case "timestamp":
            return _micros(value)
        case "date":
            assert isinstance(value, date | None)
            return None if value is None else (value - date(1970, 1, 1)).days
        case "double":
            assert isinstance(value, float | None)
            # -0.0 equals 0.0; NaN is no cut.
            return None if value is None or math.isnan(value) else value + 0.0
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value
    return None


def _micros(value: object) -> int | None:
    if not isinstance(value, datetime):
        return None
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _next_up(value: Cut, kind: DataType) -> Cut | None:
    """The least value of the type above a value: `x > v` is `x >= next_up(v)`."""
    if kind.name == "double":
        following = math.nextafter(float(value), math.inf)
        return None if math.isinf(float(value)) and value > 0 else following + 0.0
    if kind.is_decimal:
        above = EXACT.add(Decimal(value), EXACT.scaleb(Decimal(1), -kind.scale))
        return above if above <= highest_decimal(kind) else None
    assert isinstance(value, int)
    return value + 1 if value < 2 ** (INTEGRAL_BITS[kind.name] - 1) - 1 else None
