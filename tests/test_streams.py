"""A stream is refused with a code for whatever is handed over, and a path may be any that Python knows as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import WeftError
from weft.streams import Stream, define_stream

SCHEMA = "ts timestamp, none string"


def define(**changes: Any) -> Stream:
    given = {"name": "s", "source": "csv", "path": "in", "schema": SCHEMA, "dataframe": None, "event_time": "ts",
             "watermark": "0 seconds", "options": None, **changes}
    return define_stream(given.pop("name"), **given)


@pytest.mark.parametrize(("given", "code"), [
    ({"name": 5}, "bad-name"),
    ({"name": None}, "bad-name"),
    ({"source": 5}, "bad-source"),
    ({"path": 5}, "bad-source"),
    ({"path": b"in"}, "bad-source"),
    ({"schema": 5}, "bad-schema"),
    ({"schema": ["ts timestamp"]}, "bad-schema"),
    ({"source": None, "dataframe": 5}, "not-streaming"),
    ({"event_time": None}, "no-event-time"),
    ({"event_time": 5}, "no-event-time"),
    ({"watermark": 5}, "bad-duration"),
    ({"watermark": None}, "bad-duration"),
    ({"max_ahead": 5}, "bad-duration"),
    ({"options": {1: 2}}, "bad-option"),
    ({"options": 5}, "bad-option"),
    ({"options": ["header"]}, "bad-option"),
    ({"options": {"mode": "DROPMALFORMED", "MODE": "PERMISSIVE"}}, "bad-option"),
    ({"options": {"MODE": "PERMISSIVE", "mode": "DROPMALFORMED"}}, "bad-option"),
    ({"options": {"sep": ",", "Sep": ";"}}, "bad-option"),
    ({"options": {"ignoreCorruptFiles": True}}, "bad-option"),
    ({"options": {"IGNOREMISSINGFILES": "TRUE"}}, "bad-option"),
    ({"options": {"fileNameOnly": "yes"}}, "bad-option"),
    ({"options": {"columnNameOfCorruptRecord": "rest"}}, "bad-option"),
    ({"options": {"columnNameOfCorruptRecord": "NONE"}}, "bad-option"),
    ({"options": {"COLUMNNAMEOFCORRUPTRECORD": "ts"}}, "bad-option"),
])
def test_what_has_a_wrong_type_is_refused_by_a_code(given: dict[str, Any], code: str) -> None:
    with pytest.raises(WeftError) as refused:
        define(**given)
    assert refused.value.code == code and refused.value.hint


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    assert define(path=tmp_path / "in") == define(path=str(tmp_path / "in"))
    with weft.Engine(tmp_path / "state", roots=[tmp_path]) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=SCHEMA, event_time="ts")
        assert engine.registry.streams()["s"].path == str(tmp_path / "in")
        with pytest.raises(WeftError) as refused:
            engine.add_stream("t", source="csv", path=5, schema=SCHEMA, event_time="ts")  # type: ignore[arg-type]
        assert refused.value.code == "bad-source" and refused.value.hint


def test_options_that_differ_are_kept() -> None:
    assert define(options={"header": True, "sep": ";"}).options == {"header": "True", "sep": ";"}
    assert define(options={"ignoreCorruptFiles": False}).options == {"ignoreCorruptFiles": "False"}
    assert define(options={"columnNameOfCorruptRecord": "none"}).options == {"columnNameOfCorruptRecord": "none"}


@pytest.mark.parametrize("trigger", ["-5 seconds", "10 seconds -1 minute", "soon", "", 5])
def test_a_trigger_that_nobody_can_wait_for_is_refused_before_spark_starts(trigger: Any, tmp_path: Path) -> None:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("s", source="rate", schema="ts timestamp", event_time="ts")
        with pytest.raises(WeftError) as refused:
            engine.start(trigger=trigger)
        assert refused.value.code == "bad-duration" and refused.value.hint
        assert engine._session is None
