"""Hostile texts as names, aliases, strings, durations and aggregate definitions: refused by code, or kept as plain text.

No Spark here: what is accepted is looked at as the SQL that Spark would get. tests/engine/test_closed_doors.py runs it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.hostile import TEXTS, foreign, quoted_name, quoted_string
from tests.sql.test_hostile import PAYLOADS
from weft.errors import EngineError, SqlError, StreamError, WeftError
from weft.spark import level0

SCHEMA = "ts timestamp, saddr string, length int"
DISK = "canary-of-the-disk-9d2e"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[weft.Engine]:
    with weft.Engine(tmp_path / "state") as opened:
        opened.add_stream("s", source="rate", schema=SCHEMA, event_time="ts")
        yield opened


def statements(engine: weft.Engine, stream: str = "s") -> str:
    return "\n".join(one.sql for one in level0.statements(engine.plan(stream).network))


def refused(error: WeftError, code: str | None = None) -> None:
    assert error.code and code in (None, error.code)
    assert len(str(error)) < 1000
    assert "Traceback" not in str(error)


def test_the_check_itself_finds_what_is_foreign() -> None:
    for sql in ("SELECT java_method('a')", "SELECT 1; SELECT 2", "SELECT x -- y", "SELECT 'a", "SELECT ${x}", "f(`a`)"):
        assert foreign(sql), sql
    assert foreign("SELECT max(`java_method(`) AS x FROM (SELECT 'reflect(;--' FROM {rows})") == set()


def test_a_query_by_a_hostile_name_is_refused_or_only_called_so(engine: weft.Engine) -> None:
    state = Path(engine._folder.root)
    before = set(state.parent.rglob("*")) | {state / f"catalog.sqlite-{end}" for end in ("wal", "shm")}
    for text in TEXTS:
        try:
            query = engine.register("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute')", name=text)
        except EngineError as error:
            refused(error, "bad-name")
            assert not text or len(text) > 200 or not text.isprintable(), ascii(text)
            continue
        assert query.name == text and [one.name for one in engine.queries()] == [text]
        assert query.metrics()["status"] == "registered" and query.result().num_rows == 0
        assert query.explain() and engine.explain() and engine.metrics()
        assert foreign(statements(engine)) == set(), ascii(text)
        query.drop()
        assert engine.queries() == []
        assert set(state.parent.rglob("*")) <= before, "no file is named after a query"


def test_a_stream_by_a_hostile_name_is_refused(engine: weft.Engine) -> None:
    for text in TEXTS:
        try:
            engine.add_stream(text, source="rate", schema=SCHEMA, event_time="ts")
        except StreamError as error:
            refused(error, "bad-name")
        else:
            assert text.isidentifier() and len(text) <= 60, ascii(text)


def test_a_column_by_a_hostile_name_is_refused_or_quoted(engine: weft.Engine) -> None:
    accepted = 0
    for number, text in enumerate(TEXTS):
        stream, column = f"t{number}", quoted_name(text)
        try:
            engine.add_stream(stream, source="rate", schema=f"ts timestamp, {column} string", event_time="ts")
            engine.register(f"SELECT {column} AS k, max({column}) AS m FROM {stream} GROUP BY {column}", name=stream)
        except WeftError as error:
            refused(error)
            continue
        accepted += 1
        sql = statements(engine, stream)
        assert foreign(sql) == set(), ascii(text)
        assert column in sql
    assert accepted > 20


def test_a_hostile_alias_is_refused_or_only_a_name(engine: weft.Engine) -> None:
    accepted = 0
    for text in TEXTS:
        alias = quoted_name(text)
        try:
            query = engine.register(
                f"SELECT saddr AS {alias}, count(*) FROM s GROUP BY saddr ORDER BY {alias}", name="q"
            )
        except SqlError as error:
            refused(error)
            continue
        accepted += 1
        assert foreign(statements(engine)) == set(), ascii(text)
        assert query.result().column_names[0] == text
        query.drop()
    assert accepted > 40


def test_a_hostile_string_is_refused_or_only_compared(engine: weft.Engine) -> None:
    accepted = 0
    for text in [*TEXTS, *PAYLOADS]:
        string = quoted_string(text)
        try:
            query = engine.register(
                f"SELECT count(*) AS n, max(concat(saddr, {string})) AS m FROM s WHERE saddr <> {string} "
                f"AND saddr IN ('x', {string}) AND upper(saddr) <> {string}",
                name="q",
            )
        except SqlError as error:
            refused(error)
            continue
        accepted += 1
        assert foreign(statements(engine)) == set(), ascii(text)
        assert query.result().num_rows == 1
        query.drop()
    assert accepted > 140


def test_no_hostile_text_is_a_duration(engine: weft.Engine) -> None:
    for text in [*TEXTS, *PAYLOADS]:
        with pytest.raises(WeftError) as kept:
            engine.register("SELECT count(*) AS n FROM s", name="q", keep=text)
        with pytest.raises(WeftError) as waited:
            engine.add_stream("t", source="rate", schema=SCHEMA, event_time="ts", watermark=text)
        for error in (kept.value, waited.value):
            refused(error)
    assert engine.queries() == [] and list(engine.registry.streams()) == ["s"]


def good(**changes: Any) -> dict[str, Any]:
    whole = {
        "parameters": "x double",
        "statistics": {"a": "sum(x)", "n": "count(x)"},
        "merge": {"a": "sum", "n": "sum"},
        "result": "a / n",
    }
    return {**whole, **changes}


def test_no_hostile_text_is_part_of_an_aggregate(engine: weft.Engine) -> None:
    for text in [*TEXTS, *PAYLOADS]:
        definitions = [
            good(parameters=text),
            good(parameters=f"x {text}"),
            good(statistics={"a": text, "n": "count(x)"}),
            good(statistics={"a": f"sum({text})", "n": "count(x)"}),
            good(merge={"a": text, "n": "sum"}),
            good(result=text),
            good(result=f"a / {text}"),
        ]
        for definition in definitions:
            with pytest.raises(SqlError) as found:
                engine.create_aggregate("mine", **definition)
                pytest.fail(f"{definition} was let through")
            refused(found.value)
        with pytest.raises(SqlError) as found:
            engine.create_aggregate(text + "(", **good())
        refused(found.value)
    with engine.catalog.read() as tx:
        assert tx.aggregates() == ()
    engine.create_aggregate("mine", **good())


def test_nothing_of_the_disk_or_the_environment_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """All texts in all places at once, each naming the canaries: what is said and kept holds neither."""
    secret = tmp_path / "canary.txt"
    secret.write_text(DISK)
    monkeypatch.setenv("WEFT_CANARY", "canary-of-the-environment-77aa")
    texts = [one.replace("/etc/passwd", str(secret)).replace("HOME", "WEFT_CANARY") for one in [*TEXTS, *PAYLOADS]]
    said: list[str] = []
    accepted = 0
    with caplog.at_level(logging.DEBUG), weft.Engine(tmp_path / "state", roots=[tmp_path / "in"]) as engine:
        engine.add_stream("s", source="rate", schema=SCHEMA, event_time="ts")
        for number, text in enumerate(texts):
            tries: list[Any] = [
                lambda text=text: engine.register(text, name="q"),
                lambda text=text: engine.register("SELECT count(*) AS n FROM s", name=text),
                lambda text=text, number=number: engine.register(
                    f"SELECT max({quoted_string(text)}) AS {quoted_name(text)} FROM s", name=f"q{number}"
                ),
                lambda text=text: engine.add_stream("t", source=text, path=secret, schema=SCHEMA, event_time="ts"),
                lambda text=text: engine.add_stream("t", source="csv", path=text, schema=SCHEMA, event_time="ts"),
                lambda text=text: engine.add_stream("t", source="text", path=secret, schema=text, event_time="ts"),
                lambda text=text: engine.add_stream(
                    "t", source="rate", schema=SCHEMA, event_time="ts", options={text: str(secret)}
                ),
                lambda text=text: engine.add_stream("t", source="rate", schema=SCHEMA, event_time=text),
                lambda text=text: engine.query(text).result(end=text),
            ]
            for attempt in tries:
                try:
                    attempt()
                    accepted += 1
                except (WeftError, ValueError) as error:
                    said.append(f"{error} {error.__notes__ if hasattr(error, '__notes__') else ''}")
        assert list(engine.registry.streams()) == ["s"]
        assert foreign(statements(engine)) == set()
        said += [engine.explain(), str(engine.metrics())]
        said += [f"{one.explain()} {one.metrics()} {one.result()}" for one in engine.queries()]
    with sqlite3.connect(tmp_path / "state" / "catalog.sqlite") as connection:
        said += connection.iterdump()
    connection.close()
    said += [str(vars(record)) for record in caplog.records]
    said += capfd.readouterr()
    assert accepted > 100, "names and strings may be anything"
    assert not [text for text in said if "canary-of" in text]
