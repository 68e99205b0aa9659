"""Two engines, or two threads of one, over the same state: neither takes from the other what it has committed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

import weft
import weft.optimize.planner
import weft.store.committed
import weft.testing
from tests.simulation.level0 import PlainBatch
from tests.simulation.meanwhile import counts, tick
from tests.simulation.world import SECOND, Move, Query, Window, World, at
from weft import failpoint
from weft.errors import EngineError, SqlError, StateError, StreamError
from weft.registry.declared import Declared
from weft.store.snapshot import Snapshot
from weft.store.tend import LEASE

TOTAL = Query("total", ("k",), ("n",), None, "forever", eager=False)
COUNT = "SELECT count(*) AS n FROM s"


def batch(number: int, checkpoint: str = weft.testing.FED) -> PlainBatch:
    """One row, of the second of the batch."""
    mark = weft.testing.mark(number, checkpoint)
    return PlainBatch(mark, [{"ts": number * SECOND, "k": "a", "g": 1, "v": number}])


def run(engine: weft.Engine, *numbers: int) -> None:
    for number in numbers:
        weft.testing.run(engine, "s", batch(number))


def elsewhere(world: World) -> weft.Engine:
    engine = world.open_elsewhere()
    engine.catalog._clock = lambda: world.now
    return engine


@contextmanager
def before_its_first_write(engine: weft.Engine, act: Callable[[], object]) -> Iterator[None]:
    """Something happens between what an engine has seen of the catalog and its first change of it."""
    write, waiting = engine.catalog.write, [act]

    @contextmanager
    def later() -> Iterator[Any]:
        if waiting:
            waiting.pop()()
        with write() as writer:
            yield writer

    engine.catalog.write = later  # type: ignore[method-assign]
    yield
    engine.catalog.write = write  # type: ignore[method-assign]


def test_a_second_engine_takes_no_committed_file_for_an_orphan(world: World) -> None:
    """It looked for orphans while the first one had written its files and not yet committed them."""
    world.run([TOTAL])
    run(world.engine, 0)
    written, found, committed = threading.Event(), threading.Event(), threading.Event()

    def passage(name: str) -> None:
        if name == "commit-before" and threading.current_thread() is first:
            written.set()
            assert found.wait(30)
        if name == "orphans-found" and threading.current_thread() is not first:
            found.set()
            assert committed.wait(30)

    def tick_here() -> None:
        run(world.engine, 1)
        committed.set()

    first = threading.Thread(target=tick_here)
    failpoint.watch(passage)
    try:
        with closing(elsewhere(world)) as second:
            first.start()
            assert written.wait(30)
            with pytest.raises(StateError) as refusal:
                run(second, 1)
            first.join()
    finally:
        failpoint.watch(None)
    assert refusal.value.code == "tick-not-newer"
    for number in (2, 3):
        world.now += LEASE + timedelta(seconds=1)
        run(world.engine, number)
    with closing(elsewhere(world)) as reader:
        assert counts_of_total(reader) == 4


def counts_of_total(engine: weft.Engine) -> int:
    (row,) = engine.query("total").result().to_pylist()
    return int(row["n"])


def test_a_batch_of_a_checkpoint_that_was_replaced_meanwhile_is_not_committed(world: World) -> None:
    """An engine that hung goes on after the stream was adopted and its rows were counted elsewhere."""
    world.run([TOTAL])
    run(world.engine, 0)

    def others() -> None:
        with closing(elsewhere(world)) as other:
            other.adopt("s")
            new = weft.testing.adopted(other, "s", weft.testing.mark(0, "new"))
            weft.testing.run(other, "s", PlainBatch(new, batch(1).rows))
            assert counts_of_total(other) == 2

    with at("commit-before", others), pytest.raises(StateError) as refusal:
        run(world.engine, 1)
    assert refusal.value.code == "checkpoint-replaced"
    world.forget()
    assert counts_of_total(world.engine) == 2


def test_two_processes_that_add_one_stream_at_once_do_not_both_have_it(world: World) -> None:
    def add(engine: weft.Engine, time: str) -> None:
        engine.add_stream(
            "t", source="parquet", path=world.folder / "t", schema="ts timestamp, ts2 timestamp", event_time=time
        )

    with closing(elsewhere(world)) as other:
        with before_its_first_write(world.engine, lambda: add(other, "ts2")), pytest.raises(StreamError) as refusal:
            add(world.engine, "ts")
        assert refusal.value.code == "stream-differs"
        with closing(elsewhere(world)) as third:
            assert third.registry.stream("t").event_time == "ts2"
        add(world.engine, "ts2")


def test_two_processes_that_define_one_aggregate_at_once_do_not_both_have_it(world: World) -> None:
    def define(engine: weft.Engine, basic: str) -> None:
        engine.create_aggregate("extreme", parameters="x bigint", statistics={"s": f"{basic}(x)"},
                                merge={"s": basic}, result="s")

    with closing(elsewhere(world)) as other:
        with before_its_first_write(world.engine, lambda: define(other, "max")), pytest.raises(SqlError) as refusal:
            define(world.engine, "min")
        assert refusal.value.code == "aggregate-differs"
        define(world.engine, "max")


def test_the_same_query_may_be_registered_by_two_processes_at_once(world: World) -> None:
    with closing(elsewhere(world)) as other:
        with before_its_first_write(world.engine, lambda: other.register(COUNT, name="q")):
            assert world.engine.register(COUNT, name="q").name == "q"
        with (
            before_its_first_write(world.engine, lambda: other.register(COUNT, name="p")),
            pytest.raises(EngineError) as refusal,
        ):
            world.engine.register(COUNT.replace("count(*)", "sum(v)"), name="p")
        assert refusal.value.code == "query-differs"
        with before_its_first_write(world.engine, lambda: other.register(COUNT, name="r", keep="2 days")):
            world.engine.register(COUNT, name="r", eager=True)
        definition = world.engine.registry.query("r").row.definition
        assert (definition.keep_text, definition.eager) == ("2 days", True)
        world.engine.query("r").drop()
        assert {one.name for one in world.engine.queries()} == {"p", "q"}


def test_whoever_reads_while_another_thread_loads_the_state_waits_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is registered is newer already than the state from hours ago: a query that moved would read nothing."""
    moving = Query("moving", ("k",), ("n",), Window(2, 2), "7 seconds", eager=False)
    world.run([TOTAL, moving, *(tick(number, "a") for number in range(1, 4))])
    with closing(elsewhere(world)) as reader:
        assert counts_of_total(reader) == 3
        world.run([Move((("moving", "a"),))])
        for number in range(4, 40):
            world.now += LEASE
            world.run([tick(number, "a")])
        assert not world.engine.registry.query("moving").pasts
        loading, go_on, load = threading.Event(), threading.Event(), weft.store.committed.load_state

        def slowly(*given: Any) -> Any:
            loading.set()
            assert go_on.wait(30)
            return load(*given)

        monkeypatch.setattr(weft.store.committed, "load_state", slowly)
        found: dict[str, Any] = {}
        first = threading.Thread(target=lambda: reader.query("total").result())
        second = threading.Thread(
            target=lambda: found.update(total=counts_of_total(reader), moving=counts(reader.query("moving")))
        )
        first.start()
        assert loading.wait(30)
        second.start()
        second.join(0.2)
        go_on.set()
        first.join()
        second.join()
    assert found == {"total": 39, "moving": counts(world.engine.query("moving"))}


def test_a_plan_that_another_thread_began_before_a_move_is_not_a_ticks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = Query("moving", ("k",), ("n",), Window(4, 4), "forever", eager=False)
    world.run([moving, tick(1, "a")])
    planner = world.engine.planner("s")
    world.run([Move((("moving", "a"),))])
    began, go_on, make = threading.Event(), threading.Event(), weft.optimize.planner.make_plan

    def slowly(*given: Any) -> Any:
        made = make(*given)
        if threading.current_thread() is reader:
            began.set()
            assert go_on.wait(30)
        return made

    monkeypatch.setattr(weft.optimize.planner, "make_plan", slowly)
    reader = threading.Thread(target=planner.plan)
    reader.start()
    assert began.wait(30)
    world.run([Move((("moving", "b"),))])
    ticking = threading.Thread(target=lambda: world.run([tick(3, "a")]))
    ticking.start()
    ticking.join(0.2)
    go_on.set()
    reader.join()
    ticking.join()
    assert planner.last is planner.plan()
    assert planner.plan().queries["moving"].placement.tree == "b"
    world.run([tick(5, "a"), tick(9, "a")])
    assert counts(world.engine.query("moving")) == [2, 1]


def test_an_engine_goes_on_after_another_one_ran_its_stream(world: World) -> None:
    world.run([TOTAL])
    run(world.engine, 0)
    with closing(elsewhere(world)) as other:
        run(other, 1, 2)
        weft.testing.start_anew(world.engine, "s")
        assert weft.testing.ticker(world.engine, "s").state.batch_id == 2
        run(world.engine, 3)
        assert counts_of_total(world.engine) == 4
        other.adopt("s")
        # Reading notices, and so does whoever starts.
        world.engine.state_of("s")
        new = weft.testing.adopted(world.engine, "s", weft.testing.mark(0, "new"))
        weft.testing.run(world.engine, "s", PlainBatch(new, batch(4).rows))
    assert counts_of_total(world.engine) == 5


def test_files_are_swept_only_when_nobody_is_served_from_them(world: World) -> None:
    """Merging that takes longer than a lease: what it took out of the catalog first is still the state that is read."""
    world.run([TOTAL])
    seen: list[int] = []

    def long_merging() -> None:
        world.now += 2 * LEASE

    def read_meanwhile() -> None:
        world.engine.cache._recent.forget(tuple(world.files_on_disk()))
        seen.append(counts_of_total(world.engine))

    for number in range(12):
        act = {"tend-after": long_merging, "garbage-before": read_meanwhile, "garbage-between": read_meanwhile}
        failpoint.watch(lambda name, act=act: act.get(name, lambda: None)())
        try:
            run(world.engine, number)
        finally:
            failpoint.watch(None)
    assert seen and max(seen) == 12 and set(seen) <= set(range(1, 13))


def test_nobody_who_reads_waits_for_spark_to_start(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run([TOTAL])
    run(world.engine, 0)
    engine, starting, go_on = world.engine, threading.Event(), threading.Event()

    def slow_start(*_: object) -> None:
        starting.set()
        assert go_on.wait(30)

    monkeypatch.setattr("weft.spark.session.start_for_engine", slow_start)
    spark = threading.Thread(target=lambda: engine.spark)
    spark.start()
    assert starting.wait(30)
    found: list[int] = []
    reading = threading.Thread(target=lambda: found.append(counts_of_total(engine)))
    reading.start()
    reading.join(20)
    meanwhile = list(found)
    go_on.set()
    spark.join()
    reading.join()
    assert meanwhile == [1]


def test_a_query_that_another_process_registers_on_another_stream_is_read_there(world: World) -> None:
    other = elsewhere(world)
    weft.testing.add_stream(other, "t", schema="ts timestamp, k string", event_time="ts")
    with closing(other):
        query = world.engine.register(COUNT, name="q")
        run(world.engine, 0)
        assert [q.name for q in world.engine.queries()] == ["q"] and query.result()["n"].to_pylist() == [1]
        other.query("q").drop()
        other.register(COUNT.replace("FROM s", "FROM t"), name="q")
        assert query.result()["n"].to_pylist() == [0] and query.metrics()["status"] == "registered"
        weft.testing.feed(other, "t", [{"ts": "2026-01-01T00:00:01"}, {"ts": "2026-01-01T00:00:02"}])
        assert query.result()["n"].to_pylist() == [2]


def test_a_reader_takes_no_declared_stream_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread reads the streams of a moment; before it notes them, another thread knows those of a later moment."""
    other, engine, usual = elsewhere(world), world.engine, Declared.after
    with closing(other):
        run(engine, 0)
        other.register(COUNT, name="q")

        def after(declared: Declared, catalog: Snapshot) -> Declared:
            monkeypatch.setattr(Declared, "after", usual)
            earlier = declared.after(catalog)
            weft.testing.add_stream(other, "t", schema="ts timestamp, k string", event_time="ts")
            engine.registry.refresh()
            assert sorted(engine.registry.streams()) == ["s", "t"]
            return earlier

        monkeypatch.setattr(Declared, "after", after)
        assert engine.registered("q").name == "q"
        assert Declared.after is usual and sorted(engine.registry.streams()) == ["s", "t"]
