"""The demo: its packets, its queries, its comparison, and one small run of it all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.cli.command import refuse, run, share_session, succeed_json
from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.windows import Running
from weft.demo.compare import difference, pick_windows
from weft.demo.packets import DELAY_SECONDS, FILE_SECONDS, SCHEMA, START, Packets, make_packets, write_packets
from weft.demo.progress import Progress
from weft.demo.queries import FEATURED, DemoQuery, make_queries
from weft.demo.run import dropped_packets
from weft.demo.view import LiveDemo
from weft.feeds.streams import define_stream
from weft.sql.bind import compile_query
from weft.tick.events import TickCommitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000


@pytest.fixture(scope="module")
def packets() -> Packets:
    return make_packets(rows=20_000, files=10, seed=7)


def times(table: pa.Table) -> np.ndarray:
    return np.asarray(table["ts"].cast(pa.int64()))


def test_packets_follow_from_the_seed(packets: Packets) -> None:
    again = make_packets(rows=20_000, files=10, seed=7)
    assert all(one.equals(other) for one, other in zip(packets.files, again.files, strict=True))
    other = make_packets(rows=20_000, files=10, seed=8)
    assert not packets.files[0].equals(other.files[0])
    assert packets.rows == 20_000


def test_packets_are_skewed(packets: Packets) -> None:
    counts = sorted(row["counts"] for row in pa.concat_tables(packets.files)["saddr"].value_counts().to_pylist())
    assert counts[-1] > 20 * counts[len(counts) // 2]


def test_some_packets_are_out_of_order_and_some_too_late(packets: Packets) -> None:
    assert any((np.diff(times(file)) < 0).any() for file in packets.files)
    late = sum(int((times(file) < mark).sum()) for file, mark in zip(packets.files, packets.watermarks, strict=True)
               if mark is not None)
    assert 10 < late < 100


def test_watermarks_are_those_of_the_rule(packets: Packets) -> None:
    assert packets.watermarks[0] is None
    newest = max(int(times(file).max()) for file in packets.files[:4])
    assert packets.watermarks[4] == newest - DELAY_SECONDS * SECOND
    assert newest < START + 4 * FILE_SECONDS * SECOND


def test_files_arrive_in_order_and_whole(packets: Packets, tmp_path: Path) -> None:
    paths = list(write_packets(packets, tmp_path / "in"))
    assert sorted(paths) == paths == sorted((tmp_path / "in").iterdir())
    seconds = [path.stat().st_mtime for path in paths]
    assert seconds == sorted(set(seconds)) and seconds[-1] < datetime.now(UTC).timestamp()


def test_queries_are_varied_and_all_accepted() -> None:
    queries = make_queries(count=500, seed=7)
    schema = define_stream("packets", source="parquet", path="in", schema=SCHEMA, dataframe=None, event_time="ts",
                           watermark="1 second", options=None).schema
    compiled = {query.name: compile_query(query.sql, {"packets": schema}, AggregateCatalog()) for query in queries}
    assert len(compiled) == 500 and len({query.sql for query in queries}) > 400
    assert queries == make_queries(count=500, seed=7) != make_queries(count=500, seed=8)
    assert any(one.block.window == Running() for one in compiled.values()) and any(one.finish.having for one in compiled.values())
    texts = " ".join(query.sql for query in queries)
    assert all(word in texts for word in ("percentile", "count(DISTINCT", "length >", "saddr =", "FILTER", "LIMIT"))


def test_the_same_question_for_one_window() -> None:
    query = DemoQuery(name="q", select="count(*) AS n", groups="port", having="count(*) > 5", seconds=20, slide=10)
    assert query.batch_sql("v", 30 * SECOND) == (
        "SELECT port, count(*) AS n FROM v GROUP BY window(ts, '20 seconds', '10 seconds'), port "
        "HAVING (count(*) > 5) AND window.end = timestamp_micros(30000000)")


def test_windows_are_closed_and_hold_packets() -> None:
    watermark = START + 47 * SECOND
    picked = pick_windows(make_queries(count=100, seed=1), watermark, count=50, seed=1)
    assert len(picked) == 50 and len({query.name for query, _ in picked}) > 20
    assert all(end is None if not query.slide else START < end <= watermark for query, end in picked)


@pytest.mark.parametrize(("ours", "theirs", "said"), [
    ([("a", 1), ("b", None)], [("b", None), ("a", 1)], ""),
    ([("a", 1.0), ("a", float("nan"))], [("a", 1.0 + 1e-12), ("a", float("nan"))], ""),
    ([("a", 1)], [("a", 1), ("b", 2)], "Weft has 1 rows, Spark 2"),
    ([("a", 1)], [("a", 2)], "Weft has ('a', 1), Spark ('a', 2)"),
    ([("a", 1)], [("a", 1.0)], "Weft has ('a', 1), Spark ('a', 1.0)"),
    ([("a", 1.0)], [("a", 1.0 + 1e-6)], "Weft has ('a', 1.0), Spark ('a', 1.000001)"),
])
def test_difference(ours: list[tuple[object, ...]], theirs: list[tuple[object, ...]], said: str) -> None:
    assert difference(ours, theirs) == said


def test_packets_that_no_window_can_use(packets: Packets) -> None:
    """A packet is dropped when the last window that it belongs to ends at or before the watermark of its tick."""
    query = DemoQuery(name="q", select="count(*)", seconds=20, slide=10)
    expected = sum(int((times(file) // (10 * SECOND) * 10 * SECOND + 20 * SECOND <= mark).sum())
                   for file, mark in zip(packets.files, packets.watermarks, strict=True) if mark is not None)
    assert dropped_packets(packets, [query]) == expected > 0


def test_what_is_counted_as_work() -> None:
    progress = Progress(1000, make_queries(count=10, seed=1), base_nodes=3, watermark=START + 20 * SECOND)
    for number, rows, partial_rows, seconds in [(0, 600, 40, 1.0), (1, 400, 10, 0.5)]:
        progress.add(TickCommitted(
            stream="packets", batch_id=number, rows=rows, dead=0, jobs=1, queries=10, nodes=5, partial_rows=partial_rows,
            kernel="spark", priced_seconds=None, predicted_seconds=None, amounts={}, committed_at="", watermark_before=None, watermark=None,
            seconds={"spark": seconds}))
    assert (progress.separate_work, progress.shared_work) == (10 * 1000, 3 * 1000 + 50)
    assert progress.rows_per_second == 800
    assert progress.windows_closed == sum(20 // query.slide for query in progress.queries if query.slide)


def test_live_view_renders(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(1000, list(FEATURED), phase="running")
    with LiveDemo(progress) as view:
        view.refresh()
    assert "work saved" in capsys.readouterr().out


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    refuse("demo", "--state", tmp_path, code="folder-not-empty")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_small_demo_twice(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share_session(monkeypatch, spark)
    small = ("demo", "--rows", 6000, "--seconds", 3, "--state", tmp_path / "demo")
    for queries, windows in ((15, 3), (10, 1)):
        result = run(*small, "--queries", queries, "--windows", windows)
        assert result.exit_code == 0, result.output
        assert "6,000 rows in 3 ticks" in result.stdout
        assert f"{windows} of {windows} windows of random queries equal to plain Spark SQL" in result.stdout
        assert len(succeed_json("queries", "--state", tmp_path / "demo" / "state")) == queries


def test_a_wrong_answer_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.demo.run.run_demo", lambda options: False)
    result = run("demo")
    assert (result.exit_code, "Traceback" in result.output) == (2, False)
    assert "results differ from plain Spark SQL" in result.stderr
