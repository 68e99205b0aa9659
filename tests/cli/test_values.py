"""Results that Python has no values for: far moments, and strings that are not UTF-8. They are shown all the same."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from struct import pack

import pyarrow as pa
import pytest

from tests.cli.command import succeed, succeed_json
from weft.terminal.values import day_text, values

MOMENTS = pa.timestamp("us", "UTC")
YEAR_10000 = 253_402_300_800_000_000


def strings(*texts: bytes) -> pa.Array:
    """Texts of any bytes, as Spark may hold them."""
    ends = [sum(map(len, texts[:place])) for place in range(len(texts) + 1)]
    return pa.Array.from_buffers(
        pa.string(), len(texts), [None, pa.py_buffer(pack(f"<{len(ends)}i", *ends)), pa.py_buffer(b"".join(texts))]
    )


def far() -> pa.Table:
    moments = [YEAR_10000 + 1, None, 0, -(2**63)]
    spans = [None if one is None else {"start": 0, "end": one} for one in moments]
    return pa.table({
        "at": pa.array(moments, MOMENTS),
        "day": pa.array([2_932_897, None, 0, -719_529], pa.date32()),
        "name": strings(b"caf\xe9", b"plain", "ü".encode(), b"\xff"),
        "span": pa.array(spans, pa.struct([("start", MOMENTS), ("end", MOMENTS)])),
    })


@pytest.fixture(autouse=True)
def _results_are_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.results.read", lambda *_: far())


def test_far_moments_and_broken_strings_in_a_table(state: Path) -> None:
    lines = succeed("results", "bytes", "--state", state).splitlines()
    assert "+10000-01-01 00:00:00.000001" in lines[2] and "caf\ufffd" in lines[2]
    assert "NULL" in lines[3] and "plain" in lines[3]
    assert "1970-01-01 00:00:00" in lines[4] and "ü" in lines[4]
    assert "-290308-12-21 19:59:05.224192" in lines[5] and "-0001-12-31" in lines[5]


def test_far_moments_and_broken_strings_as_json(state: Path) -> None:
    first, second, third, last = succeed_json("results", "bytes", "--state", state)
    assert first == {"at": "+10000-01-01T00:00:00.000001Z", "day": "+10000-01-01", "name": "caf\ufffd",
                     "span": {"start": "1970-01-01T00:00:00Z", "end": "+10000-01-01T00:00:00.000001Z"}}
    assert second == {"at": None, "day": None, "name": "plain", "span": None}
    assert (third["at"], third["day"], third["name"]) == ("1970-01-01T00:00:00Z", "1970-01-01", "ü")
    assert last["day"] == "-0001-12-31" and last["name"] == "\ufffd"


def test_far_moments_and_broken_strings_as_csv(state: Path) -> None:
    text = succeed("results", "bytes", "--state", state, "--format", "csv")
    first, second, third, last = csv.DictReader(StringIO(text))
    assert first["at"] == "+10000-01-01 00:00:00.000001Z" and first["day"] == "+10000-01-01"
    assert third["at"] == "1970-01-01 00:00:00.000000Z" and third["day"] == "1970-01-01"
    assert last["at"] == "-290308-12-21 19:59:05.224192Z" and last["day"] == "-0001-12-31"
    assert [one["name"] for one in (first, second, third, last)] == ["caf\ufffd", "plain", "ü", "\ufffd"]
    assert json.loads(first["span"])["end"] == "+10000-01-01T00:00:00.000001Z" and second["span"] == ""


def test_what_python_can_hold_is_read_as_it_is() -> None:
    near = far().slice(1, 2)
    assert values(near.column("at")) == [None, datetime(1970, 1, 1, tzinfo=UTC)]
    assert values(near.column("day")) == [None, date(1970, 1, 1)]
    assert values(near.column("name")) == ["plain", "ü"]


@pytest.mark.parametrize("days", [-719_162, -1, 0, 59, 146_096, 146_097, 2_932_896])
def test_days_are_those_of_the_calendar(days: int) -> None:
    assert day_text(days) == (date(1970, 1, 1) + timedelta(days=days)).isoformat()
