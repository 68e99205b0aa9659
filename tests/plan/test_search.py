"""The search by the clock: it stops when its time is over, has a good plan by then, and goes on where it was."""

from __future__ import annotations

from random import Random
from time import process_time

import pytest

from tests.plan.prices import PRICES
from tests.plan.test_cost import COLUMNS, choice, decider, facts, needs, query, random_queries
from weft.plan.candidates import apart
from weft.plan.decide import Draft
from weft.plan.facts import Facts
from weft.plan.network import collect
from weft.plan.placement import Placement
from weft.plan.search import Budget, Search
from weft.plan.shapes import Choice

NAMES = list(COLUMNS)


class Ticking:
    """A clock that goes on by one whenever somebody looks at it."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


def alert(random: Random) -> str:
    """Three conditions on three of the columns."""
    one, two, three = random.sample(NAMES, 3)
    return query("", "'1 minute'", f"WHERE {one} = {random.randrange(99)} AND {two} > {random.randrange(99)} AND {three} > {random.randrange(99)}")


def alerts(count: int) -> dict[str, Choice]:
    random = Random("alerts")
    return {f"a{place}": choice(alert(random)) for place in range(count)}


def few_rows() -> Facts:
    return facts(20_000, 60_000_000)


@pytest.mark.parametrize("seed", range(20))
def test_however_little_time_there_is_no_plan_is_priced_above_sharing_everything_or_nothing(seed: int) -> None:
    random = Random(f"time {seed}")
    queries = random_queries(random)
    known = facts(random.choice([100, 10_000, 1_000_000]), random.choice([1e6, 3e7, 1e9]))
    whole = Search(queries, known, PRICES).run()
    search, prices = Search(queries, known, PRICES), []
    for _ in range(5_000):
        found = search.run(None, Budget(Ticking(), random.choice([0, 1, 2, 5])))
        prices.append(found.price)
        assert found.price <= min(found.everything, found.nothing) * (1 + 1e-9)
        assert found.placements.keys() == queries.keys()
        assert search.price_of(found.placements) <= found.price * (1 + 1e-9) or found.price == found.nothing
        if found.finished:
            break
    assert found.finished, "it went on where it was"
    assert prices == sorted(prices, reverse=True), "more time never makes a plan dearer"
    assert prices[-1] == pytest.approx(whole.price, rel=0.05) and found.tried <= 1.2 * whole.tried + 5, "and nothing is tried twice"


def test_without_a_clock_the_same_queries_get_the_same_plan() -> None:
    first, again = (Search(alerts(30), few_rows(), PRICES).run() for _ in range(2))
    assert first == again and first.finished


def test_different_alerts_are_kept_whole_after_a_quick_look() -> None:
    queries = alerts(100)
    quick = Search(queries, few_rows(), PRICES).quick(None, Budget(Ticking(), 2))
    assert quick.tried == 2 and not quick.finished
    assert sum(place.matches for place in quick.placements.values()) > 90
    assert quick.price < 0.5 * quick.everything
    at_once = Search(queries, few_rows(), PRICES).quick(None, Budget(Ticking(), 0))
    assert at_once.tried == 1 and at_once.price < min(at_once.everything, at_once.nothing), "the first is always looked at"


def test_queries_of_a_shape_that_are_placed_apart_are_priced_apart_and_come_together() -> None:
    """Two thousand alerts that a first look had put in trees of their own stayed there: they were priced as in a tree."""
    queries = alerts(100)
    search = Search(queries, few_rows(), PRICES)
    found = search.run(apart(queries))
    assert search.price_of(apart(queries)) == pytest.approx(found.nothing)
    assert found.price < 0.9 * found.nothing and len({place.tree for place in found.placements.values()}) < 5


def test_what_promises_most_comes_first() -> None:
    """A dozen candidates are nearly as good as all: single shapes come last."""
    some, all_of_them = (Search(alerts(60), few_rows(), PRICES, effort).run() for effort in (12, 400))
    assert some.tried <= 12 < all_of_them.tried
    assert some.price < 1.15 * all_of_them.price < 0.6 * some.everything
    assert all_of_them.price < 0.9 * some.nothing


def test_a_search_is_over_soon_after_its_time() -> None:
    """Two hundred different alerts took 18 s, in which nothing else could be planned."""
    queries = alerts(200)
    started = process_time()
    found = Search(queries, few_rows(), PRICES).run(None, Budget(process_time, 0.5))
    assert process_time() - started < 3
    assert found.price < 0.5 * found.everything and found.price < 0.9 * found.nothing


def test_new_queries_are_placed_when_no_time_is_left_too() -> None:
    queries = alerts(40)
    settled = {name: Placement() for name in list(queries)[:3]}
    fresh = [name for name in queries if name not in settled]
    assert Search(queries, few_rows(), PRICES).place(fresh, settled, Budget(Ticking(), 0)).keys() == set(fresh)
    together = Search(queries, few_rows(), PRICES)
    placed = together.place(fresh, settled, Budget(Ticking(), 2))
    assert together.tried == 2 and sum(place.matches for place in placed.values()) > 30


@pytest.mark.parametrize("seed", range(15))
def test_a_candidate_is_priced_as_the_network_that_is_made_of_it(seed: int) -> None:
    """What is kept from one candidate for the next changes no price."""
    random = Random(f"drafts {seed}")
    texts = {f"q{place}": query(", ".join(random.sample(NAMES, random.randint(0, 2))),
                                f"'{random.choice([10, 20, 35])} seconds', '5 seconds'",
                                random.choice(["", f"WHERE x > {place}", f"WHERE big = {place} AND d = 1"]))
             for place in range(10)}
    queries, known = {name: choice(text) for name, text in texts.items()}, facts()
    search = Search(queries, known, PRICES)
    for _ in range(10):
        like = {shape.queries[0]: (random.choice(["", "t"]), random.random() < 0.5) for shape in search.shapes}
        placements = {name: Placement(tree, truths and queries[name].matched is not None)
                      for shape in search.shapes for name in shape.queries for tree, truths in [like[shape.queries[0]]]}
        placed = {name: needs(texts[name], placement) for name, placement in placements.items()}
        # The cells of a column have all cuts that anybody may need, whoever uses them now.
        one, draft = decider({**{f"{name} {form}": needs for name, each in queries.items() for form, needs in enumerate(each.forms)}, **placed}, known), Draft(collect(placed), {}, {})
        decision = one.decide(draft, lambda dimensions, clock, tree: f"u {sorted(map(str, dimensions))} {clock} {tree}")
        # Nodes with as many rows are joined in the order of their names, which are not the same here and there.
        assert search.price_of(placements) == pytest.approx(one.price(draft, decision), rel=0.02), f"seed {seed}"
