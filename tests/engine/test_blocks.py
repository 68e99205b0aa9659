"""Sealing: closed slices become blocks, long windows read few of them, late rows still count, and old files go."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import weft
import weft.testing
from tests.blocks import blocks_in
from weft.algebra.windows import micros
from weft.plan.blocks import FAN_OUT, cover
from weft.read.reader import Reader

DDL = "ts timestamp, k string, n int"
SECOND = 1_000_000


def rows(seconds: list[int], n: int = 1) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([second * SECOND for second in seconds], pa.timestamp("us", tz="UTC")),
            "k": ["ab"[second % 2] for second in seconds],
            "n": pa.array([n] * len(seconds), pa.int32()),
        }
    )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    engine = weft.testing.engine(tmp_path / "state")
    engine.add_stream("s", source="parquet", path=tmp_path / "in", schema=DDL, event_time="ts", watermark="5 seconds")
    yield engine
    engine.close()


def synopsis(engine: weft.Engine, query: str):  # type: ignore[no-untyped-def]
    state = engine.state_of("s")
    return state.synopses[engine.registry.query(query).needs.parts[0].node]


LONG = "SELECT k, count(*) AS c, sum(n) AS s FROM s GROUP BY window(ts, '1000 seconds', '1 second'), k"


def test_a_long_window_reads_logarithmically_many_blocks_and_the_same_rows(engine: weft.Engine) -> None:
    query = engine.register(LONG, name="long")
    for tick in range(14):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    stored = synopsis(engine, "long")
    assert stored.heights and stored.node.sealed_time > 0
    end = engine.state_of("s").watermark // SECOND * SECOND
    pieces = cover(end - 1000 * SECOND, end, unit=stored.unit, heights=stored.heights, sealed=stored.node.sealed_time)
    sealed_part = [piece for piece in pieces if piece.end <= stored.node.sealed_time]
    slices = sum((piece.end - piece.start) // SECOND for piece in sealed_part if not piece.level)
    assert slices + blocks_in(sealed_part, unit=stored.unit) <= 6 * (math.log(1000, 4) + 1)
    result = query.result()
    assert dict(zip(result["k"].to_pylist(), result["c"].to_pylist(), strict=True)) == {"a": 500, "b": 500}
    # The same window from slices alone, in one pass with its neighbour.
    both = query.results(since=result["window_start"][0].as_py().isoformat())
    assert both.slice(both.num_rows - 2).equals(result)


def test_rows_that_come_after_sealing_count_for_windows_that_are_open(engine: weft.Engine) -> None:
    long = engine.register(LONG, name="long")
    short = engine.register("SELECT count(*) AS c FROM s GROUP BY window(ts, '10 seconds')", name="short")
    for tick in range(9):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    assert synopsis(engine, "long").node.sealed_time > 100 * SECOND
    before = short.results(until="1970-01-01T00:00:40")
    weft.testing.feed(engine, "s", rows([12, 13], n=100))
    for tick in range(10, 16):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    assert short.results(until="1970-01-01T00:00:40").equals(before), "a closed window never changes"
    assert short.metrics()["late_rows"] == 2 and long.metrics()["late_rows"] == 0
    window = long.result(end="1970-01-01T00:16:50")
    # One row a second from 10 to 899 and from 1000 to 1009, and the two late ones.
    assert sum(window["c"].to_pylist()) == 902 and sum(window["s"].to_pylist()) == 900 + 200
    closed = long.result(end="1970-01-01T00:14:50")
    assert sum(closed["c"].to_pylist()) == 890, "this one was closed before they came"


def test_files_stay_few_and_old_ones_go(engine: weft.Engine, tmp_path: Path) -> None:
    engine.register(
        "SELECT k, count(*) AS c FROM s GROUP BY window(ts, '10 seconds', '5 seconds'), k",
        name="q",
        keep="100 seconds",
        eager=True,
    )
    counts = []
    for tick in range(40):
        weft.testing.feed(engine, "s", rows(list(range(tick * 30, tick * 30 + 30))))
        counts.append(len(synopsis(engine, "q").files))
    assert max(counts[20:]) <= 24 and counts[-1] <= max(counts[8:20])
    oldest = min(file.time_from for file in synopsis(engine, "q").files)
    assert oldest >= (40 * 30 - 300) * SECOND
    kept = engine.query("q").results()
    assert kept["window_end"].to_pylist()[0].timestamp() > 1195 - 100 - 5
    engine.query("q").drop()
    weft.testing.feed(engine, "s", rows([1200]))
    assert not engine.state_of("s").synopses


def test_finished_ahead_and_merged_when_read_are_the_same(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    eager = {
        f"e{place}": f"SELECT sum(n) AS s, count(*) AS c FROM s WHERE k = '{'ab'[place % 2]}' AND n < {place} "
        f"GROUP BY window(ts, '{place % 3 + 1}0 seconds', '10 seconds') HAVING count(*) > 2"
        for place in range(20)
    }
    eager |= {
        "all": "SELECT k, avg(n) AS a, stddev(n) AS d FROM s GROUP BY window(ts, '20 seconds', '5 seconds'), k",
        "median": "SELECT k, median(n) AS m, max(n) AS x FROM s GROUP BY window(ts, '20 seconds'), k",
    }
    engine.register_all(eager, eager=True)
    engine.register_all({f"lazy {name}": sql for name, sql in eager.items()})
    for tick in range(6):
        weft.testing.feed(engine, "s", pa.concat_tables([rows(list(range(tick * 20, tick * 20 + 20)), n=n) for n in range(12)]))
    used = []
    finished = Reader.finished
    monkeypatch.setattr(Reader, "finished", lambda self, *given: used.append(1) or finished(self, *given))
    for name in eager:
        assert engine.query(name).result().equals(engine.query(f"lazy {name}").result()), name
    assert len(used) == len(eager)
    assert any(engine.query(name).result().num_rows for name in eager if name.startswith("e"))


def test_running_totals_merge_without_losing_ticks(engine: weft.Engine) -> None:
    total = engine.register("SELECT k, count(*) AS c, max(n) AS m FROM s GROUP BY k", name="total")
    everything = engine.register("SELECT count(*) AS c, sum(n) AS s FROM s", name="everything")
    assert everything.result().to_pylist() == [{"c": 0, "s": None}], "no rows yet, as in Spark"
    for tick in range(21):
        weft.testing.feed(engine, "s", rows([tick * 2] if tick > 4 else [tick * 2, tick * 2 + 1], n=tick))
    assert len(synopsis(engine, "total").files) <= 7
    assert total.result().to_pylist() == [{"k": "a", "c": 21, "m": 20}, {"k": "b", "c": 5, "m": 4}]
    assert total.changes(since=4).to_pylist() == [{"tick": 20, "k": "a", "c": 21, "m": 20}]
    assert total.changes(since=3)["tick"].to_pylist() == [20, 4]
    assert everything.result().to_pylist() == [{"c": 26, "s": sum(range(21)) + sum(range(5))}]


def test_units_do_not_depend_on_the_window_that_comes_later(engine: weft.Engine) -> None:
    engine.register("SELECT count(*) AS c FROM s GROUP BY window(ts, '10 seconds')", name="short")
    for tick in range(6):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    late = engine.register("SELECT count(*) AS c FROM s GROUP BY window(ts, '300 seconds', '10 seconds')", name="late")
    for tick in range(6, 12):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    assert set(late.results()["c"].to_pylist()[30:]) == {300}
    assert late.results().num_rows > 80, "it has the windows from before it came"
    assert micros(engine.registry.query("late").needs.window.range) == 300 * SECOND  # type: ignore[union-attr]


def test_files_of_few_rows_wait_to_be_sealed_and_files_of_many_do_not(
    engine: weft.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealing takes a few statements however few rows there are, which hundreds of small nodes need not pay so often."""
    monkeypatch.setattr("weft.store.seal.PATIENCE", 3 * FAN_OUT)
    engine.register(LONG, name="long")
    sealed = []
    for tick in range(14):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
        sealed.append(synopsis(engine, "long").node.sealed_batch)
    assert sealed == [-1] * 11 + [11] * 3
    monkeypatch.setattr("weft.store.seal.FEW_ROWS", 100)
    for tick in range(14, 18):
        weft.testing.feed(engine, "s", rows(list(range(tick * 100, tick * 100 + 100))))
    assert synopsis(engine, "long").node.sealed_batch > 11, "four files that are not small are enough"
