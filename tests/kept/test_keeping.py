"""Rows of a stream that says `retain` are kept: all that count, with all columns, once, for that long and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from math import copysign, isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.kept.rows import SQL, add, at, kept_table, moment, row
from weft import Engine
from weft.errors import StreamError
from weft.segments.kept import LATE, TICK
from weft.segments.row_files import FAN_OUT
from weft.segments.rows import ON_TIME
from weft.segments.segment import EARLIEST, LATEST
from weft.testing import FED, feed


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "state") as engine:
        yield engine


def test_every_row_is_kept_with_all_columns(engine: Engine) -> None:
    """Nobody reads v, and nobody groups by anything: the row store has both."""
    add(engine, "forever")
    engine.register("SELECT count(*) AS n FROM s", name="q")
    feed(engine, "s", [row(1, "a", 10), row(2, "b", None)])
    feed(engine, "s", [row(3, "a", 30)])
    assert kept_table(engine).select(["ts", "k", "v", LATE, TICK]).to_pylist() == [
        {"ts": at(1), "k": "a", "v": 10, LATE: ON_TIME, TICK: 0},
        {"ts": at(2), "k": "b", "v": None, LATE: ON_TIME, TICK: 0},
        {"ts": at(3), "k": "a", "v": 30, LATE: ON_TIME, TICK: 1},
    ]


def test_a_stream_without_a_query_keeps_its_rows(engine: Engine) -> None:
    add(engine, "1 hour")
    feed(engine, "s", [row(1)])
    assert engine.state_of("s").kept.rows == 1


@pytest.mark.parametrize("retain", [None, "never"])
def test_nothing_is_kept_where_nobody_says_so(engine: Engine, retain: str | None) -> None:
    add(engine, retain)
    engine.register(SQL, name="q")
    feed(engine, "s", [row(1)])
    kept = engine.state_of("s").kept
    assert (kept.files, kept.since) == ((), LATEST)
    assert all(file.kind != "rows" for file in segments(engine))


def segments(engine: Engine) -> tuple[Any, ...]:
    with engine.catalog.read() as catalog:
        return catalog.segments(stream="s")


def test_late_rows_say_after_which_watermark_they_came(engine: Engine) -> None:
    """The row counts for windows that end later than that, as it does for queries."""
    add(engine, "forever")
    feed(engine, "s", [row(100)])
    feed(engine, "s", [row(30), row(100), row(101)])
    lateness = dict(zip(kept_table(engine)["ts"].to_pylist(), kept_table(engine)[LATE].to_pylist(), strict=True))
    assert lateness == {at(30): moment(100), at(100): ON_TIME, at(101): ON_TIME}


def test_dead_letters_are_not_kept(engine: Engine) -> None:
    add(engine, "forever")
    engine.register(SQL, name="q")
    feed(engine, "s", [row(1), {"ts": None, "k": "dead", "v": 1}])
    assert kept_table(engine)["k"].to_pylist() == ["a"]
    assert engine.dead_letters("s").num_rows == 1


def test_a_file_says_when_its_rows_were(engine: Engine) -> None:
    add(engine, "forever")
    feed(engine, "s", [row(7), row(3), row(5)])
    (file,) = engine.state_of("s").kept.files
    assert (file.time_from, file.time_to, file.batch_from, file.batch_to) == (moment(3), moment(7) + 1, 0, 0)


VALUES = {
    "b boolean": [True, False],
    "t tinyint": [-128, 127],
    "s smallint": [-32768, 32767],
    "i int": [-(2**31), 2**31 - 1],
    "l bigint": [-(2**63), 2**63 - 1],
    "f float": [3.4028234663852886e38, -1.401298464324817e-45],
    "d double": [1.7976931348623157e308, 5e-324],
    "n decimal(38,10)": [Decimal("-9999999999999999999999999999.9999999999"), Decimal("0.0000000001")],
    "m decimal(5,2)": [Decimal("-999.99"), Decimal("0.01")],
    "x string": ["", "a\x00b \U0001f600 ' \" \\"],
    "y date": [date(1, 1, 1), date(9999, 12, 31)],
    "z timestamp": [at(0.000001), at(-62_000_000_000.999999)],
}


def test_values_are_kept_as_they_are(engine: Engine) -> None:
    add(engine, "forever", f"ts timestamp, {', '.join(VALUES)}")
    names = [column.split()[0] for column in VALUES]
    rows: list[dict[str, Any]] = [
        {"ts": at(number), **dict(zip(names, values, strict=True))}
        for number, values in enumerate(zip(*VALUES.values(), strict=True))
    ]
    rows.append({"ts": at(9), **dict.fromkeys(names)})
    feed(engine, "s", rows)
    for _ in range(FAN_OUT):
        feed(engine, "s", rows)
    assert len(engine.state_of("s").kept.files) == 2, "they were merged, too"
    kept = kept_table(engine).select(["ts", *names]).to_pylist()
    assert kept == [each for each in rows for _ in range(FAN_OUT + 1)]


def test_zeros_and_what_is_no_number_are_kept_as_they_are(engine: Engine) -> None:
    add(engine, "forever", "ts timestamp, d double, f float")
    feed(engine, "s", [{"ts": at(1), "d": -0.0, "f": -0.0}, {"ts": at(2), "d": nan, "f": nan}])
    zero, none = kept_table(engine).to_pylist()
    assert copysign(1, zero["d"]) == copysign(1, zero["f"]) == -1
    assert isnan(none["d"]) and isnan(none["f"])


def test_text_that_is_no_utf8_is_mended(engine: Engine) -> None:
    add(engine, "forever", "ts timestamp, k string")
    texts = pa.array([b"ab\xffcd", b"fine"]).view(pa.string())
    feed(engine, "s", pa.table({"ts": pa.array([at(1), at(2)], pa.timestamp("us", "UTC")), "k": texts}))
    assert kept_table(engine)["k"].to_pylist() == ["ab\ufffdcd", "fine"]


# How long


def test_rows_that_are_too_old_go(engine: Engine) -> None:
    add(engine, "60 seconds")
    for second in range(0, 300, 10):
        feed(engine, "s", [row(second)])
    kept = engine.state_of("s").kept
    moments = set(kept_table(engine)["ts"].to_pylist())
    assert {at(second) for second in range(240, 300, 10)} <= moments
    # A merged file may outlive its oldest rows by a quarter of the time.
    assert min(moments) >= at(290 - 60 - 15 - 10)
    assert moment(200) < kept.since <= moment(290 - 60) and min(moments) >= at(200)


def test_since_is_never_before_a_row_that_is_gone(engine: Engine) -> None:
    add(engine, "30 seconds")
    fed = []
    for second in range(0, 200, 7):
        fed.append(at(second))
        feed(engine, "s", [row(second)])
        kept = set(kept_table(engine)["ts"].to_pylist())
        since = engine.state_of("s").kept.since
        assert {each for each in fed if since <= moment(0) or moment((each - at(0)).total_seconds()) >= since} <= kept


def test_state_is_bounded_however_long_the_stream_runs(engine: Engine) -> None:
    """With a very late row in every tick, which must not keep files from being merged."""
    add(engine, "200 seconds", watermark="5 seconds")
    most_files = most_rows = 0
    for second in range(600):
        feed(engine, "s", [row(second), row(max(0, second - 500), "late")])
        kept = engine.state_of("s").kept
        if second > 300:
            most_files, most_rows = max(most_files, len(kept.files)), max(most_rows, kept.rows)
    assert most_files < 6 * FAN_OUT
    assert most_rows < 2 * (200 * 1.5 + FAN_OUT)
    on_disk = [path for path in engine.files.list("s") if "rows_s" in path]
    with engine.catalog.read() as catalog:
        assert set(on_disk) == {file.path for file in kept.files} | {
            path for path in catalog.garbage() if "rows_s" in path
        }


def test_forever_has_few_files(engine: Engine) -> None:
    add(engine, "forever")
    for second in range(200):
        feed(engine, "s", [row(second)])
    kept = engine.state_of("s").kept
    assert kept.rows == 200 and len(kept.files) < FAN_OUT and kept.since == EARLIEST


def test_merged_files_are_in_the_order_of_time(engine: Engine) -> None:
    add(engine, "forever")
    for second in reversed(range(FAN_OUT)):
        feed(engine, "s", [row(second)])
    (file,) = engine.state_of("s").kept.files
    table = engine.files.read_table(file.path, file.checksum)
    assert table["ts"].to_pylist() == [at(second) for second in range(FAN_OUT)]
    assert (file.batch_from, file.batch_to) == (0, FAN_OUT - 1)


# Changing it


def test_retain_that_is_added_later_is_complete_after_what_was_seen(engine: Engine) -> None:
    add(engine)
    feed(engine, "s", [row(50)])
    add(engine, "1 hour")
    assert engine.state_of("s").kept.since == LATEST
    feed(engine, "s", [row(40), row(60)])
    assert engine.state_of("s").kept.since == moment(50) + 1
    assert kept_table(engine)["ts"].to_pylist() == [at(40), at(60)]


def test_retain_that_is_added_before_the_first_tick_is_complete(engine: Engine) -> None:
    add(engine)
    add(engine, "1 hour")
    feed(engine, "s", [row(40)])
    assert engine.state_of("s").kept.since == EARLIEST


def test_retain_stays_where_it_is_not_given(engine: Engine) -> None:
    add(engine, "120 minutes")
    add(engine)
    assert engine.registry.stream("s").retain == "2 hours"
    add(engine, "3 hours")
    assert engine.registry.stream("s").retain == "3 hours"


def test_another_process_sees_it(engine: Engine, tmp_path: Path) -> None:
    add(engine, "forever")
    feed(engine, "s", [row(1)])
    with Engine(tmp_path / "state") as other:
        assert other.registry.stream("s").retain == "forever"
        assert other.state_of("s").kept == engine.state_of("s").kept
        add(other, "never")
    feed(engine, "s", [row(2)])
    assert engine.state_of("s").kept.node is None


def test_never_lets_go_of_what_was_kept(engine: Engine) -> None:
    add(engine, "forever")
    feed(engine, "s", [row(1)])
    add(engine, "never")
    feed(engine, "s", [row(2)])
    assert engine.state_of("s").kept.node is None and engine.state_of("s").kept.since == LATEST
    assert not [file for file in segments(engine) if file.kind == "rows"]
    add(engine, "forever")
    feed(engine, "s", [row(3)])
    assert engine.state_of("s").kept.since == moment(2) + 1
    assert kept_table(engine)["ts"].to_pylist() == [at(3)]


@pytest.mark.parametrize("retain", ["0 seconds", "-1 hour"])
def test_a_retention_that_keeps_nothing_is_refused(engine: Engine, retain: str) -> None:
    with pytest.raises(StreamError) as refused:
        add(engine, retain)
    assert refused.value.code == "bad-retain"


def test_a_batch_that_cannot_say_what_it_kept_is_refused(engine: Engine) -> None:
    """Rows that are counted and not kept would be lost to whoever reads them later."""
    from tests.simulation.level0 import PlainBatch
    from weft.testing import mark, run

    add(engine, "forever")

    class Forgetful(PlainBatch):
        def aggregate(self, level0: Any) -> Any:
            level0.keeping = None
            return super().aggregate(level0)

    with pytest.raises(Exception) as refused:
        run(engine, "s", Forgetful(mark(0, FED), [{"ts": 1, "k": "a", "v": 1}]))
    assert getattr(refused.value, "code", "") == "rows-not-kept"
