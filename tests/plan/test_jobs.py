"""Which grouping keys a job has: truths that go to the same nodes travel in one number."""

from __future__ import annotations

import time

from weft.algebra.expressions import Column
from weft.algebra.types import BOOLEAN, INT
from weft.plan.dimensions import Dimension
from weft.plan.jobs import MOST_PACKED, keys_for, packs_of
from weft.spark.level0 import Keys

A, B, C, D = (Dimension(Column(name, BOOLEAN)) for name in "abcd")
K = Dimension(Column("k", INT))


def packs(*sets: set[Dimension]) -> list[set[Dimension]]:
    return sorted(map(set, packs_of(sets)), key=len)


def test_truths_of_one_node_are_one_key() -> None:
    assert packs({A, B, C, K}) == [{A, B, C}]
    assert keys_for([{A, B, C, K}]) == 2


def test_truths_that_part_ways_keep_their_own_keys() -> None:
    assert packs({A, B}, {A, C}) == []
    assert {frozenset(pack) for pack in packs({A, B, C, D}, {A, B})} == {frozenset({A, B}), frozenset({C, D})}
    assert keys_for([{A, B, C, D}, {A, B}]) == 2
    assert keys_for([{A, B}, {A, C}]) == 3


def test_no_number_holds_more_truths_than_fit() -> None:
    many = [Dimension(Column(f"t{place}", BOOLEAN)) for place in range(MOST_PACKED + 2)]
    assert [len(pack) for pack in packs_of([many])] == [MOST_PACKED, 2]
    assert keys_for([many]) == 2


def test_other_dimensions_are_left_alone() -> None:
    cells = Dimension(Column("x", INT), cells=True)
    assert packs({K, cells, A}) == []
    assert keys_for([{K, cells, A}]) == 3


def test_a_thousand_truths_are_found_in_their_packs_at_once() -> None:
    truths = [Dimension(Column(f"p{n}", BOOLEAN)) for n in range(1000)]
    keys = Keys({}, {f"pack{n}": pack for n, pack in enumerate(packs_of([truths]))})
    start = time.process_time()
    for _ in range(10):
        found = [(keys.column(one), keys.position(one)) for one in truths]
    assert time.process_time() - start < 0.5
    assert all(keys.packs[column][place or 0] == one for (column, place), one in zip(found, truths, strict=True))
    alone = Dimension(Column("a", INT))
    assert (keys.column(alone), keys.position(alone)) == (alone.name, None)
