"""The search counts what a tick does as the bill does: both prices of the same network are the same."""

from __future__ import annotations

from random import Random

import pytest

from tests.plan.test_cost import decider, facts, needs
from weft.plan.cost import add, node_amounts
from weft.plan.decide import Draft
from weft.plan.needs import Needs
from weft.plan.network import Decision, build_network, collect
from weft.plan.placement import Placement
from weft.plan.prices import KERNELS, NAMES, Costs

# No two prices are equal and none is nothing, so that nothing can be left out, and nothing be taken for another thing.
DISTINCT = Costs(**{name: (17 + number) * 1.3e-9 for number, name in enumerate(NAMES)})
AGGREGATES = ("count(*) AS n", "sum(x) AS s", "min(x) AS m", "max(d) AS d1", "avg(x) AS av", "max(big) AS mb",
              "stddev_pop(x) AS sd", "max_by(b, c) AS by_c", "count(DISTINCT d) AS kinds")
CONDITIONS = ("", "WHERE x > {0}", "WHERE big = {0} AND x < 5", "WHERE big = {0} AND d = 1 OR x = 7", "WHERE big = 1")


def random_needs(random: Random) -> dict[str, Needs]:
    def text(number: int) -> str:
        group, window = ", ".join(random.sample("abcd", random.randint(1, 3))), random.choice(["10", "20", "35"])
        chosen = ", ".join(random.sample(AGGREGATES, random.randint(1, 4)))
        condition = random.choice(CONDITIONS).format(number)
        return f"SELECT {chosen} FROM s {condition} GROUP BY window(ts, '{window} seconds', '5 seconds'), {group}"

    return {f"q{number}": needs(text(number), Placement(random.choice(["", "", "t"]), matches=random.random() < 0.5))
            for number in range(random.randint(1, 12))}


@pytest.mark.parametrize("seed", range(60))
def test_a_network_has_the_price_that_the_search_gave_it(seed: int) -> None:
    random = Random(f"count {seed}")
    queries, known = random_needs(random), facts(random.choice([50, 5_000, 500_000]))
    one, draft = decider(queries, known, DISTINCT), Draft(collect(queries), {}, {})
    decided = one.decide(draft, lambda dimensions, clock, tree: f"u {sorted(map(str, dimensions))} {clock} {tree}")
    for decision in (decided, one.simple(draft), Decision({})):
        network = build_network("s", queries, decision)
        billed = [DISTINCT.price(add(node_amounts(network, known, {}, {}, kernel=kernel).values())) for kernel in KERNELS]
        searched = [sum(nodes.values()) + rest for nodes, rest in one._prices(draft, decision)]
        assert searched == pytest.approx(billed, rel=1e-9), f"seed {seed}: {decision}"


def test_equal_predicates_apart_are_looked_for_once() -> None:
    """A pass looks for a predicate once, whoever's node its rows go to: fifty cost hardly more than one."""
    def seconds(count: int) -> float:
        apart = {f"q{number}": needs("SELECT count(*) AS n FROM s WHERE big = 3 AND x < 5 GROUP BY window(ts, '10 seconds')",
                                     Placement(f"own {number}", matches=True)) for number in range(count)}
        amounts = add(node_amounts(build_network("s", apart, Decision({})), facts(), {}, {}, kernel="duckdb").values())
        return amounts["put"] + amounts["look"] + amounts["compare"]

    assert seconds(50) == pytest.approx(seconds(1))
