"""How matches become a look-up: their predicates as spans of the codes of operands (weft/passes/codes.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from weft.algebra.expressions import Expression
from weft.passes.codes import NULL_CODE, Operand, span_codes
from weft.passes.index import Predicates
from weft.passes.work import Lookup
from weft.plan.match import Match
from weft.plan.ranges import Value, Values


class LookupMaker:
    """Collects the predicates of a look-up while the statements are written that read what it finds."""

    def __init__(self, write: Callable[[Expression], str]) -> None:
        self._write = write
        self._sought: list[tuple[int, Match]] = []
        self._lines = 0

    def add(self, matches: Iterable[Match]) -> int:
        """Look for matches; the number under which their rows will be found."""
        self._sought += [(self._lines, match) for match in matches]
        self._lines += 1
        return self._lines - 1

    def made(self) -> Lookup | None:
        """The look-up, if there is anything to look for. What no value can meet is not looked for."""
        sought = [(line, match) for line, match in self._sought if all(map(_is_any, match.ranges.values()))]
        constants: dict[Expression, set[Value]] = {}
        for _, match in sought:
            for operand, values in match.ranges.items():
                constants.setdefault(operand, set()).update(constant for constant, _ in values.positions)
        if not sought:
            return None
        ordered = {operand: tuple(sorted(own)) for operand, own in constants.items()}
        places = {operand: {constant: place for place, constant in enumerate(own)} for operand, own in ordered.items()}
        operands = tuple(Operand(self._write(operand), own) for operand, own in ordered.items())
        kinds = tuple(operand.kinds for operand in operands)
        lines, numbers = zip(*((line, match.number) for line, match in sought), strict=True)
        spans = np.array(list(_spans(sought, places)), np.int64).T
        predicates = Predicates(len(sought), kinds, *spans)
        return Lookup(operands, predicates, np.array(numbers, np.int64), np.array(lines, np.int32))


def _is_any(values: Values) -> bool:
    return bool(values.spans) or values.null


def _spans(
    sought: Iterable[tuple[int, Match]], places: Mapping[Expression, Mapping[Value, int]]
) -> Iterable[tuple[int, int, int, int]]:
    """The spans of codes of all predicates, in their order: predicate, operand, first and last code."""
    numbers = {operand: number for number, operand in enumerate(places)}
    for predicate, (_, match) in enumerate(sought):
        asked = sorted((numbers[operand], operand, values) for operand, values in match.ranges.items())
        for number, operand, values in asked:
            if values.null:
                yield predicate, number, NULL_CODE, NULL_CODE
            for span in values.spans:
                yield predicate, number, *span_codes(span, places[operand])
