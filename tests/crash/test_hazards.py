"""Hazards of the design, each closed by a rule; without Spark, batch by batch.

Those of the checkpoint are in test_replay.py, those of the catalog alone in tests/store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError

import weft
import weft.testing
from tests.crash.chain import nursery
from tests.crash.life import DDL, DELAY, POISON, SMALL, STREAM
from tests.crash.plain import CrashBatch
from tests.simulation.world import at
from weft import failpoint
from weft.backend.interface import BackendError
from weft.errors import StateError
from weft.failpoint import KILLED
from weft.optimize.planning import late_readers
from weft.registry.changes import Decide
from weft.registry.registry import Registry
from weft.segments.cache import TableCache
from weft.segments.files import TEMPORARY
from weft.segments.segment import SegmentRow
from weft.spark.batch import BatchOutput
from weft.spark.kernels import Level0
from weft.store.tend import LEASE, sweep, tend

SQL = f"SELECT k, sum(v) AS total FROM {STREAM} GROUP BY window(ts, '10 seconds', '5 seconds'), k"
Open = Callable[[], weft.Engine]


def opening(folder: Path) -> Iterator[Open]:
    """Opens engines on one state folder, as several processes would."""
    engines: list[weft.Engine] = []

    def another() -> weft.Engine:
        engine = weft.Engine(folder / "state")
        engines.append(engine)
        engine.add_stream(
            STREAM, source="parquet", path=folder / "in", schema=DDL, event_time="ts", watermark=f"{DELAY} seconds"
        )
        return engine

    yield another
    failpoint.watch(None)
    for engine in engines:
        engine.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    yield from opening(tmp_path)


def tick(engine: weft.Engine, number: int) -> None:
    """Process the batch of this number."""
    mark = weft.testing.mark(number)
    weft.testing.run(engine, STREAM, CrashBatch(mark, SMALL.arriving(number)))


def everything(engine: weft.Engine) -> Any:
    """All that the catalog says, and what can be read."""
    with engine.catalog.read() as reader:
        said = (reader.segments(), reader.nodes(), reader.queries(), reader.tick_log(STREAM), reader.garbage())
    return said, [engine.query(one.name).results() for one in engine.queries()]


def on_disk(tmp_path: Path) -> set[str]:
    root = tmp_path / "state" / "segments"
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_two_engines_on_one_stream(opened: Open) -> None:
    """The one that comes second with a batch is refused, says why, and has changed nothing."""
    one = opened()
    one.register(SQL, name="q", eager=True)
    tick(one, 0)
    other = opened()
    tick(other, 1)
    before = everything(other)
    with pytest.raises(StateError) as refused:
        tick(one, 1)
    assert refused.value.code == "tick-not-newer" and "stop the other one" in refused.value.hint
    assert everything(other) == before and everything(opened()) == before
    tick(one, 1)
    assert everything(one) == before, "it has understood that the batch is done"
    tick(one, 2)
    with pytest.raises(StateError, match="tick-not-newer"):
        tick(other, 2)
    assert one.state_of(STREAM).totals["rows"] == 3 * SMALL.rows


def test_a_batch_that_is_committed_is_passed_over(opened: Open) -> None:
    one = opened()
    one.register(SQL, name="q")
    for number in (0, 1, 2):
        tick(one, number)
    before = everything(one)
    for again in (opened(), one):
        for number in (0, 1, 2):
            tick(again, number)
        assert everything(again) == before


def test_merge_is_published_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that merge the same files: the second finds them gone, and publishes nothing."""
    engine = opened()
    engine.register(SQL, name="q")
    with monkeypatch.context() as patched:
        patched.setattr("weft.tick.ticker.tend", lambda state, *_: (state, 0))
        for number in range(6):
            tick(engine, number)
    before, plan, queries = engine.state_of(STREAM), engine.plan(STREAM), engine.registry.queries(STREAM)

    def merge() -> None:
        late = late_readers(queries)
        tend(before, plan.network, plan.reach, late, engine.storage)

    merge()
    after = everything(opened())
    assert {row.kind for row in after[0][0]} > {"block"}, "files were merged"
    with pytest.raises(StateError) as refused:
        merge()
    assert refused.value.code == "segments-changed"
    assert everything(opened()) == after


def test_nobody_is_blamed_for_a_spark_that_died(opened: Open) -> None:
    """Who fails is found by trying; when Spark dies between two tries, all that are tried fail, and none of them has to.

    However many tries Spark lives for, no query is stopped but the one that cannot be computed.
    """
    engine = opened()
    engine.register_all({f"q{number}": SQL for number in range(4)})
    engine.register(f"SELECT sum(v / d) AS x FROM {STREAM} GROUP BY window(ts, '10 seconds')", name="failing")
    for number in range(POISON):
        tick(engine, number)
    mark, deaths = weft.testing.mark(POISON, digest="offsets"), 0
    for tries in range(1, 100):
        batch = DyingBatch(mark, SMALL.arriving(POISON))
        batch.left[:] = [None] * tries
        try:
            weft.testing.run(engine, STREAM, batch)
        except (Py4JError, BackendError):
            deaths += 1
            assert {one.name for one in engine.queries() if one.status == "failed"} <= {"failing"}, f"{tries} tries"
        else:
            break
    assert deaths > 5
    assert [one.name for one in engine.queries() if one.status == "failed"] == ["failing"]


def test_an_executor_lost_while_the_guilty_are_sought_changes_nothing(tmp_path: Path) -> None:
    """Whichever try it takes with it: the tick begins anew, and stops the one query that fails, and no other."""
    for tries in range(1, 100):
        with contextmanager(opening)(tmp_path / str(tries)) as opened:
            engine = opened()
            engine.register_all({f"q{number}": SQL for number in range(4)})
            engine.register(f"SELECT sum(v / d) AS x FROM {STREAM} GROUP BY window(ts, '10 seconds')", name="failing")
            for number in range(POISON):
                tick(engine, number)
            LosingBatch.left[:] = [None] * tries
            weft.testing.run(engine, STREAM, LosingBatch(weft.testing.mark(POISON, digest="offsets"), SMALL.arriving(POISON)))
            assert [one.name for one in engine.queries() if one.status == "failed"] == ["failing"], f"{tries} tries"
            assert engine.state_of(STREAM).totals["rows"] == (POISON + 1) * SMALL.rows
        if LosingBatch.left:
            break
    assert tries > 5


def test_a_bad_query_registered_while_the_guilty_are_sought_stops_alone(opened: Open) -> None:
    """The batch runs again without those who failed, and with those who came meanwhile."""
    engine = opened()
    engine.register_all({f"q{number}": SQL for number in range(4)})
    bad = [f"SELECT k, sum(v / d) AS x{number} FROM {STREAM} GROUP BY window(ts, '10 seconds'), k" for number in range(3)]
    engine.register(bad[0], name="failing")
    for number in range(POISON):
        tick(engine, number)
    change, more = Registry.change, {"newcomer": bad[1], "another": bad[2]}

    def change_slowly(registry: Registry, decide: Decide, point: str) -> None:
        change(registry, decide, point)
        if more and point == "fail-inside":
            name, sql = more.popitem()
            engine.register(sql, name=name)

    with patch.object(Registry, "change", change_slowly):
        tick(engine, POISON)
    assert {one.name for one in engine.queries() if one.status == "failed"} == {"failing", "newcomer", "another"}
    assert engine.state_of(STREAM).totals["rows"] == (POISON + 1) * SMALL.rows


def test_a_search_for_the_row_that_fails_changes_nothing_else(opened: Open) -> None:
    """The query is stopped with its row; and without, where the search itself goes wrong."""
    engine = opened()
    for number in range(POISON):
        tick(engine, number)
    for number, kind in enumerate((SilentBatch, CrashBatch), POISON):
        engine.register(f"SELECT sum(v / d) AS x FROM {STREAM} GROUP BY window(ts, '10 seconds')", name=f"q{number}")
        weft.testing.run(engine, STREAM, kind(weft.testing.mark(number), SMALL.arriving(POISON)))
    silent, told = (engine.query(f"q{number}").metrics()["error"] for number in (POISON, POISON + 1))
    assert silent.endswith("[DIVIDE_BY_ZERO] Division by zero.")
    assert "[DIVIDE_BY_ZERO] Division by zero, on a row with d = 0, v = " in told


class SilentBatch(CrashBatch):
    """A batch of which no row can be found."""

    def guilty(self, fails: Callable[[SilentBatch], object]) -> SilentBatch | None:
        raise ValueError("a row that nobody can read")


class LosingBatch(CrashBatch):
    """A batch that loses an executor at one of its tries, with rows that were read already."""

    left: ClassVar[list[None]] = []

    def aggregate(self, level0: Level0) -> BatchOutput:
        if self.left:
            self.left.pop()
            if not self.left:
                raise Py4JError("[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_7_0 not found")
        return super().aggregate(level0)


class DyingBatch(CrashBatch):
    """A batch whose Spark dies after some more tries."""

    left: ClassVar[list[None]] = []

    def aggregate(self, level0: Level0) -> BatchOutput:
        if not self.left:
            raise Py4JError("Answer from Java side is empty")
        self.left.pop()
        return super().aggregate(level0)


def test_file_in_use_is_not_deleted(opened: Open, tmp_path: Path) -> None:
    """A reader that holds a state reads it for a whole lease, whatever is merged meanwhile; afterwards files go."""
    engine = opened()
    now = datetime(2030, 1, 1, tzinfo=UTC)
    engine.catalog._clock = lambda: now
    engine.register(SQL, name="q", keep="1 second")
    for number in range(3):
        tick(engine, number)
    held = {file.path for synopsis in engine.state_of(STREAM).synopses.values() for file in synopsis.files}
    now += timedelta(hours=1)
    for number in range(3, 8):
        tick(engine, number)
        now += LEASE / 6
    with engine.catalog.read() as reader:
        left = held & set(reader.garbage())
    assert left and held <= on_disk(tmp_path)
    now += LEASE
    tick(engine, 8)
    assert not left & on_disk(tmp_path)


def test_files_merged_after_a_tick_are_looked_for_where_they_are_now(opened: Open) -> None:
    """Another process looked between a commit and the merge after it; then the stream rests, and a lease passes."""
    engine, other = opened(), opened()
    engine.register(SQL, name="q")
    for number in range(4):
        with at("commit-after", lambda: other.state_of(STREAM)):
            tick(engine, number)
    engine.catalog._clock = lambda: datetime.now(UTC) + 2 * LEASE
    sweep(engine.storage)
    assert other.query("q").results().equals(engine.query("q").results())


def test_clock_that_jumps_ahead_makes_no_reader_fail(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files go while somebody reads them, as after a read of many minutes: it is answered from what they became."""
    engine, other = opened(), opened()
    engine.register(SQL, name="q")
    for number in range(3):
        tick(engine, number)
    now = datetime.now(UTC)
    engine.catalog._clock = lambda: now
    read, meanwhile = other.cache.get, [5, 4, 3]

    def read_late(file: SegmentRow) -> pa.Table:
        nonlocal now
        while meanwhile:
            now += timedelta(days=365)
            tick(engine, meanwhile.pop())
        return read(file)

    monkeypatch.setattr(other.cache, "get", read_late)
    found = other.query("q").results()
    assert found.num_rows and found.equals(engine.query("q").results())


def test_file_that_is_gone_for_good_is_said_to_be_missing(opened: Open, tmp_path: Path) -> None:
    engine, other = opened(), opened()
    engine.register(SQL, name="q")
    for number in range(3):
        tick(engine, number)
    for path in on_disk(tmp_path):
        (tmp_path / "state" / "segments" / path).unlink()
    with pytest.raises(StateError) as refusal:
        other.query("q").results()
    assert refusal.value.code == "segment-missing"


def test_watermark_of_one_source_closes_no_window_of_another(opened: Open, tmp_path: Path) -> None:
    """A stream has one source and a watermark of its own: one that is ahead, behind or idle is nobody else's matter."""
    engine = opened()
    engine.add_stream("ahead", source="parquet", path=tmp_path, schema=DDL, event_time="ts")
    for stream in (STREAM, "ahead"):
        engine.register(SQL.replace(STREAM, stream), name=stream)
    tick(engine, 0)
    before = engine.state_of(STREAM).watermark, engine.query(STREAM).results()
    far = [{**row, "ts": row["ts"] and row["ts"] + 10**12} for row in SMALL.arriving(1)]
    weft.testing.run(engine, "ahead", CrashBatch(weft.testing.mark(0, digest="offsets"), far))
    assert (engine.state_of(STREAM).watermark, engine.query(STREAM).results()) == before
    tick(engine, 1)
    with contextmanager(opening)(tmp_path / "alone") as another:
        alone = another()
        alone.register(SQL, name=STREAM)
        for number in range(2):
            tick(alone, number)
        assert alone.query(STREAM).results() == engine.query(STREAM).results()
        assert alone.state_of(STREAM).totals["late"] == engine.state_of(STREAM).totals["late"]


def test_partial_write_is_never_visible(tmp_path: Path) -> None:
    """A file that is half there has no name that anybody would read, and goes with the next process."""
    with nursery() as children:
        assert children.live(tmp_path, "file-sync:12") == KILLED
        with sqlite3.connect(tmp_path / "state" / "catalog.sqlite") as catalog:
            named = {path for (path,) in catalog.execute("SELECT path FROM segments")}
        catalog.close()
        half = {path for path in on_disk(tmp_path) if TEMPORARY.match(path.rpartition("/")[2])}
        assert len(half) == 1 and named
        with weft.Engine(tmp_path / "state") as engine:
            assert not half & set(engine.files.list())
            with engine.catalog.read() as reader:
                for row in reader.segments():
                    assert TableCache(engine.files).get(row).num_rows == row.rows
            assert all(one.metrics() for one in engine.queries())
        assert children.live(tmp_path) == 0
        assert not half & on_disk(tmp_path)


@pytest.mark.parametrize("point", ["spark-before", "merge-after", "commit-before", "commit-after", "tick-end"])
@pytest.mark.parametrize("same_process", [True, False])
def test_query_registered_mid_batch_takes_effect_at_the_next(opened: Open, point: str, same_process: bool) -> None:
    """Also when another process registers it; and then its windows are those of a query that came between two batches."""
    engine, other = opened(), opened()
    engine.register(SQL, name="q")
    tick(engine, 0)

    def register(passed: str) -> None:
        if passed == point:
            failpoint.watch(None)
            (engine if same_process else other).register(SQL, name="late")

    failpoint.watch(register)
    tick(engine, 1)
    assert [row.from_batch for row in _queries(engine) if row.name == "late"] == [None]
    tick(engine, 2)
    assert [row.from_batch for row in _queries(engine) if row.name == "late"] == [2]
    tick(engine, 3)
    assert engine.query("late").results().num_rows > 0
    assert engine.query("late").results() == engine.query("q").results(since=_after(engine))


def _after(engine: weft.Engine) -> datetime:
    """From where on the late query has windows."""
    return engine.query("late").results()["window_end"][0].as_py() - timedelta(microseconds=1)


def _queries(engine: weft.Engine) -> Any:
    with engine.catalog.read() as reader:
        return reader.queries()
