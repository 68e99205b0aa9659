"""Which node could be computed from which: the index answers as a look at every pair does, and in less than pairs."""

from __future__ import annotations

import gc
from random import Random
from time import process_time

import pytest

from tests.plan.test_cost import needs, query
from weft.algebra.expressions import Column
from weft.algebra.types import INT
from weft.algebra.windows import Clock
from weft.plan.dimensions import Dimension
from weft.plan.explain import MAX_REFUSALS, explain_network, first_refusals
from weft.plan.finer import Finer, Supersets, refuse
from weft.plan.jobs import jobs_of
from weft.plan.network import Decision, Network, Wanted, assemble, build_network
from weft.plan.placement import Placement

COLUMNS = [Dimension(Column(name, INT)) for name in "abcde"]


def random_nodes(random: Random) -> dict[str, Wanted]:
    nodes = {}
    for place in range(random.randint(1, 30)):
        dimensions = frozenset(random.sample(COLUMNS, random.randint(0, 4)))
        running = random.random() < 0.3
        tree = "" if running else random.choice(["", "t1", "t2"])
        nodes[f"n{place}"] = Wanted(Clock.TICKS if running else Clock.EVENT_TIME, dimensions, tree, counts_values=random.random() < 0.3)
    return nodes


@pytest.mark.parametrize("seed", range(20))
def test_the_index_answers_as_a_look_at_every_pair_does(seed: int) -> None:
    random, known = Random(f"finer {seed}"), Supersets()
    for _ in range(5):
        # What was learned of other nodes' dimension sets changes nothing.
        nodes = random_nodes(random)
        finer = Finer(nodes, known)
        for name, mine in nodes.items():
            wider = [other for other in nodes if other != name and mine.dimensions <= nodes[other].dimensions]
            assert set(finer.of(name)) == {other for other in wider if not refuse(mine, nodes[other])}
            refused = {(one.other, one.reason) for one in finer.refusals(name)}
            assert refused == {(other, why) for other in wider if (why := refuse(mine, nodes[other]))}


def apart(count: int) -> Network:
    """As many queries by themselves, of one dimension set."""
    queries = {f"q{number}": needs(query("a"), Placement(f"own {number}")) for number in range(count)}
    return build_network("s", queries, Decision({}))


def test_reasons_are_made_for_those_who_ask() -> None:
    """A network of 1,000 queries by themselves held 999,000 of them, and 10,000 queries found no room."""
    network = apart(1000)
    node = network.nodes[7].id
    assert sum(1 for _ in network.refusals(node)) == 999
    shown, more = first_refusals(network, sorted(network.stored))
    assert len(shown) == MAX_REFUSALS and more
    text = explain_network(network)
    assert text.count("other-slices") == MAX_REFUSALS and "and more; explain a query" in text
    few, more = first_refusals(apart(3), sorted(apart(3).stored))
    assert len(few) == 6 and not more


def test_planning_queries_by_themselves_takes_time_as_they_are_many_and_no_more() -> None:
    def seconds(count: int) -> float:
        dimensions = frozenset(COLUMNS[:1])
        wanted = {f"n{number}": Wanted(Clock.EVENT_TIME, dimensions, f"own {number}") for number in range(count)}
        # Python would look for garbage among all objects of the process, however many other tests left there.
        gc.collect()
        gc.disable()
        try:
            started = process_time()
            jobs_of(network := assemble("s", [], wanted, Decision({})))
            explain_network(network)
            return process_time() - started
        finally:
            gc.enable()

    seconds(100)
    many, few = (min(seconds(count) for _ in range(3)) for count in (8_000, 800))
    assert many < 30 * max(few, 0.01), "ten times the queries: not a hundred times the work"
