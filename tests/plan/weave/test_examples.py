"""The worked examples of Weave Share, number by number."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.plan.weave.cases import window
from weft.plan import (
    Operations,
    composite_slide,
    edge_rate,
    edges,
    exhaustive,
    overlap_factor,
    share_all,
    share_none,
    weave_share,
    weaveability,
)
from weft.weave.pricing import Pricing, as_number
from weft.weave.probing import find_common

QA, QB = window(12, 9), window(10, 6)
THREE = [window(16, 4), window(10, 5), window(8, 4)]


def test_example_2_edge_rates() -> None:
    assert (edge_rate(QA), edge_rate(QB), edge_rate(QA, QB)) == (Fraction(2, 9), Fraction(1, 3), Fraction(8, 18))
    # shared, both look at all edges; alone, each at its own
    assert 2 * edge_rate(QA, QB) == Fraction(8, 9) > edge_rate(QA) + edge_rate(QB) == Fraction(5, 9)


def test_example_2_edges() -> None:
    assert composite_slide(QA, QB).seconds == 18
    assert [edge.seconds for edge in edges([QA, QB])] == [3, 4, 6, 9, 10, 12, 16, 18]
    assert [edge.seconds for edge in edges(QA)] == [3, 9]
    assert [edge.seconds for edge in edges(QB)] == [4, 6]


def test_example_2_weaveability_of_windows_and_of_trees() -> None:
    assert weaveability(QA, QB) == weaveability([QA], [QB]) == Fraction(1, 4)
    assert weaveability([QA, QB], QA) == Fraction(1, 2)
    assert weaveability(QA, QA) == 1


def test_example_3_costs_of_every_step() -> None:
    assert share_none(THREE, rate=1.2).cost == Fraction("5.5")
    pricing = Pricing(THREE, rate=1.2, twins=False)
    a, b, c = (pricing.bundle([place]) for place in range(3))
    assert max((pricing.gain(*pair), pair) for pair in ((a, b), (a, c), (b, c)))[1] == (a, c)
    assert float(as_number(pricing.gain(a, c))) == pytest.approx(5.5 - 4.3)
    assert float(as_number(pricing.gain(pricing.join(a, c), b))) == pytest.approx(4.3 - 4.4)
    assert share_all(THREE, rate=1.2).cost == Fraction("4.4")


def test_example_3_plan() -> None:
    plan = weave_share(THREE, rate=1.2)
    assert plan.cost == Fraction("4.3") == exhaustive(THREE, rate=1.2).cost
    assert [tree.windows for tree in plan.trees] == [(THREE[0], THREE[2]), (THREE[1],)]
    assert plan.error == 0
    assert overlap_factor(plan.trees[0]) == 6


def test_example_4_common_edges_and_what_finding_them_takes() -> None:
    x, y = window(12, 5), window(3, 3)
    assert len(edges(x)) * 3 == 6 and len(edges(y)) * 5 == 5
    compared, probed = Operations(), Operations()
    for operations, bitmap in ((compared, False), (probed, True)):
        found = find_common(x, y, edge_bitmap=bitmap, operations=operations)
        assert [edge.seconds for edge in found] == [12, 15]
    # five edges of y, each compared with the two fragments of x; or each looked up once
    assert (compared.comparisons, probed.probes) == (10, 5)
    assert edge_rate(x, y) == Fraction(6 + 5 - 2, 15)
