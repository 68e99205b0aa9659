"""The index of predicates finds what a look at every row and every predicate finds, whatever it is made from."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np
import pytest

from weft.passes import index as predicate_index
from weft.passes.index import PredicateIndex, Predicates

Spans = dict[int, list[tuple[int, int]]]


def random_spans(random: Random, kinds: int) -> list[tuple[int, int]]:
    """A few spans of codes that neither meet nor touch."""
    ends = sorted(random.sample(range(kinds + 4), random.choice([2, 2, 2, 4, 6])))
    spans = [(first, min(last, kinds) - 1) for first, last in zip(ends[::2], ends[1::2], strict=True) if first < kinds]
    return spans or [(0, kinds - 1)]


def random_predicates(random: Random, kinds: list[int], count: int) -> list[Spans]:
    def one() -> Spans:
        operands = random.sample(range(len(kinds)), random.randint(1, min(5, len(kinds))))
        spans = {operand: random_spans(random, kinds[operand]) for operand in sorted(operands)}
        if random.random() < 0.5:
            operand = random.choice(operands)
            code = random.randrange(kinds[operand])
            spans[operand] = [(code, code)]
        return spans

    return [one() for _ in range(count)]


def as_arrays(predicates: list[Spans], kinds: list[int]) -> Predicates:
    lines = [
        (number, operand, first, last)
        for number, spans in enumerate(predicates)
        for operand, own in spans.items()
        for first, last in own
    ]
    return Predicates(len(predicates), tuple(kinds), *np.array(lines, np.int64).T)


def met(predicates: list[Spans], codes: list[np.ndarray]) -> set[tuple[int, int]]:
    """Every row held against every predicate."""
    return {
        (row, number)
        for row in range(len(codes[0]))
        for number, spans in enumerate(predicates)
        if all(any(first <= codes[operand][row] <= last for first, last in own) for operand, own in spans.items())
    }


@pytest.mark.parametrize("seed", range(40))
def test_every_row_meets_just_its_predicates(seed: int) -> None:
    random, numbers = Random(f"index {seed}"), np.random.default_rng(seed)
    kinds = [random.choice([6, 8, 50, 700]) for _ in range(random.choice([1, 3, 6, 40]))]
    predicates = random_predicates(random, kinds, random.choice([1, 5, 70, 300]))
    codes = [numbers.integers(0, kind, random.choice([150]), np.uint16) for kind in kinds]
    others = [numbers.integers(0, kind // 2, 9, np.uint16) for kind in kinds]
    small = {"LEAST_LED": random.choice([1, 16, 1_000]), "MOST_ENTRIES": random.choice([20, 1 << 20]),
             "MOST_WORDS": random.choice([20, 1 << 17]), "CHUNK_ROWS": random.choice([7, 1_000]),
             "WORD_TIME": random.choice([0.0, 6.0, 1e9])}
    with patch.multiple(predicate_index, **small):
        index = PredicateIndex(as_arrays(predicates, kinds), random.choice([codes, others]))
        rows, found = index.pairs(codes)
    pairs = list(zip(rows.tolist(), found.tolist(), strict=True))
    assert len(pairs) == len(set(pairs)), "a row meets a predicate once"
    assert set(pairs) == met(predicates, codes), f"seed {seed}"


def test_a_row_is_looked_up_in_a_few_words_however_many_predicates_wait() -> None:
    """Of ten thousand predicates with a value each, a row finds those of its value, and looks at no other."""
    kinds, count = [20_002], 10_000
    predicates: list[Spans] = [{0: [(2 * number + 2, 2 * number + 2)]} for number in range(count)]
    codes = [np.arange(2, 20_002, 7, dtype=np.uint16)]
    index = PredicateIndex(as_arrays(predicates, kinds), codes)
    (group,) = index._groups
    rows, _, _ = group._awaited(codes[0][None].astype(np.int64))
    assert len(rows) <= len(codes[0])
    assert set(zip(*(places.tolist() for places in index.pairs(codes)), strict=True)) == {
        (row, (code - 2) // 2) for row, code in enumerate(codes[0].tolist()) if code % 2 == 0
    }
