"""Facts, prices and decisions: what is guessed, what is counted, and that a plan is never dearer than the simple ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest

from tests.plan.prices import PRICES
from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.schema import FeedSchema
from weft.algebra.windows import Clock
from weft.plan.bill import bill_of
from weft.plan.cost import add, node_amounts
from weft.plan.decide import Decider, Draft, decider_for
from weft.plan.facts import COUNTLESS, Estimates, Facts, kinds_behind, occupied
from weft.plan.finer import Dimensions
from weft.plan.jobs import jobs_of
from weft.plan.needs import Needs, analyse, node_id
from weft.plan.network import Decision, Network, build_network, collect
from weft.plan.placement import AT_HOME, Placement
from weft.plan.prices import DUCKDB, KERNELS, SPARK, Costs
from weft.plan.search import Search, SearchResult
from weft.plan.shapes import Choice
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

COLUMNS = {"a": 3, "b": 4, "c": 5, "d": 6, "big": 100_000, "x": 1000}
SCHEMA = "ts timestamp, a int, b int, c int, d int, big int, x int"
AGGREGATES = AggregateCatalog()
COSTS = PRICES
# No pass of DuckDB pays.
ON_SPARK = replace(PRICES, begin=1e3)


def needs(sql: str, placement: Placement = AT_HOME) -> Needs:
    schema = FeedSchema("s", dict(parse_schema(SCHEMA)), "ts")
    return analyse(compile_query(sql, {"s": schema}, AGGREGATES), AGGREGATES, placement)


def choice(sql: str, *, eager: bool = False) -> Choice:
    shards, matches = needs(sql), needs(sql, Placement(matches=True))
    return Choice(shards, None if matches.match is None else matches, eager)


def query(group: str, window: str = "'10 seconds'", where: str = "") -> str:
    by = ", ".join(filter(None, (f"window(ts, {window})", group)))
    return f"SELECT count(*) AS n FROM s {where} GROUP BY {by}"


def facts(rows: float = 500_000, span: float = 20_000_000) -> Facts:
    """A stream whose columns have the kinds above."""
    sample = needs(query(", ".join(COLUMNS)))
    kinds = {frozenset({one.name}): float(COLUMNS[str(one)]) for one in sample.groups}
    return Facts(rows, span, kinds, 5)


def price(queries: dict[str, Needs], decision: Decision, known: Facts) -> float:
    return decider(queries, known).price(Draft(collect(queries), {}, {}), decision)


def decider(queries: dict[str, Needs], known: Facts, costs: Costs = COSTS) -> Decider:
    sets = [part.dimensions for one in queries.values() for part in one.parts]
    return decider_for(sets, queries.values(), known, costs)


def decide(queries: dict[str, Needs], known: Facts, costs: Costs = COSTS) -> Decision:
    def name(dimensions: Dimensions, clock: Clock, tree: str) -> str:
        return node_id("s", dimensions, clock=clock, tree=tree)

    return decider(queries, known, costs).decide(Draft(collect(queries), {}, {}), name)


def labels(network: Network) -> set[str]:
    return {", ".join(sorted(map(str, node.dimensions))) for node in network.base}


@pytest.mark.parametrize("kinds", [1, 7, 300, 20_000, 3_000_000])
@pytest.mark.parametrize("rows", [10, 1_000, 1_000_000])
def test_kinds_are_found_again_from_what_was_seen(kinds: int, rows: int) -> None:
    seen = occupied(kinds, rows)
    assert seen <= min(kinds, rows)
    if seen < 0.99 * rows:
        assert kinds_behind(seen, rows) == pytest.approx(kinds, rel=0.02)


def test_a_union_has_as_many_kinds_as_its_parts_together_and_no_more_than_what_holds_it() -> None:
    sample = needs(query("a, b, c"))
    a, b, c = (frozenset({one.name}) for one in sample.groups)
    known = Facts(1e6, 1e7, {a: 3.0, b: 4.0, c: 5.0}, 1)
    estimates = Estimates(known, sample.groups, {})
    assert estimates.kinds(a | b) == 12 and estimates.kinds(a | b | c) == 60
    counted = Estimates(Facts(1e6, 1e7, {**known.groups, a | b | c: 20.0}, 1), sample.groups, {})
    assert counted.kinds(a | b | c) == 20 and counted.kinds(a | b) == 12 and counted.kinds(b | c) == 20


def test_facts_follow_what_ticks_show_and_survive_the_catalog() -> None:
    known, names = Facts(), frozenset({"d1", "d2"})
    known = known.learned(1_000, 5_000_000, {names: 100})
    assert (known.rows, known.span, known.ticks) == (1_000, 5_000_000, 1)
    assert known.groups[names] == pytest.approx(100, rel=0.01)
    assert known.learned(0, 7, {}) == known, "an empty tick teaches nothing"
    later = known
    for _ in range(20):
        later = later.learned(4_000, 5_000_000, {names: 4_000})
    assert later.rows == pytest.approx(4_000, rel=0.01) and later.groups[names] > COUNTLESS / 100
    assert later.drift(known, [names]) == pytest.approx((1_000 + 100) / (100 + 100), rel=0.01) and known.drift(known, [names]) == 1
    again = Facts.from_definition(later.definition())
    assert again.groups.keys() == later.groups.keys() and again.rows == pytest.approx(later.rows, abs=0.1)


def test_what_matches_keep_is_learned_over_what_was_guessed() -> None:
    rare = {f"q{place}": needs(query("", where=f"WHERE big = {place}"), Placement(matches=True)) for place in range(20)}
    network, known = build_network("s", rare), facts()
    few = known.learned(100_000, 5_000_000, {}, kept=0.01)
    assert few.keeping == 0.01 and few.learned(100_000, 5_000_000, {}, kept=0.04).keeping == pytest.approx(0.02)
    assert few.learned(100_000, 5_000_000, {}).keeping == 0.01
    assert Facts.from_definition(few.definition()).keeping == 0.01
    found = [add(node_amounts(network, each, {}, {}, kernel=DUCKDB).values()) for each in (known, replace(known, keeping=0.01))]
    assert found[1]["put"] < 0.1 * found[0]["put"] and found[1]["compare"] < 0.1 * found[0]["compare"]


def test_a_few_groups_more_or_less_are_no_drift() -> None:
    names = frozenset({"d1"})
    few, some, many = (Facts(10_000, 5_000_000, {names: kinds}, 3) for kinds in (3.0, 30.0, 3_000.0))
    assert few.drift(some, [names]) < 1.5 < 2 < few.drift(many, [names])


def test_how_many_groups_there_are_beyond_the_rows_is_no_drift() -> None:
    names = frozenset({"d1"})
    guessed, again, fewer = (Facts(1_000, 5_000_000, {names: kinds}, 3) for kinds in (1e9, 1e14, 500.0))
    assert guessed.drift(again, [names]) == pytest.approx(1, rel=0.01)
    assert guessed.drift(fewer, [names]) > 2


def test_small_groups_are_made_of_a_union_that_nobody_asked_for_and_large_ones_are_not() -> None:
    small = {group: needs(query(group)) for group in ("a, b", "b, c", "c, d", "a, d")}
    network = build_network("s", small, decide(small, facts()))
    assert labels(network) == {"a, b, c, d"} and not network.base[0].readers
    assert set(network.stored) == {node.id for node in network.nodes if node.parent}
    large = {group: needs(query(group)) for group in ("a, b", "big")}
    assert labels(build_network("s", large, decide(large, facts()))) == {"a, b", "big"}


def test_a_node_is_derived_where_that_is_cheaper_than_grouping_rows_once_more() -> None:
    queries = {"wide": needs(query("big, x, a")), "small": needs(query("a"))}
    cheap, dear = (decide(queries, facts(), replace(PRICES, derive=price)) for price in (1e-9, 1e-6))
    assert labels(build_network("s", queries, cheap)) == {"a, big, x"}
    assert labels(build_network("s", queries, dear)) == {"a", "a, big, x"}


def test_windows_that_do_not_fit_each_other_get_trees_and_those_that_do_share_one() -> None:
    def search(slides: list[int]) -> SearchResult:
        queries = {f"q{step}x{times}": choice(query("big", f"'{step * times} seconds', '{step} seconds'"), eager=True)
                   for step in slides for times in (20, 40)}
        known = Facts(200_000, 40_000_000, {frozenset({needs(query("big")).groups[0].name}): 5_000.0}, 5)
        return Search(queries, known, ON_SPARK).run()

    apart, together = search([7, 9, 10, 11]), search([10, 20, 40])
    assert len({place.tree for place in apart.placements.values()}) > 1
    assert {place.tree for place in together.placements.values()} == {""}
    assert apart.price < 0.7 * min(apart.everything, apart.nothing)


def test_predicates_that_nobody_shares_become_matches_and_thresholds_do_not() -> None:
    rare = {f"q{place}": choice(query("a", where=f"WHERE big = {place} AND x <> {place}")) for place in range(10)}
    found = Search(rare, facts(), PRICES).run()
    assert all(place.matches for place in found.placements.values()) and found.price < 0.8 * found.everything
    many = {f"q{place}": choice(query("a", where=f"WHERE x > {place}")) for place in range(300)}
    assert not any(place.matches for place in Search(many, facts(), PRICES).run().placements.values())


def test_a_glance_sees_that_predicates_have_nothing_in_common() -> None:
    """It prices a single candidate, so that ten thousand queries are placed before their first tick."""
    columns = list(COLUMNS)
    rare = {
        f"q{place}": choice(query("", where=f"WHERE big = {place} AND {one} = 1 AND {other} < {place}"))
        for place, (one, other) in enumerate(permutations(columns[:4] + ["x"], 2))
    }
    seen = Search(rare, facts(), PRICES).glance()
    assert seen is not None and seen.tried == 1 and all(place.matches for place in seen.placements.values())
    assert seen.price < 0.5 * seen.everything, "sharing everything costs at least that"
    assert seen.everything <= Search(rare, facts(), PRICES).run().everything
    assert Search({"groups": choice(query("a"))}, facts(), PRICES).glance() is None


def test_a_plan_for_a_given_kernel_is_made_by_its_prices_alone() -> None:
    """For Spark matches are a job more than all other nodes, in a pass of DuckDB they are a statement."""
    rare = {f"q{place}": choice(query("a", where=f"WHERE big = {place} AND x <> {place}")) for place in range(10)}
    rare["groups"] = choice(query("b, c"))
    known = facts(50_000)
    found = {kernel: Search(rare, known, COSTS.for_kernel(kernel)).run() for kernel in KERNELS}
    matched = {kernel: any(place.matches for place in one.placements.values()) for kernel, one in found.items()}
    assert matched == {SPARK: False, DUCKDB: True}
    assert all(one.price < 1 for one in found.values()), "what must not be is in no price"


def random_queries(random: Random) -> dict[str, Choice]:
    found = {}
    for place in range(random.randint(1, 14)):
        group = ", ".join(random.sample(list(COLUMNS), random.randint(0, 3)))
        step = random.choice([1, 5, 7, 10, 12, 15])
        where = random.choice(["", "", f"WHERE x > {random.randint(0, 999)}", f"WHERE big = {place} AND a = 1"])
        window = f"'{step * random.randint(1, 30)} seconds', '{step} seconds'"
        found[f"q{place}"] = choice(query(group, window, where), eager=random.random() < 0.5)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_plan_is_priced_above_sharing_everything_or_nothing(seed: int) -> None:
    random = Random(f"prices {seed}")
    queries = random_queries(random)
    known = facts(random.choice([100, 10_000, 1_000_000]), random.choice([1e6, 3e7, 1e9]))
    search = Search(queries, known, PRICES)
    found = search.run()
    assert found.price <= min(found.everything, found.nothing) * (1 + 1e-9), f"seed {seed}"
    again = search.run(found.placements)
    assert again.price <= found.price * (1 + 1e-9), "a search never leaves a plan for a dearer one"
    assert found.placements.keys() == queries.keys()


def test_a_new_query_goes_where_its_like_is_and_nobody_else_moves() -> None:
    queries = {f"q{step}x{times}": choice(query("big", f"'{step * times} seconds', '{step} seconds'"), eager=True)
               for step in (7, 9, 10, 11) for times in (20, 40)}
    known = Facts(200_000, 40_000_000, {frozenset({needs(query("big")).groups[0].name}): 5_000.0}, 5)
    placed = dict(Search(queries, known, PRICES).run().placements)
    more = {**queries, "like": choice(query("big", "'140 seconds', '7 seconds'"), eager=True),
            "other": choice(query("big", "'70 seconds', '10 seconds'"), eager=True)}
    fresh = Search(more, known, PRICES).place(["like", "other"], placed)
    assert fresh["like"] == placed["q7x20"] and fresh["other"].tree == placed["q10x20"].tree


def test_bills_add_up_to_the_whole() -> None:
    queries = {"one": needs(query("a, b")), "two": needs(query("a")), "three": needs(query("big"))}
    network, known = build_network("s", queries), facts()
    amounts = node_amounts(network, known, {}, {})
    bill = bill_of(network, amounts, PRICES)
    assert bill.total == pytest.approx(PRICES.price(add(amounts.values())))
    assert sum(bill.share(name) for name in queries) == pytest.approx(bill.total)
    assert bill.share("three") > bill.share("two"), "many groups cost more than few"


def test_prices_grow_with_rows_and_nodes() -> None:
    queries = {group: needs(query(group)) for group in ("a", "big")}
    apart = Decision({})
    assert price(queries, apart, facts(1_000_000)) > price(queries, apart, facts(100_000)) > 0
    assert price({**queries, "x": needs(query("x"))}, apart, facts()) > price(queries, apart, facts())
    assert timedelta(seconds=price(queries, apart, facts())) < timedelta(seconds=10)


def test_every_job_reads_the_batch_again() -> None:
    """Statistics that need a sort, and grouping keys that are too many for one job, each cost a reading more."""
    known, plain = facts(), {"plain": needs(query("a"))}
    sorting = {"plain": needs("SELECT a, max_by(b, c) AS m FROM s GROUP BY window(ts, '10 seconds'), a")}
    # Of predicates as truths in trees of their own, each brings two keys: thirty fill a job.
    many = {f"q{number}": needs(query("a", where=f"WHERE x > {number}"), Placement(f"own {number}", truths=True))
            for number in range(100)}
    for queries, jobs in ((plain, 1), (sorting, 2), (many, 4)):
        network = build_network("s", queries, Decision({}))
        assert len(jobs_of(network)) == jobs
        own = node_amounts(network, known, {}, {})[""]
        assert (own["job"], own["read"]) == (jobs, jobs * known.rows)
        slower = replace(ON_SPARK, read=COSTS.read + 1e-6)
        drafts = [decider(queries, known, costs).price(Draft(collect(queries), {}, {}), Decision({}))
                  for costs in (ON_SPARK, slower)]
        assert drafts[1] - drafts[0] == pytest.approx(jobs * known.rows * 1e-6), "the search counts as the bill does"
    tests = [node_amounts(build_network("s", queries), known, {}, {})[""]["test"] for queries in (plain, sorting)]
    assert tests[1] == 2 * tests[0], "and tests each row again for its nodes"
