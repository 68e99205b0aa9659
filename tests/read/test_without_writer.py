"""Reading needs neither Spark nor the writer: what a reading process loads, compiles and waits for."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import weft
import weft.testing
from weft.registry import compiler
from weft.registry.compiler import form_of
from weft.sql import bind
from weft.store import tables

SQL = "SELECT k, sum(v) AS total FROM s GROUP BY window(ts, '10 seconds'), k"
ROWS = [{"ts": f"2026-01-01T00:00:{second:02}", "k": "a", "v": second} for second in range(0, 60, 5)]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state with some ticks and queries, which no process has open."""
    with weft.testing.engine(tmp_path / "state") as engine:
        weft.testing.add_stream(engine, "s", schema="ts timestamp, k string, v int", event_time="ts")
        engine.register(SQL, name="q")
        engine.register("SELECT count(*) AS n FROM s", name="other")
        weft.testing.feed(engine, "s", ROWS)
    return tmp_path / "state"


@pytest.fixture
def engine(state: Path) -> Iterator[weft.Engine]:
    with weft.testing.engine(state) as engine:
        yield engine


def loaded(script: str) -> set[str]:
    """The names of all modules that another process has loaded after a script."""
    told = f"{script}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=100)
    return set(json.loads(answer.stdout.splitlines()[-1]))


def test_importing_weft_loads_next_to_nothing() -> None:
    assert not loaded("import weft") & {"pyspark", "py4j", "pandas", "duckdb", "pyarrow", "sqlalchemy", "sqlglot"}


def test_a_process_that_reads_loads_neither_spark_nor_the_parser(state: Path) -> None:
    script = f"import weft\nwith weft.Engine({str(state)!r}) as engine:\n    assert engine.query('q').result().num_rows"
    modules = loaded(script)
    assert not modules & {"pyspark", "py4j", "sqlglot"}
    # It does load what it reads with: the list above is not empty because nothing was done.
    assert {"duckdb", "pyarrow", "weft.read.reader"} <= modules
    assert not modules & {"weft.tick.ticker", "weft.spark.runner", "weft.spark.level0"}


def test_a_query_is_read_from_its_stored_form(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_query(*_: object) -> None:
        raise AssertionError("the text is compiled again")

    monkeypatch.setattr(bind, "compile_query", compile_query)
    assert engine.query("q").result()["total"].to_pylist() == [85]


@pytest.mark.parametrize("damage", ["another format", "another text", "gone"])
def test_a_form_that_is_of_no_use_is_made_anew(engine: weft.Engine, damage: str, tmp_path: Path) -> None:
    form = form_of(engine.registry.query("q"))
    bad = replace(form, format=form.format + 1) if damage == "another format" else replace(form, content="{}")
    with engine.catalog.write() as catalog:
        catalog.put_forms([bad])
        if damage == "gone":
            catalog._delete(tables.forms.c.query, ["q"])
    with weft.testing.engine(tmp_path / "state") as again:
        assert again.query("q").result()["total"].to_pylist() == [85]
        weft.testing.start_anew(again, "s")
        with again.catalog.read() as catalog:
            assert catalog.form("q") == form


def test_nobody_who_reads_waits_for_registrations(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    compiling, go_on, compile_query = threading.Event(), threading.Event(), bind.compile_query

    def slowly(*given: object) -> object:
        compiling.set()
        assert go_on.wait(30)
        return compile_query(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(bind, "compile_query", slowly)
    registering = threading.Thread(target=lambda: engine.register("SELECT max(v) AS m FROM s", name="new"))
    registering.start()
    assert compiling.wait(30)
    try:
        assert engine.query("q").result()["total"].to_pylist() == [85]
        assert [query.name for query in engine.queries()] == ["other", "q"]
        weft.testing.feed(engine, "s", [{"ts": "2026-01-01T00:01:20", "k": "a", "v": 1}])
    finally:
        go_on.set()
        registering.join()
    assert engine.query("new").status == "registered"


def test_turns_are_short_only_while_much_is_registered(engine: weft.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, seen, compile_query = sys.getswitchinterval(), set(), bind.compile_query
    thresholds, whole = gc.get_threshold(), set()

    def noted(*given: object) -> object:
        seen.add(sys.getswitchinterval())
        whole.add(gc.get_threshold()[2])
        return compile_query(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(bind, "compile_query", noted)
    engine.register("SELECT min(v) AS m FROM s", name="alone")
    assert seen == {usual} and whole == {thresholds[2]}
    seen.clear()
    whole.clear()
    engine.register_all({f"q{number}": f"SELECT sum(v) + {number} AS m FROM s" for number in range(30)})
    assert max(seen) < usual and sys.getswitchinterval() == usual
    assert min(whole) > 1_000_000 and gc.get_threshold() == thresholds


def test_what_thousands_of_queries_leave_is_not_looked_through_again(engine: weft.Engine) -> None:
    before = gc.get_freeze_count()
    try:
        engine.register_all({f"q{number}": f"SELECT sum(v) + {number} AS m FROM s" for number in range(1000)})
        assert gc.get_freeze_count() > before + 10_000
        assert len(gc.get_objects()) < gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_a_query_is_compiled_only_when_somebody_needs_it(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    read = compiler.QueryCompiler._read

    def watched(row: object, *given: object) -> object:
        asked.append(row.name)  # type: ignore[attr-defined]
        return read(row, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler.QueryCompiler, "_read", staticmethod(watched))
    with weft.testing.engine(state) as engine:
        assert asked == []
        engine.query("q").result()
        assert asked == ["q"]
