"""`weft run` and `weft results` on a real stream, in one session: what is printed, written, followed and stopped."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.command import refuse, run, share_session, succeed, succeed_json
from weft.cli.run import start_spark
from weft.engine import Engine
from weft.terminal.display import LiveDisplay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIG = """
[streams.packets]
source = "parquet"
path = "in"
schema = "ts timestamp, saddr string, length int, price decimal(9,2)"
event_time = "ts"
options.maxFilesPerTrigger = 1

[queries]
bytes = '''
SELECT saddr, sum(length) AS bytes, avg(length) AS mean
FROM packets GROUP BY window(ts, '10 seconds'), saddr ORDER BY saddr'''
totals = "SELECT saddr, sum(price) AS paid FROM packets GROUP BY saddr ORDER BY saddr"
"""
START = int(datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp())


def put(folder: Path, place: int) -> None:
    """One file of ten seconds: packet n of every address is n bytes long."""
    folder.mkdir(exist_ok=True)
    rows = [(START + place * 10 + second, f"10.0.0.{second % 2 + 1}", second) for second in range(10)]
    table = pa.table({
        "ts": pa.array([at * 1_000_000 for at, _, _ in rows], pa.timestamp("us", tz="UTC")),
        "saddr": [name for _, name, _ in rows], "length": pa.array([size for _, _, size in rows], pa.int32()),
        "price": pa.array([Decimal(size) for _, _, size in rows], pa.decimal128(9, 2))})
    pq.write_table(table, folder / f".{place}")
    os.utime(folder / f".{place}", (START + place, START + place))
    os.replace(folder / f".{place}", folder / f"{place}.parquet")


def run_three_files(folder: Path, spark: SparkSession) -> Path:
    """A configuration that has run over three files: the windows that end at 12:00:10 and 12:00:20 are closed."""
    (folder / "weft.toml").write_text(CONFIG)
    for place in range(3):
        put(folder / "in", place)
    with pytest.MonkeyPatch.context() as patch:
        share_session(patch, spark)
        result = run("run", folder / "weft.toml", "--available-now")
    assert result.exit_code == 0, result.output
    (folder / "printed").write_text(result.stdout)
    return folder / "weft.toml"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """For tests that only read."""
    return run_three_files(tmp_path_factory.mktemp("run"), spark)


def test_a_line_a_tick(config: Path) -> None:
    lines = (config.parent / "printed").read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("packets: tick 0, 10 rows (") and "2 queries on" in lines[0]
    assert lines[-1] == "packets: stopped after 30 rows in 3 ticks, 0 too late for every window"


def test_newest_window_as_a_table(config: Path) -> None:
    lines = [line.split() for line in succeed("results", "bytes", "--state", config).splitlines()]
    assert lines[0] == ["window_start", "window_end", "saddr", "bytes", "mean"]
    assert lines[2] == ["2026-01-05", "12:00:10", "2026-01-05", "12:00:20", "10.0.0.1", "20", "4"]
    assert len(lines) == 4


def test_json(config: Path) -> None:
    found = succeed_json("results", "bytes", "--state", config, "--since", "2026-01-05")
    assert len(found) == 4
    assert found[0] == {"window_start": "2026-01-05T12:00:00Z", "window_end": "2026-01-05T12:00:10Z",
                        "saddr": "10.0.0.1", "bytes": 20, "mean": 4.0}
    assert succeed_json("results", "totals", "--state", config) == [
        {"saddr": "10.0.0.1", "paid": "60.00"}, {"saddr": "10.0.0.2", "paid": "75.00"}]


def test_span(config: Path) -> None:
    found = succeed_json("results", "bytes", "--state", config, "--since", "2026-01-05T12:00:10")
    assert {one["window_end"] for one in found} == {"2026-01-05T12:00:20Z"}
    found = succeed_json("results", "bytes", "--state", config, "--until", "2026-01-05T13:00:10+01:00")
    assert {one["window_end"] for one in found} == {"2026-01-05T12:00:10Z"}
    newest = succeed_json("results", "bytes", "--state", config)
    assert newest and succeed_json("results", "bytes", "--state", config, "--latest") == newest
    refuse("results", "bytes", "--state", config, "--since", "yesterday", code="bad-moment")
    refuse("results", "totals", "--state", config, "--since", "2026-01-05", code="no-window")


def test_files(config: Path, tmp_path: Path) -> None:
    with Engine(config.parent / "state") as engine:
        expected = engine.query("bytes").results()
    succeed("results", "bytes", "--state", config, "--since", "2026-01-05", "--format", "parquet", "-o", tmp_path / "p")
    assert pq.read_table(tmp_path / "p").equals(expected)
    csv = ("results", "bytes", "--state", config, "--since", "2026-01-05", "--format", "csv")
    succeed(*csv, "-o", tmp_path / "c")
    read = pa.csv.read_csv(tmp_path / "c")
    assert read.column_names == expected.column_names and read["bytes"].to_pylist() == expected["bytes"].to_pylist()
    succeed("results", "bytes", "--state", config, "--json", "-o", tmp_path / "j")
    assert len(json.loads((tmp_path / "j").read_text())) == 2
    refuse("results", "bytes", "--state", config, "-o", tmp_path / "t", code="no-file-format")
    refuse(*csv, "-o", tmp_path / "no" / "c", code="unwritable-file")
    refuse("results", "bytes", "--state", config, "--follow", "-o", tmp_path / "j", code="cannot-follow")


def test_csv_on_standard_output(config: Path) -> None:
    lines = succeed("results", "bytes", "--state", config, "--format", "csv").splitlines()
    assert lines[0] == '"window_start","window_end","saddr","bytes","mean"' and len(lines) == 3


def test_follow_ends_at_until(config: Path) -> None:
    arguments = ("results", "bytes", "--state", config, "--follow", "--json", "--every", "0.05")
    lines = succeed(*arguments, "--since", "2026-01-05", "--until", "2026-01-05T12:00:10").splitlines()
    assert [json.loads(line)["saddr"] for line in lines] == ["10.0.0.1", "10.0.0.2"]


def test_metrics_after_a_run(config: Path) -> None:
    numbers = succeed_json("metrics", "--state", config)["streams"]["packets"]
    assert (numbers["rows"], numbers["ticks"], numbers["watermark"]) == (30, 3, "2026-01-05T12:00:29Z")
    assert [tick["rows"] for tick in numbers["recent_ticks"]] == [10, 10, 10]


def test_ticks_as_json(config: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    share_session(monkeypatch, spark)
    (tmp_path / "weft.toml").write_text(CONFIG)
    put(tmp_path / "in", 0)
    (line,) = succeed("run", tmp_path / "weft.toml", "--available-now", "--json").splitlines()
    tick = json.loads(line)
    assert (tick["stream"], tick["batch_id"], tick["rows"], tick["queries"]) == ("packets", 0, 10, 2)
    assert tick["jobs"] == 0 and tick["watermark"] == "2026-01-05T12:00:09Z"


def test_an_empty_result_says_why(config: Path, state: Path) -> None:
    assert "nothing has arrived" in run("results", "bytes", "--state", state).stderr
    future = ("results", "bytes", "--state", config, "--since", "2027-01-01")
    assert "HAVING leaves none" in run(*future).stderr


def test_a_missing_source_folder(config: Path, tmp_path: Path) -> None:
    (tmp_path / "weft.toml").write_text(CONFIG)
    said = refuse("run", tmp_path / "weft.toml", code="no-such-path")
    assert str(tmp_path / "in") in said


def test_a_live_stream(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is registered and one dropped while the stream runs; a follower sees windows close; Ctrl-C stops it."""
    config = run_three_files(tmp_path, spark)
    share_session(monkeypatch, spark)
    state, folder = config.parent / "state", config.parent / "in"
    seen: list[str] = []

    def act() -> None:
        try:
            with Engine(state) as engine:
                engine.register("SELECT count(*) AS n FROM packets GROUP BY window(ts, '10 seconds')", name="late")
                engine.query("totals").drop()
                for place in (3, 4, 5):
                    put(folder, place)
                    _wait_for_ticks(engine, place + 1)
                engine.registry.refresh()
                seen.append(engine.query("late").status)
                seen.append(str(engine.query("late").result()["n"].to_pylist()))
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    actor = threading.Thread(target=act)
    actor.start()
    result = run("run", _without_totals(config))
    actor.join()
    assert result.exit_code == 0, result.output
    assert seen == ["running", "[10]"]
    lines = result.stdout.splitlines()
    assert "stopping after the tick that is under way" in lines
    assert lines[-1] == "packets: stopped after 60 rows in 6 ticks, 0 too late for every window"


def _without_totals(config: Path) -> Path:
    path = config.with_name("other.toml")
    path.write_text("\n".join(line for line in CONFIG.splitlines() if not line.startswith("totals")))
    return path


def _wait_for_ticks(engine: Engine, ticks: int) -> None:
    end = time.monotonic() + 60
    while engine.metrics()["streams"]["packets"]["ticks"] < ticks:
        assert time.monotonic() < end, "the stream did not move on"
        time.sleep(0.05)


def test_live_view_renders(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Engine(config.parent / "state") as engine, LiveDisplay() as view:
        view.show(engine.metrics())
        view.note("stopping")
        view.show(engine.metrics(), last=True)
    assert "packets" in capsys.readouterr().out


@pytest.mark.parametrize(("sharing", "kept"), [("everything", 1), ("nothing", 2)])
def test_a_configuration_says_how_much_is_shared(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, sharing: str, kept: int
) -> None:
    share_session(monkeypatch, spark)
    by_address = "FROM packets GROUP BY window(ts, '10 seconds'), saddr"
    queries = f"""bytes = "SELECT sum(length) AS n {by_address}"\nmost = "SELECT max(length) AS n {by_address}"\n"""
    (tmp_path / "weft.toml").write_text(f'sharing = "{sharing}"\n' + CONFIG.partition("bytes =")[0] + queries)
    put(tmp_path / "in", 0)
    succeed("run", tmp_path / "weft.toml", "--available-now")
    assert len(succeed_json("explain", "--state", tmp_path / "state")["streams"]["packets"]["nodes"]) == kept


def test_a_way_to_share_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weft.toml").write_text('sharing = "all"\n' + CONFIG)
    said = refuse("check", tmp_path / "weft.toml", code="bad-sharing")
    assert "weft.toml:1:1" in said and "everything" in said


def test_a_negative_trigger_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "weft.toml").write_text(CONFIG)
    refuse("run", tmp_path / "weft.toml", "--trigger", "-5 seconds", code="bad-duration")
    assert not (tmp_path / "state").exists()


def test_an_address_makes_no_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for state in (f"file:{tmp_path}/state", "s3a://bucket/state"):
        start_spark(SimpleNamespace(spark=None), state)  # type: ignore[arg-type]
        refuse("queries", "--state", state, code="catalog-missing")
    assert list(tmp_path.iterdir()) == []
