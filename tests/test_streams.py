"""A stream is refused with a code for whatever is handed over, and a path may be any that Python knows as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.aggregates.catalog import AggregateCatalog
from weft.errors import WeftError
from weft.feeds.streams import Stream, define_stream
from weft.registry.registry import Registry
from weft.sql.bind import compile_query
from weft.store.catalog import Catalog, sqlite_url

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


class Frame:
    """As much of a streaming DataFrame as a stream is defined by."""

    isStreaming = True
    dtypes = [("ts", "timestamp"), ("v", "int"), ("Tags", "array<string>"), ("raw", "binary"), ("at", "timestamp_ntz")]


def test_a_column_that_cannot_be_computed_with_is_told_of(tmp_path: Path) -> None:
    """In the process that added the stream, and in one that reads what was kept."""
    stream = define(source=None, path=None, schema=None, dataframe=Frame())
    assert [name for name, _ in stream.columns] == ["ts", "v"]
    catalog = Catalog(sqlite_url(tmp_path / "catalog.db"))
    Registry(catalog).add_stream(stream)
    for schema in (stream.schema, Registry(catalog).stream("s").schema):
        for column, kind in (("tags", "array<string>"), ("raw", "binary"), ("s.at", "timestamp_ntz")):
            with pytest.raises(WeftError, match=f"is there, but its type {kind}") as refused:
                compile_query(f"SELECT max({column}) FROM s", {"s": schema}, AggregateCatalog())
            assert refused.value.code == "unsupported-type" and refused.value.hint and refused.value.position
        with pytest.raises(WeftError, match="unknown-column"):
            compile_query("SELECT max(nothing) FROM s", {"s": schema}, AggregateCatalog())
    with pytest.raises(WeftError, match="'at' is timestamp_ntz, not timestamp") as refused:
        define(source=None, path=None, schema=None, dataframe=Frame(), event_time="at")
    assert refused.value.code == "bad-event-time"
    catalog.close()


def test_what_cannot_be_computed_with_is_no_part_of_what_a_stream_is(tmp_path: Path) -> None:
    """A state from before such columns were kept knows the same stream, and hears of them when it is added again."""
    stream = define(source=None, path=None, schema=None, dataframe=Frame())
    catalog = Catalog(sqlite_url(tmp_path / "catalog.db"))
    registry = Registry(catalog)
    assert registry.add_stream(replace(stream, unusable=()))
    assert not registry.add_stream(stream) and not registry.add_stream(stream)
    assert registry.stream("s").unusable == Registry(catalog).stream("s").unusable == stream.unusable
    catalog.close()


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    assert define(path=tmp_path / "in") == define(path=str(tmp_path / "in"))
    with weft.Engine(tmp_path / "state", roots=[tmp_path]) as engine:
        engine.add_stream("s", source="csv", path=tmp_path / "in", schema=SCHEMA, event_time="ts")
        assert engine.registry.streams()["s"].path == str(tmp_path / "in")
        with pytest.raises(WeftError) as refused:
            engine.add_stream("t", source="csv", path=5, schema=SCHEMA, event_time="ts")  # type: ignore[arg-type]
        assert refused.value.code == "bad-source" and refused.value.hint


def test_a_relative_path_moves_with_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def path_in(folder: Path, path: str | Path = "in") -> str | None:
        monkeypatch.chdir(folder)
        with weft.Engine("state") as engine:
            engine.add_stream("s", source="csv", path=path, schema=SCHEMA, event_time="ts")
        with weft.Engine("state") as engine:
            return engine.registry.stream("s").path

    (tmp_path / "a").mkdir()
    assert path_in(tmp_path / "a") == str(tmp_path / "a" / "in")
    (tmp_path / "a").rename(tmp_path / "b")
    assert path_in(tmp_path / "b") == str(tmp_path / "b" / "in")
    with pytest.raises(weft.StreamError) as refused:
        path_in(tmp_path / "b", tmp_path / "a" / "in")
    assert refused.value.code == "stream-differs"
    assert f"path was '{tmp_path}/b/in', is '{tmp_path}/a/in'" in refused.value.message


def test_a_path_that_was_kept_as_an_absolute_one_becomes_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state from before there were relative ones is moved after it was opened once."""
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    for path in (tmp_path / "a" / "in", "in"):
        with weft.Engine("state") as engine:
            engine.add_stream("s", source="csv", path=path, schema=SCHEMA, event_time="ts")
    (tmp_path / "a").rename(tmp_path / "b")
    with weft.Engine(tmp_path / "b" / "state") as engine:
        stream = engine.registry.stream("s")
    assert (stream.path, stream.noted_path) == (str(tmp_path / "b" / "in"), str(tmp_path / "a" / "in"))


def test_every_difference_of_two_streams_is_said() -> None:
    old = define(options={"header": True, "sep": ";"}, watermark="10 seconds")
    new = define(options={"sep": ","}, watermark="1 minute", schema="ts timestamp, none int", path="/in")
    assert old.differences(new) == (
        "schema was 'ts timestamp, none string', is 'ts timestamp, none int'; "
        "watermark was '10 seconds', is '1 minute'; path was 'in', is '/in'; "
        "option header was 'True', is not given; option sep was ';', is ','")


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
        assert not engine._session.is_open


SQL = "SELECT count(*) AS n FROM packets"
AGGREGATE: dict[str, Any] = {"parameters": "x double", "statistics": {"s": "sum(x)"}, "merge": {"s": "sum"}, "result": "s"}
WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "no SQL": (lambda engine: engine.register(None, name="a"), "syntax-error"),
    "SQL of a number": (lambda engine: engine.register(3, name="a"), "syntax-error"),
    "SQL of bytes": (lambda engine: engine.register(SQL.encode(), name="a"), "syntax-error"),
    "a name of a number": (lambda engine: engine.register(SQL, name=3), "bad-name"),
    "no name": (lambda engine: engine.register(SQL, name=None), "bad-name"),
    "a list of queries": (lambda engine: engine.register_all([SQL]), "bad-type"),
    "queries of numbers": (lambda engine: engine.register_all({"a": 4}), "syntax-error"),
    "eager in words": (lambda engine: engine.register(SQL, name="a", eager="no"), "bad-type"),
    "eager of anything": (lambda engine: engine.register(SQL, name="a", eager=object()), "bad-type"),
    "explain a number": (lambda engine: engine.explain(5), "syntax-error"),
    "the query None": (lambda engine: engine.query(None), "unknown-query"),
    "the query of a list": (lambda engine: engine.query([1]), "unknown-query"),
    "letters of None": (lambda engine: engine.dead_letters(None), "unknown-stream"),
    "letters of a list": (lambda engine: engine.dead_letters(["packets"]), "unknown-stream"),
    "adopt None": (lambda engine: engine.adopt(None), "unknown-stream"),
    "adopt a list": (lambda engine: engine.adopt([]), "unknown-stream"),
    "an aggregate of a list": (lambda engine: engine.create_aggregate([], **AGGREGATE), "bad-name"),
}
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"merge": {"s": None}}, "bad-type"),
    ({"merge": []}, "bad-type"),
    ({"merge": None}, "bad-type"),
    ({"result": None}, "bad-type"),
    ({"statistics": None}, "bad-type"),
    ({"statistics": ["sum(x)"]}, "bad-type"),
    ({"statistics": {"s": 3}}, "bad-type"),
    ({"statistics": {3: "sum(x)"}, "merge": {3: "sum"}}, "bad-type"),
    ({"parameters": None}, "bad-schema"),
    ({"statistics": {"s": "sum(x)", "S": "count(x)"}, "merge": {"s": "sum", "S": "sum"}}, "duplicate-name"),
    ({"merge": {"s": "sum", "other": "sum"}}, "wrong-merge"),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as engine:
        engine.add_stream("packets", source="csv", path=tmp_path, schema="ts timestamp", event_time="ts")
        yield engine


@pytest.mark.parametrize("name", WRONG)
def test_a_call_with_what_it_cannot_use_is_refused_by_a_code(engine: weft.Engine, name: str) -> None:
    call, code = WRONG[name]
    with pytest.raises(WeftError) as refused:
        call(engine)
    assert refused.value.code == code and refused.value.hint
    assert engine.queries() == []


@pytest.mark.parametrize("change, code", CHANGES)
def test_an_aggregate_of_anything_else_is_refused_by_a_code(
    engine: weft.Engine, change: dict[str, Any], code: str
) -> None:
    given: dict[str, Any] = {**AGGREGATE, **change}
    with pytest.raises(WeftError) as refused:
        engine.create_aggregate("own", **given)
    assert refused.value.code == code and refused.value.hint
    engine.create_aggregate("own", **AGGREGATE)


@pytest.mark.parametrize("roots", [3, [3], [None], [b"/in"], ["/in", object()]])
def test_roots_that_are_no_paths_are_refused_by_a_code(roots: Any, tmp_path: Path) -> None:
    with pytest.raises(WeftError) as refused:
        weft.Engine(tmp_path / "state", roots=roots)
    assert refused.value.code == "bad-source" and refused.value.hint
