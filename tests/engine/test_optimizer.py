"""The optimizer in a running engine: it learns, moves queries where that saves, says why, and changes no answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
import weft.testing
from tests.engine.harness import add_stream, feed, session_with
from tests.engine.oracle import difference
from tests.engine.queries import query_set
from tests.engine.rows import as_table, random_ticks
from tests.engine.test_invariance import BEGIN, INTERPRETED, answer
from tests.few import few
from tests.plan.prices import PRICES
from tests.simulation.level0 import PlainBatch, Row
from weft.cli.calibration import EXPLAINED, Observation, fit
from weft.cli.probes import probes
from weft.optimize.optimizer import Optimizer
from weft.plan.prices import MEANING, NAMES, Costs

# As if everything that grows with rows took so much longer: small streams are then worth a thought.
DEAR = {name: (price if name in ("tick", "job", "node", "family") else price * 3_000)
        for name, price in PRICES.definition().items()}

SCHEMA = "ts timestamp, a int, b int, c int, d int, v int"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        with engine.catalog.write() as catalog:
            catalog.put_costs(DEAR)
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts",
                          schema="ts timestamp, a int, b int, c int, d int, v int")
        yield engine


def tick(engine: weft.Engine, number: int, rows: int = 400) -> None:
    random = Random(number)
    made: list[Row] = [{"ts": number * 20_000_000 + place * 20_000_000 // rows, "v": random.randint(0, 9),
                        **{name: random.randrange(kinds) for name, kinds in (("a", 2), ("b", 3), ("c", 2), ("d", 3))}}
                       for place in range(rows)]
    weft.testing.run(engine, "s", PlainBatch(weft.testing.mark(number), made))
    weft.testing.settle(engine, "s")


PAIRS = {f"{one}{two}": f"SELECT {one}, {two}, count(*) AS n, sum(v) AS t FROM s GROUP BY window(ts, '10 seconds'), {one}, {two}"
         for place, one in enumerate("abcd") for two in "abcd"[place + 1:]}


def test_after_a_few_ticks_small_groups_are_made_of_one_union_and_nothing_is_lost(engine: weft.Engine) -> None:
    engine.register_all(PAIRS)
    for number in range(4):
        tick(engine, number)
    network = engine.network("s")
    assert len(network.base) < len(PAIRS) == len(network.stored)
    assert any(not node.readers for node in network.base), "a node that nobody asked for"
    assert all(name not in engine.state_of("s").synopses for name in network.by_id.keys() - network.stored.keys())
    for name in PAIRS:
        rows = engine.query(name).results()
        assert sum(rows["n"].to_pylist()) == 400 * 4 - 200, "every row of the windows that are closed"


def test_what_a_tick_cost_and_should_have_cost_is_in_the_metrics(engine: weft.Engine) -> None:
    engine.register_all(PAIRS)
    assert engine.bill("s") is None, "nothing is known of a stream that never ran"
    for number in range(3):
        tick(engine, number)
    metrics = engine.metrics()["streams"]["s"]
    assert metrics["last_tick"]["predicted_seconds"] > 0
    assert metrics["last_tick"]["amounts"]["read"] == 400
    assert metrics["plan"]["planned"] <= min(metrics["plan"]["everything"], metrics["plan"]["nothing"])
    assert metrics["plan"]["from_rows"] == len(engine.network("s").base)


def test_explain_says_what_nodes_cost_what_a_query_pays_and_what_one_more_would_add(engine: weft.Engine) -> None:
    engine.register_all(PAIRS)
    for number in range(3):
        tick(engine, number)
    whole = engine.explain()
    assert "a tick takes about" in whole and "if nothing were" in whole and "only to make others of" in whole
    assert "pays" in engine.query("ab").explain()
    again = engine.explain(PAIRS["ab"].replace("count(*) AS n, ", ""))
    assert "would take no longer" in again
    more = engine.explain("SELECT v, a, b, c, d, max(v) AS m FROM s GROUP BY window(ts, '7 seconds'), v, a, b, c, d")
    assert re.search(r"would take [0-9.]+ m?s longer", more), more


RARE = "SELECT a, count(*) AS n, sum(v) AS t FROM s WHERE b = 1 AND c = 1 AND d = 2 AND v < 5 GROUP BY window(ts, '10 seconds'), a"


def test_a_running_optimizer_moves_a_query_and_its_windows_stay_whole(
    engine: weft.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A predicate over four columns makes hundreds of groups that nobody else reads: as one match it makes four."""
    monkeypatch.setattr(Optimizer, "_look", lambda *_: {})
    with weft.Engine(tmp_path / "all", sharing="everything") as other:
        other.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema=SCHEMA)
        for one in (engine, other):
            one.register(RARE, name="rare")
            for number in range(6):
                tick(one, number)
        moved, stayed = (one.registry.query("rare") for one in (engine, other))
        assert moved.placement.matches and [past.until for past in moved.pasts] in ([1], [2])
        assert moved.row.from_batch == 0, "it was counted before, from where it was"
        assert not stayed.placement.matches and not stayed.pasts
        sizes = [sum(len(node.dimensions) for node in one.network("s").base) for one in (engine, other)]
        assert sizes == [2, 5]
        assert engine.query("rare").results() == other.query("rare").results()
        assert len(set(engine.query("rare").results()["window_end"].to_pylist())) == 11, "before the move and after"


def test_with_nothing_shared_every_query_has_its_own_nodes_and_the_same_answers(tmp_path: Path) -> None:
    same = {f"q{number}": PAIRS["ab"].replace("FROM s", f"FROM s WHERE v < {number}") for number in (3, 5, 7)}
    queries = {**same, "total": "SELECT count(*) AS n FROM s"}
    found: dict[str, dict[str, list[dict[str, object]]]] = {}
    for sharing in ("everything", "nothing"):
        with weft.Engine(tmp_path / sharing, sharing=sharing) as engine:
            engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema=SCHEMA)
            engine.register_all(queries)
            for number in range(4):
                tick(engine, number)
            nodes, placements = engine.network("s").nodes, [one.placement for one in engine.registry.queries().values()]
            if sharing == "everything":
                assert [len(node.readers) for node in nodes if node.clock.sliced] == [3]
                assert len([node for node in nodes if node.parent is None]) == 1
            else:
                assert sorted(node.readers for node in nodes) == sorted((name,) for name in queries)
                assert all(node.parent is None for node in nodes), "none is made of another"
                assert len({placement.tree for placement in placements}) == len(queries), "nor do slices belong to two"
            assert engine.state_of("s").synopses.keys() == {node.id for node in nodes}
            found[sharing] = {name: engine.query(name).results().to_pylist() for name in same}
            found[sharing]["total"] = engine.query("total").result().to_pylist()
    assert found["nothing"] == found["everything"] and found["nothing"]["total"] == [{"n": 1600}]


def test_costs_are_kept_with_the_state(tmp_path: Path) -> None:
    with weft.Engine(tmp_path) as engine:
        engine.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema="ts timestamp, a int")
        assert weft.testing.costs(engine, "s") == Costs().over_files()
        for price in (2.5, 3.5):
            with engine.catalog.write() as catalog:
                catalog.put_costs({**Costs().definition(), "job": price})
    with weft.Engine(tmp_path) as engine:
        assert weft.testing.costs(engine, "s") == Costs(job=3.5).over_files()


def test_prices_are_heard_with_the_next_tick(engine: weft.Engine) -> None:
    engine.register_all(PAIRS)
    for number in range(3):
        tick(engine, number)
    optimizer = engine.planner("s").optimizer
    optimizer.wait()
    tick(engine, 3)
    before, generation = engine.bill("s"), optimizer.generation
    with engine.catalog.write() as catalog:
        catalog.put_costs({**Costs().definition(), "job": 100.0})
    tick(engine, 4)
    after = engine.bill("s")
    assert optimizer.costs == Costs(job=100.0).over_files() and optimizer.generation > generation
    assert before is not None and after is not None and after != before
    # What was searched for with the old prices is searched for again.
    optimizer.wait()
    tick(engine, 5)
    assert optimizer.last is not None and optimizer.last.costs == Costs(job=100.0).over_files()
    settled = optimizer.generation
    tick(engine, 6)
    assert optimizer.generation == settled


def test_nothing_moves_that_was_only_guessed_or_is_not_to_be_shared(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register_all(PAIRS)
    assert set(engine.optimize()["s"]) == {"planned", "everything", "nothing"}
    assert all(not one.placement.definition() for one in engine.registry.queries().values())
    with weft.Engine(tmp_path / "all", sharing="everything") as other:
        other.add_stream("s", source="parquet", path=tmp_path / "in", event_time="ts", schema="ts timestamp, a int, b int, c int, d int, v int")
        assert other.optimize()["s"]["planned"] > 0, "a tick costs something without any query"
        other.register_all(PAIRS)
        for number in range(3):
            tick(other, number)
        other.optimize()
        tick(other, 3)
        assert len(other.network("s").base) == len(PAIRS)


def test_an_unknown_way_to_share_is_refused(tmp_path: Path) -> None:
    with pytest.raises(weft.EngineError) as caught:
        weft.Engine(tmp_path, sharing="some")
    assert caught.value.code == "bad-sharing"


def test_an_unknown_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(weft.EngineError) as caught:
        weft.Engine(tmp_path, kernel="some")
    assert caught.value.code == "bad-kernel"


@pytest.mark.parametrize("seed", few(range(20), 1))
def test_answers_do_not_depend_on_how_much_is_shared(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"sharing {seed}")
    ticks = random_ticks(random, ticks=5, size=350, span=timedelta(seconds=120), delay=timedelta(seconds=3), late=0.1, begin=BEGIN)
    queries = {f"q{place}": query for place, query in enumerate(query_set(random))}
    found: dict[str, dict[str, pa.Table]] = {}
    for sharing in ("everything", "auto", "nothing"):
        with weft.Engine(tmp_path / sharing, spark=session_with(spark, INTERPRETED), sharing=sharing) as engine:
            with engine.catalog.write() as catalog:
                catalog.put_costs(DEAR)
            add_stream(engine, "s", tmp_path / "in", ticks)
            engine.register_all({name: query.weft("s") for name, query in queries.items()}, eager=seed == 1)
            for rows in ticks.rows:
                feed(engine, ["s"], as_table(rows))
                weft.testing.settle(engine, "s")
            found[sharing] = {name: answer(engine.query(name)) for name in queries}
    for sharing in ("auto", "nothing"):
        for name, query in queries.items():
            expected = found["everything"][name]
            problem = difference(found[sharing][name], expected.append_column("weft_place", pa.nulls(len(expected))), ordered=True)
            assert not problem, f"seed {seed}, {sharing}: {query.weft('s')}\n    {problem}"


def test_prices_are_found_again_from_ticks_that_they_made() -> None:
    random = Random("prices")
    true = Costs()
    ticks = []
    for _ in range(60):
        amounts = {name: float(random.choice([0, 1, 3, 10])) * (1 if name in ("job", "node", "family", "begin", "line") else 1e5)
                   for name in NAMES if name != "tick"} | {"tick": 1.0}
        stages = {stages[0]: sum(getattr(true, name) * amounts[name] for name in names) for stages, names in EXPLAINED}
        ticks.append(Observation("made", amounts, {**stages, "plan": true.tick}))
    found = fit(ticks)
    assert found.worst < 1.01
    for name in NAMES:
        assert getattr(found.costs, name) == pytest.approx(getattr(true, name), rel=0.02), name


def test_every_price_has_a_meaning_and_a_probe_that_shows_it() -> None:
    assert MEANING.keys() == set(NAMES)
    assert {name for _, names in EXPLAINED for name in names} | {"tick"} == set(NAMES)
    assert len(probes()) >= 12
