"""Whatever a tick raises is blamed on the query that raises it, or survived; what is around the queries stops the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pytest

import weft.testing
from tests.simulation.level0 import PlainBatch
from tests.simulation.world import SECOND, Query, World
from weft.backend.interface import BackendDown
from weft.plan.network import Network
from weft.spark.batch import BatchOutput
from weft.spark.checkpoint import BatchMark
from weft.spark.kernels import Level0

BY_KEY = Query("by_key", ("k",), ("n",), None, "forever", eager=False)
BY_GROUP = Query("by_group", ("g",), ("n", "total"), None, "forever", eager=False)
BY_BOTH = Query("by_both", ("g", "k"), ("n",), None, "forever", eager=False)
QUERIES = [BY_KEY, BY_GROUP, BY_BOTH]
# What no list of ours names: of Arrow, of Python, of a library that changed.
ERRORS = [pa.ArrowInvalid("offset overflow"), KeyError("s_1"), AssertionError(), RecursionError("too deep")]
Fails = Callable[[Level0], bool]


@dataclass(frozen=True)
class Failing(PlainBatch):
    """A batch that raises an error wherever `fails` says so."""

    error: Exception | None = None
    fails: Fails = lambda level0: False

    def aggregate(self, level0: Level0) -> BatchOutput:
        if self.error is not None and self.fails(level0):
            raise self.error
        return super().aggregate(level0)


def batch(number: int, error: Exception | None = None, fails: Fails = lambda level0: False) -> Failing:
    row = {"ts": number * SECOND, "k": "a", "g": 1, "v": number}
    return Failing(BatchMark("simulated", number, f"offsets {number}"), [row], error, fails)


def readers(network: Network) -> set[str]:
    return {name for node in network.nodes for name in node.readers}


def statuses(world: World) -> dict[str, str]:
    return {query.name: query.status for query in world.engine.queries()}


def counted(world: World, name: str) -> int:
    return sum(row["n"] for row in world.engine.query(name).result().to_pylist())


@pytest.fixture
def running(world: World) -> World:
    world.run(QUERIES)
    weft.testing.ticker(world.engine, "s").run(batch(0))
    return world


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
def test_the_query_that_raises_is_stopped_and_no_other(running: World, error: Exception) -> None:
    weft.testing.ticker(running.engine, "s").run(batch(1, error, lambda level0: "by_group" in readers(level0.network)))
    assert statuses(running) == {"by_key": "running", "by_group": "failed", "by_both": "running"}
    said = running.engine.query("by_group").metrics()["error"]
    assert said.endswith(str(error) or type(error).__name__)
    assert counted(running, "by_key") == counted(running, "by_both") == 2


@pytest.mark.parametrize("error", [MemoryError(), BackendDown("no memory"), RuntimeError("can't start new thread"),
                                   AttributeError("a fault of the engine")], ids=lambda one: type(one).__name__)
def test_what_is_around_the_queries_stops_none_of_them(running: World, error: Exception) -> None:
    """The tick fails and can be run again; nobody is blamed for what every query raises alike."""
    with pytest.raises(type(error)):
        weft.testing.ticker(running.engine, "s").run(batch(1, error, lambda level0: bool(readers(level0.network))))
    assert set(statuses(running).values()) == {"running"}
    weft.testing.ticker(running.engine, "s").run(batch(1))
    assert counted(running, "by_key") == 2


def test_what_works_only_one_node_after_the_other_is_computed_so(world: World) -> None:
    world.run([BY_KEY, BY_GROUP])
    ticker = weft.testing.ticker(world.engine, "s")
    ticker.run(batch(0))
    failed = []

    def fails(level0: Level0) -> bool:
        failed.extend(part for part in level0.statements if len(part.sets) > 1)
        return any(len(part.sets) > 1 for part in level0.statements)

    ticker.run(batch(1, ValueError("generated code is too large"), fails))
    assert failed
    assert set(statuses(world).values()) == {"running"}
    assert counted(world, "by_key") == counted(world, "by_group") == 2


def test_what_never_works_together_stops_the_newest_alone(running: World) -> None:
    late = Query("late", ("g",), ("least",), None, "forever", eager=False)
    running.run([late])
    clash = ValueError("a column twice")
    weft.testing.ticker(running.engine, "s").run(batch(1, clash, lambda level0: {"by_group", "late"} <= readers(level0.network)))
    assert statuses(running) == {"by_key": "running", "by_group": "running", "by_both": "running", "late": "failed"}
    said = running.engine.query("late").metrics()["error"]
    assert "fails together with queries that were registered before it: a column twice" in said
    assert counted(running, "by_group") == 2


def test_a_failure_that_does_not_come_again_stops_nobody(running: World) -> None:
    left = [1, 2]
    weft.testing.ticker(running.engine, "s").run(batch(1, ValueError("once"), lambda *_: bool(left and left.pop())))
    assert set(statuses(running).values()) == {"running"}
    assert counted(running, "by_key") == 2


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ConnectionRefusedError("no Java")])
def test_what_is_around_the_queries_stops_the_stream_and_no_query(running: World, error: Exception) -> None:
    ticker = weft.testing.ticker(running.engine, "s")
    with pytest.raises(type(error)):
        ticker.run(batch(1, error, lambda level0: bool(level0.network.nodes)))
    assert set(statuses(running).values()) == {"running"}
    ticker.run(batch(1))
    assert counted(running, "by_key") == 2


def test_a_batch_that_fails_without_any_query_blames_nobody(running: World) -> None:
    with pytest.raises(ValueError, match="bad batch"):
        weft.testing.ticker(running.engine, "s").run(batch(1, ValueError("bad batch"), lambda *_: True))
    assert set(statuses(running).values()) == {"running"}
