"""Moving queries while they run changes no answer: windows that span a move are read from both places."""

from __future__ import annotations

from collections.abc import Mapping
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
from tests.engine.queries import RandomQuery, query_set
from tests.engine.rows import Ticks, as_table, random_ticks
from tests.engine.test_invariance import BEGIN, INTERPRETED, answer
from tests.few import few
from weft.plan.placement import Placement

# A seed takes twelve ticks on Spark; every second one opens its engine again before each of them.
SEEDS = few(range(40), 1)


def some_ticks(random: Random) -> Ticks:
    return random_ticks(random, ticks=6, size=420, span=timedelta(seconds=150), delay=timedelta(seconds=3), late=0.1,
                        begin=BEGIN)


def random_places(random: Random, names: list[str]) -> dict[str, Placement]:
    moved = random.sample(names, random.randint(1, len(names)))
    return {name: Placement(random.choice(["", "a", "b"]), random.random() < 0.5) for name in moved}


def run(session: SparkSession, folder: Path, ticks: Ticks, queries: Mapping[str, RandomQuery], moves: Random | None,
        *, reopen: bool = False) -> dict[str, tuple[pa.Table, int]]:
    """Every query's answer and late rows; with `moves`, queries move between ticks."""
    engine = weft.Engine(folder, spark=session)
    add_stream(engine, "s", folder / "in", ticks)
    for place, (name, query) in enumerate(queries.items()):
        engine.register(query.weft("s"), name=name, eager=place % 2 == 0, keep="forever" if place % 3 else "7 days")
    for rows in ticks.rows:
        if moves is not None:
            weft.testing.move(engine, "s", random_places(moves, list(queries)))
        if reopen:
            engine.close()
            engine = weft.Engine(folder, spark=session)
        feed(engine, ["s"], as_table(rows))
    found = {}
    for name in queries:
        handle = engine.query(name)
        found[name] = (answer(handle), handle.metrics()["late_rows"])
    engine.close()
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_those_of_an_engine_that_never_moved(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"moves {seed}")
    ticks = some_ticks(random)
    queries = {f"q{place}": query for place, query in enumerate(query_set(random))}
    session = session_with(spark, INTERPRETED)
    still = run(session, tmp_path / "still", ticks, queries, None)
    moved = run(session, tmp_path / "moved", ticks, queries, random, reopen=seed % 2 == 1)
    assert sum(table.num_rows for table, _ in still.values()) > 50
    for name, query in queries.items():
        expected, late = still[name]
        found, found_late = moved[name]
        problem = difference(found, expected.append_column("weft_place", pa.nulls(len(expected))), ordered=True)
        assert not problem, f"seed {seed}: {query.weft('s')}\n    {problem}"
        assert found_late == late, f"seed {seed}: {query.weft('s')}"
