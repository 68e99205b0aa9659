"""`weft register`, `weft drop` and `weft adopt`: through the catalog, so that a running engine takes them over at its next tick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import weft.testing
from tests.cli.command import refuse, succeed, succeed_json
from weft.engine import Engine
from weft.store.records import TickRow

SQL = "SELECT proto, max(length) AS longest FROM packets GROUP BY window(ts, '1 minute'), proto"


def test_register_and_drop(state: Path) -> None:
    assert "registered" in succeed("register", "longest", SQL, "--state", state)
    assert succeed_json("register", "longest", SQL, "--state", state) == {
        "name": "longest", "status": "unchanged", "sql": SQL,
        "bound": "at most 10,082 slices, each with a row for every different (proto)"}
    assert "longest" in succeed("queries", "--state", state)
    assert "'longest' dropped" in succeed("drop", "longest", "--state", state)
    assert "longest" not in succeed("queries", "--state", state)


def test_a_running_engine_takes_changes_over(state: Path) -> None:
    with Engine(state) as engine:
        before = engine.registry.version("packets")
        succeed("register", "longest", SQL, "--state", state)
        succeed("drop", "bytes", "--state", state)
        engine.registry.refresh()  # what every tick begins with
        assert engine.registry.version("packets") > before
        assert sorted(engine.registry.queries()) == ["longest", "totals"]


def test_the_text_comes_from_anywhere(state: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(f"-- a comment\n{SQL}\n")
    succeed("register", "a", "--file", tmp_path / "q.sql", "--state", state, "--keep", "forever")
    succeed("register", "b", "-", "--state", state, "--eager", stdin=SQL)
    found = {one["name"]: one for one in succeed_json("queries", "--state", state)}
    assert (found["a"]["keep"], found["a"]["eager"]) == ("forever", False)
    assert (found["b"]["keep"], found["b"]["eager"]) == ("7 days", True)


def test_how_a_query_is_kept_can_be_changed(state: Path) -> None:
    succeed("register", "a", SQL, "--state", state, "--keep", "1 day")
    assert "unchanged" in succeed("register", "a", SQL, "--state", state), "what is not said stays"
    said = succeed("register", "a", SQL, "--state", state, "--eager")
    assert "query 'a' changed: its windows are kept for 1 day, and finished ahead" in said
    changed = succeed_json("register", "a", SQL, "--state", state, "--keep", "forever", "--no-eager")
    assert changed["status"] == "changed"
    found = {one["name"]: one for one in succeed_json("queries", "--state", state)}
    assert (found["a"]["keep"], found["a"]["eager"]) == ("forever", False)


def test_refusals(state: Path, tmp_path: Path) -> None:
    said = refuse("register", "x", "SELECT sum(lenght) FROM packets", "--state", state, code="unknown-column")
    assert "(line 1, column 12)" in said and "hint: Known names: length." in said and "in query 'x'" in said
    refuse("register", "x", "--state", state, code="no-sql")
    refuse("register", "x", SQL, "--file", tmp_path / "q.sql", "--state", state, code="no-sql")
    refuse("register", "x", "--file", tmp_path / "none.sql", "--state", state, code="unreadable-file")
    refuse("register", "bytes", SQL, "--state", state, code="query-differs")
    refuse("register", "x", SQL, "--keep", "a while", "--state", state, code="bad-duration")
    assert len(succeed_json("queries", "--state", state)) == 2


def test_adopt(state: Path) -> None:
    last = TickRow(stream="packets", batch_id=7, checkpoint="lost", offsets_digest="x")
    with Engine(state) as engine, engine.catalog.write() as catalog:
        catalog.put_tick(last)
    refuse("adopt", "nothing", "--state", state, code="unknown-stream")
    assert succeed_json("adopt", "packets", "--state", state) == {"adopted": "packets"}
    with Engine(state) as engine:
        new = weft.testing.mark(0, "new", "y")
        assert weft.testing.adopted(engine, "packets", new) == replace(new, batch_id=8, planned=0)


def test_all_or_none_are_dropped(state: Path) -> None:
    refuse("drop", "bytes", "nothing", "--state", state, code="unknown-query")
    assert len(succeed_json("queries", "--state", state)) == 2
    assert succeed_json("drop", "bytes", "totals", "bytes", "--state", state) == {"dropped": ["bytes", "totals"]}
    assert succeed_json("queries", "--state", state) == []
