"""What others do meanwhile: a process that dies before it finished windows, queries that are replaced, moved or registered
while a tick is computed, or by another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import weft
import weft.testing
from tests.few import few
from tests.simulation import test_simulation
from tests.simulation.level0 import PlainBatch
from tests.simulation.meanwhile import counts, die, tick
from tests.simulation.test_simulation import compare
from tests.simulation.world import Crash, Query, Window, World, at
from weft.errors import StateError
from weft.registry import compiler
from weft.registry.compiler import compile_row
from weft.registry.registered import Registered
from weft.store import transactions
from weft.store.definition import QueryDefinition
from weft.store.records import AggregateRow, QueryRow, StreamRow
from weft.store.tend import LEASE


@pytest.mark.parametrize("point", few(("commit-after", "finish-written", "finish-inside"), 2))
def test_windows_that_nobody_lived_to_finish_are_merged_when_asked_for(world: World, point: str) -> None:
    query = Query("q", ("k",), ("n",), Window(2, 2), "forever", eager=True)
    world.run([query])
    for number in range(40):
        if number == 5:
            with at(point, die), pytest.raises(Crash):
                world._do(tick(2 * number, "a"))
            world.forget()
        # Once two seconds, once none: nothing is due in every third tick, which is no gap.
        world.run([tick(2 * number, "a"), *([tick(2 * number, "b")] if number % 2 else [])])
        if number in (16, 17, 18, 39):
            world.forget()
            with patch.object(test_simulation, "WINDOWS", 100):
                compare(world, {"q": query})
    files = [file for one in world.engine.state_of("s").synopses.values() for file in one.finished(_family(world))]
    # 16 neighbours become one, on both sides of the gap.
    assert len(files) < 20 and max(file.rank for file in files) == 1


def _family(world: World) -> str:
    (place,) = world.engine.plan("s").finished["q"]
    return place.family


def test_a_query_that_is_replaced_while_a_tick_is_computed_waits_for_the_next(world: World) -> None:
    engine = world.engine
    engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')", name="other")
    engine.register("SELECT sum(v) AS n FROM s GROUP BY window(ts, '2 seconds')", name="q")
    world.run([tick(1, "a")])

    def replace() -> None:
        engine.query("q").drop()
        engine.register("SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k", name="q")

    with at("spark-after", replace):
        world._do(tick(3, "a", "b"))
    assert engine.query("q").status == "registered"
    world.run([tick(5, "a", "b"), tick(7, "a")])
    assert engine.query("q").results().select(["k", "n"]).to_pylist() == [{"k": "a", "n": 1}, {"k": "b", "n": 1}]
    assert counts(engine.query("other")) == [1, 2, 2]


def test_windows_finished_for_a_query_are_not_read_by_one_that_took_its_name(world: World) -> None:
    """Twenty queries that differ by a constant are finished together, each under its name."""

    def sql(key: str) -> str:
        return f"SELECT count(*) AS n FROM s WHERE k = '{key}' GROUP BY window(ts, '2 seconds')"

    engine = world.engine
    engine.register_all({f"q{number}": sql(f"k{number}") for number in range(20)}, eager=True)
    world.run([tick(1, "k3", "k3", "k3", "other")])

    def replace() -> None:
        engine.query("q3").drop()
        engine.register(sql("other"), name="q3", eager=True)

    with at("spark-after", replace):
        world._do(tick(3, "k3"))
    world.run([tick(5, "k3")])
    assert engine.query("q3").result(end="1970-01-01T00:00:02")["n"].to_pylist() == [1]
    world.forget()
    assert world.engine.query("q3").result(end="1970-01-01T00:00:02")["n"].to_pylist() == [1]


def test_another_process_reads_a_query_where_it_is_now(world: World) -> None:
    engine = world.engine
    engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '8 seconds', '2 seconds')", name="q")
    for number in range(1, 6):
        world.run([tick(2 * number, "a")])
    with closing(weft.Engine(world.folder / "state")) as reader:
        query = reader.query("q")
        assert counts(query) == [1, 2, 3, 4]
        weft.testing.move(engine, "s", {"q": "apart"})
        for number in range(6, 11):
            world.run([tick(2 * number, "a")])
        assert counts(query) == counts(engine.query("q")) == [1, 2, 3, 4, 4, 4, 4, 4, 4]
        engine.query("q").drop()
        with pytest.raises(weft.EngineError) as refusal:
            query.results()
        assert refusal.value.code == "unknown-query"


def test_a_query_that_another_process_moves_while_a_tick_is_computed_moves_with_the_next(world: World) -> None:
    engine = world.engine
    engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '8 seconds', '2 seconds')", name="q")
    for number in range(1, 6):
        world.run([tick(2 * number, "a")])
    with closing(weft.Engine(world.folder / "state")) as other:
        with at("spark-after", lambda: weft.testing.move(other, "s", {"q": "apart"})):
            world._do(tick(12, "a"))
        for number in range(7, 11):
            world.run([tick(2 * number, "a")])
        assert counts(engine.query("q")) == counts(other.query("q")) == [1, 2, 3, 4, 4, 4, 4, 4, 4]
    (past,) = engine.registry.query("q").row.definition.pasts
    assert past.until == 6


def test_what_another_process_registers_is_not_missed_for_a_change_of_ones_own(world: World) -> None:
    engine = world.engine
    engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')", name="mine")
    with closing(weft.Engine(world.folder / "state")) as other:
        other.register("SELECT sum(v) AS n FROM s GROUP BY window(ts, '2 seconds')", name="theirs")
        engine.query("mine").drop()
        world.run([tick(1, "a"), tick(3, "a")])
        assert counts(engine.query("theirs")) == [1]
        # The same name and text, but kept for another time: it is another query.
        other.query("theirs").drop()
        other.register("SELECT sum(v) AS n FROM s GROUP BY window(ts, '2 seconds')", name="theirs", keep="forever")
        world.run([tick(5, "a")])
        assert engine.registry.query("theirs").keep is None


def test_what_is_registered_never_goes_back(world: World) -> None:
    """As when a thread that reads has looked at the catalog, and waits for one that changes it."""
    engine = world.engine
    count = "SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')"
    engine.register(count, name="dropped")
    with closing(weft.Engine(world.folder / "state")) as other:
        # Between what the engine knows and what it changes there may be what another process changed.
        other.register(count, name="theirs")
        with engine.catalog.read() as earlier:
            engine.add_stream("new", source="parquet", path=world.folder, schema="ts timestamp", event_time="ts")
            other.register(count, name="theirs too")
            with engine.catalog.read() as between:
                engine.query("dropped").drop()
                engine.register(count, name="mine")
                engine.create_aggregate("most", statistics={"a": "max(x)"}, merge={"a": "max"}, result="a")
                for moment in (earlier, between):
                    engine.registry.follow(moment)
                    assert set(engine.registry.streams()) == {"s", "new"}
                    assert set(engine.registry.queries()) == {"theirs", "theirs too", "mine"}
                    assert engine.registry.preview("SELECT most(v) AS n FROM s")


def test_a_change_of_ones_own_outlives_a_look_at_what_came_right_before_it(world: World) -> None:
    engine = world.engine
    count = "SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')"
    for name in ("one", "two"):
        engine.register(count, name=name)
    with closing(weft.Engine(world.folder / "state")) as other:
        other.register(count, name="theirs")
        with engine.catalog.read() as between:
            engine.query("one").drop()
            engine.registry.follow(between)
            assert set(engine.registry.queries()) == {"two", "theirs"}


def test_a_query_that_is_replaced_right_after_a_commit_waits_for_the_next(world: World) -> None:
    engine = world.engine
    engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')", name="other")
    world.run([tick(1, "a")])
    engine.register("SELECT sum(v) AS n FROM s GROUP BY window(ts, '2 seconds')", name="q")

    def replace() -> None:
        engine.query("q").drop()
        engine.register("SELECT k, count(*) AS n FROM s GROUP BY window(ts, '2 seconds'), k", name="q")

    with at("commit-after", replace):
        world._do(tick(3, "a", "b"))
    assert engine.query("q").status == "registered" and engine.query("q").complete_from is None
    world.run([tick(5, "a", "b"), tick(7, "a")])
    assert counts(engine.query("q")) == [1, 1]


def test_a_checkpoint_from_long_ago_halts(world: World) -> None:
    """Its batches would be taken for those that have the same numbers."""
    world.engine.register("SELECT count(*) AS n FROM s", name="q")
    with patch.object(transactions, "TICKS_KEPT", 10):
        for second in range(30):
            world.run([tick(second, "a")])
        world.arrived[6:] = []
        with pytest.raises(StateError) as refusal:
            world._do(tick(100, "a"))
    assert refusal.value.code == "batch-forgotten" and refusal.value.hint
    assert world.engine.query("q").result()["n"].to_pylist() == [30]


def test_streams_differ_by_more_than_capitals(world: World) -> None:
    """To SQL they would be one name, and a query could be of either."""
    with pytest.raises(weft.StreamError) as refusal:
        world.engine.add_stream("S", source="parquet", path=world.folder, schema="ts timestamp", event_time="ts")
    assert refusal.value.code == "bad-name" and list(world.engine.registry.streams()) == ["s"]


def test_a_query_that_is_accepted_no_longer_keeps_no_other_from_running(world: World) -> None:
    """As after an upgrade that closed a door: the engine opens, the others run, and it can be dropped."""
    good = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')", name="good")
    definition = QueryDefinition(timedelta(days=7))
    with world.engine.catalog.write() as catalog:
        sql = "SELECT count(*) AS n FROM s WHERE k RLIKE '(a+)+b'"
        catalog.put_queries([QueryRow(name="old", stream="s", sql=sql, definition=definition)])
    world.run([tick(1, "a"), tick(3, "a")])
    assert counts(good) == [1]
    world.forget()
    assert [one.name for one in world.engine.queries()] == ["good"]
    with pytest.raises(weft.EngineError) as refusal:
        world.engine.query("old").result()
    assert refusal.value.code == "query-not-accepted" and "bad-pattern" in refusal.value.message
    world.engine.query("old").drop()
    new = world.engine.register("SELECT count(*) AS n FROM s WHERE k = 'aab'", name="old")
    world.run([tick(5, "aab"), tick(7, "a")])
    assert new.result()["n"].to_pylist() == [1]


@contextmanager
def refusing(world: World, name: str) -> Iterator[None]:
    """Until its end another Weft runs, one that does not accept a query."""

    def strict(row: QueryRow, *rest: Any) -> Registered:
        if row.name == name:
            raise weft.SqlError("bad-pattern", "not accepted", hint="Write it in another way.")
        return compile_row(row, *rest)

    world.forget()
    with patch.object(compiler, "compile_row", strict), patch.object(compiler, "FORMAT", -1):
        yield
        world.forget()


@pytest.mark.parametrize("trees", [[], ["apart"], ["apart", ""]])
def test_a_query_that_is_accepted_again_begins_anew(world: World, trees: list[str]) -> None:
    """As after an upgrade and a step back: ticks between the two know nothing of it."""
    world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '8 seconds', '2 seconds')", name="q")
    world.engine.register("SELECT count(*) AS n FROM s", name="other")
    world.run([tick(2, "a"), tick(4, "a")])
    for tree in trees:
        weft.testing.move(world.engine, "s", {"q": tree})
        world.run([tick(6, "a"), tick(8, "a")])
    with refusing(world, "q"):
        for second in (10, 12):
            world.run([tick(second, "a")])
        with pytest.raises(weft.EngineError):
            world.engine.query("q").result()
    assert world.engine.query("q").status == "registered"
    for number in range(7, 15):
        world.run([tick(2 * number, "a")])
    assert world.engine.query("q").status == "running"
    assert set(counts(world.engine.query("q"))) == {4}
    assert not world.engine.registry.query("q").row.definition.pasts
    assert world.engine.query("other").result()["n"].to_pylist() == [10 + 2 * len(trees) + 2]


def test_a_query_that_is_refused_while_no_tick_runs_loses_nothing(world: World) -> None:
    world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '4 seconds', '2 seconds')", name="q")
    world.run([tick(2, "a"), tick(4, "a")])
    with refusing(world, "q"):
        assert world.engine.registry.refused("s") == ["q"]
    world.run([tick(6, "a"), tick(8, "a")])
    assert counts(world.engine.query("q")) == [1, 2, 2]


def test_an_aggregate_or_a_stream_that_is_accepted_no_longer_keeps_no_other_from_running(world: World) -> None:
    """As a query that is not: the engine opens, what uses them does not run, and nothing takes their names."""
    good = world.engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '2 seconds')", name="good")
    slow = {"parameters": "x string", "statistics": {"a": "count(CASE WHEN x RLIKE '(a+)+b' THEN 1 END)"},
            "merge": {"a": "sum"}, "result": "a"}
    stream = {**world.engine.registry.stream("s").definition(), "columns": [["ts", "timestamp"], ["x", "hologram"]]}
    sqls = {"by aggregate": "SELECT slow(k) AS n FROM s", "by stream": "SELECT count(*) AS n FROM odd"}
    with world.engine.catalog.write() as catalog:
        catalog.put_aggregate(AggregateRow(name="slow", definition=slow))
        catalog.put_stream(StreamRow(name="odd", definition=stream))
        catalog.put_queries(
            QueryRow(name=name, stream="s" if "slow" in sql else "odd", sql=sql, definition=QueryDefinition(timedelta(days=1)))
            for name, sql in sqls.items()
        )
    world.run([tick(1, "a"), tick(3, "a")])
    assert counts(good) == [1]
    world.forget()
    engine = world.engine
    assert counts(engine.query("good")) == [1] and list(engine.registry.streams()) == ["s"]

    def read(name: str) -> Callable[[], object]:
        return lambda: engine.query(name).result()

    def add(name: str) -> None:
        engine.add_stream(name, source="parquet", path=world.folder, schema="ts timestamp", event_time="ts")

    for act, code in [
        (read("by aggregate"), "query-not-accepted"),
        (read("by stream"), "query-not-accepted"),
        (lambda: engine.registry.stream("odd"), "stream-not-accepted"),
        (lambda: add("odd"), "stream-differs"),
        (lambda: add("ODD"), "bad-name"),
        (lambda: engine.create_aggregate("slow", **slow), "bad-pattern"),
        (lambda: engine.create_aggregate("slow", **{**slow, "result": "a + 1"}), "aggregate-differs"),
    ]:
        with pytest.raises(weft.WeftError) as refusal:
            act()
        assert refusal.value.code == code
    for name in sqls:
        engine.query(name).drop()
    world.run([tick(5, "a")])
    assert counts(engine.query("good")) == [1, 1]


def test_a_death_between_two_deletions_leaves_nothing_behind(world: World) -> None:
    """The list of garbage is cleared when all of it is gone; a file that is gone already is passed over."""
    query = Query("q", ("k",), ("n",), Window(2, 1), "5 seconds", eager=True)
    world.run([query, *(tick(second, "a", "b") for second in range(12))])
    world.now += LEASE + timedelta(seconds=1)
    with world.engine.catalog.read() as reader:
        garbage = reader.garbage(older_than=LEASE)
    assert len(garbage) > 1
    usual, deleted = Path.unlink, []

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if deleted:
            raise Crash
        deleted.append(path)
        usual(path, missing_ok)

    with patch.object(Path, "unlink", unlink), pytest.raises(Crash):
        weft.testing.run(world.engine, "s", PlainBatch(weft.testing.mark(12), tick(12, "a").dicts()))
    world.forget()
    assert set(garbage) & world.files_on_disk(), "some are left"
    world.run([tick(12, "a"), tick(13, "b")])
    assert not set(garbage) & world.files_on_disk()
    compare(world, {"q": query})
