"""Eager queries of one shape are finished together, whatever their predicates are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import weft.testing
from tests.simulation.world import SECOND, Tick, World
from weft.plan.finish import MIN_FAMILY

ROWS = Tick(tuple(tuple({"ts": SECOND, "k": f"k{v % 16}", "g": 1, "v": v}.items()) for v in range(60)))
# The end of the only window that holds a row of ROWS.
END = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
LATER = Tick((tuple({"ts": 60 * SECOND, "k": "late", "g": 1, "v": 1}.items()),))


@pytest.mark.parametrize("condition", [
    "round(CAST(v AS DOUBLE), -1) = CAST(v AS DOUBLE)", "v IN (3, NULL, 17, 20, 33, 48)", "NOT (v BETWEEN 5 AND 40)",
    "coalesce(nullif(v, 7), 11) = v", "least(v, 30) = v", "CASE WHEN v > 20 THEN 30 ELSE v END = v",
])
def test_a_family_of_any_predicate_answers_as_its_members_do_alone(
    world: World, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sql(key: str) -> str:
        columns = "SELECT k, v, count(*) AS n FROM s"
        return f"{columns} WHERE {condition} AND k = '{key}' GROUP BY window(ts, '2 seconds'), k, v ORDER BY v"

    keys = [f"k{number}" for number in range(MIN_FAMILY)]
    world.engine.register_all({key: sql(key) for key in keys}, eager=True)
    world.engine.register_all({f"lazy {key}": sql(key) for key in keys})
    world.run([ROWS, LATER])
    (family,) = world.engine.plan("s").families
    assert family.condition is not None and len(family.requests) == MIN_FAMILY
    finished, read = window_of(world, {key: key for key in keys})
    assert read == {"result"}, "every window was looked up where it was finished"
    lazy, read = window_of(world, {key: f"lazy {key}" for key in keys})
    assert read and "result" not in read, "these were merged from partial rows"
    assert finished == lazy and sum(map(len, lazy.values())) > 4
    for key in keys:
        assert world.engine.query(key).results().equals(world.engine.query(f"lazy {key}").results())


def window_of(world: World, names: dict[str, str]) -> tuple[dict[str, list[Any]], set[str]]:
    """The rows of the window of ROWS by key, and of which kinds the files were that they were read from."""
    with weft.testing.kinds_read(world.engine) as kinds:
        rows = {key: world.engine.query(name).result(end=END).to_pylist() for key, name in names.items()}
    return rows, set(kinds)


def merged(*_: object) -> pa.Table:
    raise AssertionError("a window that was finished ahead is merged once more")


SIZES = "SELECT g, count(*) AS n, median(v) AS m FROM s GROUP BY window(ts, '4 seconds', '2 seconds'), g"


def test_windows_that_were_finished_ahead_are_read_by_every_way_of_reading(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query of two parts, over several ticks: some windows from before it was registered, and one tick that died."""
    lazy = world.engine.register(SIZES, name="lazy")
    world.run([tick_at(0), tick_at(2)])
    eager = world.engine.register(SIZES, name="eager", eager=True)
    world.run([tick_at(second) for second in (4, 6, 8)])
    with monkeypatch.context() as patch:
        # As if the process had died after the commit: windows that closed then were not finished.
        patch.setattr("weft.tick.ticker.finish", lambda *_: [])
        world.run([tick_at(10)])
    world.run([tick_at(second) for second in range(12, 30, 2)])
    alone = lazy.results().to_pylist()
    assert eager.results().to_pylist() == alone and len({row["window_end"] for row in alone}) > 12
    assert [row for part in eager.results_in_parts() for row in part.to_pylist()] == alone
    monkeypatch.setattr(world.engine.reader, "windows", merged)
    ahead = [row for row in alone if row["window_end"] >= datetime(1970, 1, 1, 0, 0, 14, tzinfo=UTC)]
    since = ahead[0]["window_end"] - timedelta(microseconds=1)
    assert eager.results(since=since).to_pylist() == ahead
    assert [row for part in eager.results_in_parts(since=since) for row in part.to_pylist()] == ahead
    assert eager.result().to_pylist() == [row for row in ahead if row["window_end"] == ahead[-1]["window_end"]]
    with pytest.raises(AssertionError, match="merged once more"):
        eager.results()


def tick_at(second: int) -> Tick:
    rows = ({"ts": second * SECOND + v, "k": "k", "g": v % 3, "v": v * second} for v in range(20))
    return Tick(tuple(tuple(row.items()) for row in rows))
