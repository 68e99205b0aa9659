"""An index of predicates: which of thousands a row meets, by a few look-ups for all of them together.

Every value that predicates look at is told by a code: its place among their constants (weft/passes/codes.py). A
predicate is a span of codes, or several, for each operand that it restricts. Predicates are kept in words of 64 bits,
those with the same leading operand together and in the order of their spans of it, so that the code of a row leads to
the few words in which anybody waits for it. Every further look-up, by the code of another operand, decides 64
predicates at once. Bits that are left are pairs of a row and a predicate; what words did not decide is compared.

Which operand leads, and which are worth a look-up in words, follows from the shares of the rows that the index is made
from; it changes what a look-up costs and never what it finds. Nothing here knows Spark, DuckDB or SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from weft.plan.match import LEAST_LED, WORD

# An array of NumPy's.
Numbers: TypeAlias = Any
# A table of words has a line for each code, or for each of so many cells of codes where it would be too large.
MOST_CELLS, MOST_WORDS, MOST_ENTRIES = 512, 1 << 17, 1 << 22
# Nanoseconds that it takes to look up a word, and to compare a pair: only how they compare matters.
WORD_TIME, PAIR_TIME = 6.0, 25.0
# So many rows are looked up at once, fewer where they have many codes: they stay in the cache of a core.
CHUNK_ROWS, CHUNK_CODES = 16_384, 1 << 21
# Words without a bit are left out when those with any are no more than this share.
LEAST_ALIVE = 0.8


@dataclass(frozen=True)
class Predicates:
    """Predicates as spans of codes, in arrays that travel to tasks.

    Each span is a line of four numbers: its predicate and operand, its first and its last code. A predicate has a line
    for each span of each operand that it restricts, in their order. kinds: how many codes each operand has.
    """

    count: int
    kinds: tuple[int, ...]
    predicate: Numbers
    operand: Numbers
    first: Numbers
    last: Numbers


class PredicateIndex:
    """The index of some predicates, for rows like those whose codes it is made from."""

    def __init__(self, predicates: Predicates, codes: Sequence[Numbers]) -> None:
        parts = _Conditions(predicates, codes)
        self._groups = [_group(members, leading, parts, codes) for leading, members in _led(parts)]

    def pairs(
        self, codes: Sequence[Numbers], run: Callable[..., Iterable[tuple[Numbers, Numbers]]] = map
    ) -> tuple[Numbers, Numbers]:
        """The pairs of a row and a predicate that it meets, as places of both; `run` maps over chunks of rows."""
        size = max(1, min(CHUNK_ROWS, CHUNK_CODES // len(codes)))
        found = list(run(lambda begin: self._pairs(codes, begin, size), range(0, len(codes[0]), size)))
        none = np.empty(0, np.int64)
        places, predicates = zip(*found, strict=True) if found else ((none,), (none,))
        return np.concatenate(places), np.concatenate(predicates)

    def _pairs(self, codes: Sequence[Numbers], begin: int, size: int) -> tuple[Numbers, Numbers]:
        chunk = np.stack([code[begin : begin + size] for code in codes]).astype(np.int64, copy=False)
        found = [group.pairs(chunk) for group in self._groups]
        none = np.empty(0, np.int64)
        rows = np.concatenate([none, *(rows for rows, _ in found)])
        return rows + begin, np.concatenate([none, *(predicates for _, predicates in found)])


class _Conditions:
    """What each predicate asks of each operand that it restricts, with the share of the rows that meets it."""

    def __init__(self, predicates: Predicates, codes: Sequence[Numbers]) -> None:
        self.predicates, self.kinds, self.count = predicates, predicates.kinds, predicates.count
        changed = np.ones(len(predicates.predicate), bool)
        changed[1:] = (np.diff(predicates.predicate) != 0) | (np.diff(predicates.operand) != 0)
        self.begin = np.flatnonzero(changed)
        # The condition of each span, and how many spans each has.
        self.of_span = np.cumsum(changed) - 1
        self.spans = np.diff(np.append(self.begin, len(changed)))
        self.predicate, self.operand = predicates.predicate[self.begin], predicates.operand[self.begin]
        self.share = np.bincount(self.of_span, self._shares(codes), len(self.begin))

    def _shares(self, codes: Sequence[Numbers]) -> Numbers:
        """The share of the rows that is in each span."""
        rows = max(1, len(codes[0])) if len(codes) else 1
        counts = [np.bincount(code, minlength=kinds) for code, kinds in zip(codes, self.kinds, strict=True)]
        below = np.concatenate([np.append(0, np.cumsum(count)) for count in counts]) / rows
        offset = np.cumsum([0, *(kinds + 1 for kinds in self.kinds)])[self.predicates.operand]
        return below[offset + self.predicates.last + 1] - below[offset + self.predicates.first]

    def leading(self) -> Numbers:
        """For each predicate the condition that the fewest rows meet."""
        order = np.lexsort((self.share, self.predicate))
        _, firsts = np.unique(self.predicate[order], return_index=True)
        return order[firsts]

    def hull(self, conditions: Numbers) -> tuple[Numbers, Numbers]:
        """The first and the last code of conditions."""
        begin = self.begin[conditions]
        return self.predicates.first[begin], self.predicates.last[begin + self.spans[conditions] - 1]


def _led(parts: _Conditions) -> Iterable[tuple[int | None, Numbers]]:
    """The predicates by their leading operand, in the order of their spans of it; then those that share none."""
    leading = parts.leading()
    operands, rest = parts.operand[leading], []
    for operand in np.unique(operands):
        own = leading[operands == operand]
        if len(own) < LEAST_LED:
            rest.append(parts.predicate[own])
            continue
        first, last = parts.hull(own)
        yield int(operand), parts.predicate[own[np.lexsort((last, first))]]
    if rest:
        yield None, np.concatenate(rest)


@dataclass(frozen=True)
class _Table:
    """For each cell of an operand's codes, and each word, the predicates that have nothing against the cell."""

    operand: int
    masks: Numbers
    cells: Numbers | None = None

    def cells_of(self, codes: Numbers) -> Numbers:
        return codes if self.cells is None else self.cells[codes]


@dataclass(frozen=True)
class _Checks:
    """What is left to be compared of a pair: conditions by the place of their predicate in the group."""

    begin: Numbers
    count: Numbers
    operand: Numbers
    span: Numbers
    spans: Numbers
    first: Numbers
    last: Numbers

    def passed(self, rows: Numbers, places: Numbers, codes: Numbers) -> tuple[Numbers, Numbers]:
        """The pairs that meet all conditions; a row is in one span of a condition at most."""
        checked = 0
        while len(places) and (waiting := self.count[places] > checked).any():
            done_rows, done_places = (rows[~waiting], places[~waiting]) if not waiting.all() else (rows[:0], places[:0])
            rows, places = rows[waiting], places[waiting]
            condition = self.begin[places] + checked
            spans = self.spans[condition]
            if spans.max() > 1:
                rows, places, condition = (np.repeat(each, spans) for each in (rows, places, condition))
                within = np.arange(len(rows)) - np.repeat(np.cumsum(spans) - spans, spans)
                span = self.span[condition] + within
            else:
                span = self.span[condition]
            code = codes[self.operand[condition], rows]
            met = (self.first[span] <= code) & (code <= self.last[span])
            rows, places = np.concatenate([done_rows, rows[met]]), np.concatenate([done_places, places[met]])
            checked += 1
        return rows, places


@dataclass(frozen=True)
class _Group:
    """Predicates in words: those that wait for each cell of the leading operand, and the tables of other operands."""

    members: Numbers
    words: int
    leading: int | None
    cells: Numbers | None
    begin: Numbers
    word: Numbers
    mask: Numbers
    tables: tuple[_Table, ...] = ()
    checks: _Checks | None = field(default=None)

    def pairs(self, codes: Numbers) -> tuple[Numbers, Numbers]:
        """The places of rows, and the predicates that they meet."""
        rows, word, mask = self._awaited(codes)
        for table in self.tables:
            place = table.cells_of(codes[table.operand])[rows] * self.words
            place += word
            mask &= table.masks[place]
            alive = mask != 0
            if np.count_nonzero(alive) < len(mask) * LEAST_ALIVE:
                kept = np.flatnonzero(alive)
                rows, word, mask = rows[kept], word[kept], mask[kept]
        at, bit = _set_bits(mask)
        rows, places = rows[at], (word[at] << 6) + bit
        if self.checks is not None:
            rows, places = self.checks.passed(rows, places, codes)
        return rows, self.members[places]

    def _awaited(self, codes: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The words in which any predicate waits for a row, by the leading operand."""
        count = codes.shape[1]
        if self.leading is None:
            return np.repeat(np.arange(count), self.words), np.tile(self.word, count), np.tile(self.mask, count)
        cell = codes[self.leading] if self.cells is None else self.cells[codes[self.leading]]
        begin = self.begin[cell]
        each = self.begin[cell + 1] - begin
        rows = np.repeat(np.arange(count), each)
        begin -= np.cumsum(each) - each
        at = np.arange(len(rows)) + begin[rows]
        return rows, self.word[at], self.mask[at]


def _set_bits(words: Numbers) -> tuple[Numbers, Numbers]:
    """The bits that are set: the place of the word, and the place in it."""
    octets = words.view(np.uint8)
    some = np.flatnonzero(octets != 0)
    bit = np.flatnonzero(np.unpackbits(octets[some], bitorder="little").view(bool))
    octet = some[bit >> 3]
    return octet >> 3, ((octet & 7) << 3) + (bit & 7)


def _group(members: Numbers, leading: int | None, parts: _Conditions, codes: Sequence[Numbers]) -> _Group:
    """A group of these predicates, in the order in which they stand in words."""
    words = -(-len(members) // WORD)
    place = np.full(parts.count, -1)
    place[members] = np.arange(len(members))
    own = np.flatnonzero(place[parts.predicate] >= 0)
    decided = np.zeros(len(parts.begin), bool)
    if leading is None:
        full = np.full(words, ~np.uint64(0))
        full[-1] = ~np.uint64(0) >> np.uint64(words * WORD - len(members))
        cells, begin, word, mask, alive = None, np.array([0]), np.arange(words), full, float(WORD)
    else:
        conditions = own[parts.operand[own] == leading]
        cells, table, exact = _table(parts, conditions, place, words, MOST_ENTRIES)
        cell, word = np.nonzero(table)
        begin, mask = np.searchsorted(cell, np.arange(len(table) + 1)), table[cell, word]
        decided[conditions] = exact
        alive = _bits_of(mask, begin, codes[leading] if cells is None else cells[codes[leading]])
    tables = []
    for operand in _worth_a_table(own, leading, parts, len(members), alive):
        conditions = own[parts.operand[own] == operand]
        own_cells, table, exact = _table(parts, conditions, place, words, MOST_WORDS)
        # Whoever asks nothing of the operand has nothing against any cell.
        free = np.zeros(words * WORD, bool)
        free[: len(members)] = True
        free[place[parts.predicate[conditions]]] = False
        table |= np.packbits(free, bitorder="little").view(np.uint64)
        tables.append(_Table(operand, table.ravel(), own_cells))
        decided[conditions] = exact
    checks = _checks(own[~decided[own]], place, parts, len(members))
    return _Group(members, words, leading, cells, begin, word, mask, tuple(tables), checks)


def _table(
    parts: _Conditions, conditions: Numbers, place: Numbers, words: int, most: int
) -> tuple[Numbers | None, Numbers, bool]:
    """A table of an operand: the cells of its codes where these are too many, the masks, and whether they are exact."""
    kinds = parts.kinds[int(parts.operand[conditions[0]])]
    cells = None
    if kinds * words <= most:
        spans = np.flatnonzero(np.isin(parts.of_span, conditions))
        first, last = parts.predicates.first[spans], parts.predicates.last[spans]
        bit = place[parts.predicates.predicate[spans]]
    else:
        # Spans of the same condition may meet in a cell: what lies between them is compared later.
        count = max(2, min(MOST_CELLS, most // words))
        cells = np.arange(kinds) * count // kinds
        first, last = (cells[ends] for ends in parts.hull(conditions))
        bit, kinds = place[parts.predicate[conditions]], count
    table = np.zeros((kinds + 1, words), np.uint64)
    one = np.uint64(1) << (bit & 63).astype(np.uint64)
    np.bitwise_xor.at(table, (first, bit >> 6), one)
    np.bitwise_xor.at(table, (last + 1, bit >> 6), one)
    return cells, np.bitwise_xor.accumulate(table, axis=0)[:-1], cells is None


def _bits_of(mask: Numbers, begin: Numbers, cells: Numbers) -> float:
    """How many predicates wait in a word that a row is looked up in."""
    seen = np.bincount(cells, minlength=len(begin) - 1)[: len(begin) - 1]
    bits = np.append(0, np.cumsum(np.bitwise_count(mask)))
    words = float(seen @ np.diff(begin))
    return float(seen @ np.diff(bits[begin])) / words if words else 0.0


def _worth_a_table(
    own: Numbers, leading: int | None, parts: _Conditions, members: int, alive: float
) -> Iterable[int]:
    """The operands that take more bits from a word than its look-up costs, those first that take most."""
    taken = np.bincount(parts.operand[own], 1 - parts.share[own], len(parts.kinds)) / members
    for operand in np.argsort(-taken):
        if operand == leading or not taken[operand]:
            continue
        if alive * taken[operand] * PAIR_TIME < WORD_TIME * -np.expm1(-alive):
            break
        yield int(operand)
        alive *= 1 - taken[operand]


def _checks(left: Numbers, place: Numbers, parts: _Conditions, members: int) -> _Checks | None:
    """The conditions that no table decides, those first that the fewest rows meet."""
    if not len(left):
        return None
    of = place[parts.predicate[left]]
    order = np.lexsort((parts.share[left], of))
    left, of = left[order], of[order]
    begin = np.searchsorted(of, np.arange(members + 1))
    first, last = parts.predicates.first, parts.predicates.last
    spans = parts.spans[left]
    return _Checks(begin[:-1], np.diff(begin), parts.operand[left], parts.begin[left], spans, first, last)
