"""A catalog of every older format opens whole in this Weft, also after kills inside the migration; never the other way.

`formats/<n>.<database>.sql` is a catalog as the Weft of format n left it, and is never written anew.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, text

from tests.few import few
from weft.errors import StateError
from weft.registry.registry import Registry
from weft.store import catalog as catalog_module
from weft.store.catalog import Catalog, sqlite_url
from weft.store.migrations import STEPS
from weft.store.records import DeadLetterRow, PlanRow
from weft.store.state import load_state
from weft.store.tables import FORMAT

FORMATS = Path(__file__).parent / "formats"
OLDER = sorted({int(path.name.split(".")[0]) for path in FORMATS.glob("*.sql")})


def restore(url: str, number: int) -> None:
    """Make the database at the URL what the dump of the format says."""
    engine = create_engine(url)
    script = (FORMATS / f"{number}.{engine.dialect.name}.sql").read_text(encoding="utf-8")
    if engine.dialect.name == "sqlite":
        Path(engine.url.database or "").parent.mkdir(parents=True, exist_ok=True)
        connection = engine.raw_connection()
        connection.driver_connection.executescript(script)  # type: ignore[union-attr]
        connection.close()
    else:
        with engine.begin() as begun:
            for statement in re.split(r";\n", script):
                if statement.strip():
                    begun.exec_driver_sql(statement)
    engine.dispose()


def ask(url: str, sql: str) -> Any:
    engine = create_engine(url)
    with engine.connect() as connection:
        answer = connection.execute(text(sql)).scalar()
    engine.dispose()
    return answer


def picture(url: str) -> dict[str, Any]:
    """Every table with its columns, keys and indexes, as the database itself tells them."""
    engine = create_engine(url)
    seen = inspect(engine)
    told = {}
    for table in sorted(seen.get_table_names()):
        columns = [
            (one["name"], str(one["type"]), one["nullable"], bool(one["default"])) for one in seen.get_columns(table)
        ]
        indexes = sorted((str(one["name"]), tuple(one["column_names"])) for one in seen.get_indexes(table))
        unique = sorted(tuple(one["column_names"]) for one in seen.get_unique_constraints(table))
        told[table] = (columns, seen.get_pk_constraint(table)["constrained_columns"], indexes, unique)
    engine.dispose()
    return told


def test_there_is_a_step_and_a_dump_for_every_older_format() -> None:
    assert [step.to for step in STEPS] == list(range(2, FORMAT + 1))
    assert list(range(1, FORMAT)) == OLDER
    assert len(list(FORMATS.glob("*.sql"))) == 2 * len(OLDER), "one for SQLite, one for PostgreSQL"


@pytest.mark.parametrize("number", OLDER)
def test_a_migrated_catalog_has_the_tables_of_a_new_one(url: str, number: int, tmp_path: Path) -> None:
    restore(url, number)
    old = picture(url)
    Catalog(url).close()
    migrated = picture(url)
    assert migrated != old
    if url.startswith("sqlite"):
        new = sqlite_url(tmp_path / "new" / "catalog.db")
    else:
        engine = create_engine(url)
        with engine.begin() as connection:
            for table in migrated:
                connection.execute(text(f"DROP TABLE {table}"))
        engine.dispose()
        new = url
    Catalog(new).close()
    assert picture(new) == migrated


def test_everything_in_a_catalog_of_format_1_reads_back(url: str) -> None:
    restore(url, 1)
    catalog = Catalog(url)
    assert ask(url, "SELECT value FROM meta WHERE key = 'format'") == str(FORMAT)
    registry = Registry(catalog)
    assert registry.stream("s").path == "/data/s"
    assert [(name, one.row.status) for name, one in sorted(registry.queries().items())] == [
        ("long", "running"),
        ("short", "running"),
        ("waiting", "registered"),
    ]
    with catalog.read() as tx:
        assert tx.revision() == 6
        assert [row.name for row in tx.aggregates()] == ["geometric_mean"]
        assert [row.id for row in tx.segments()] == [9, 10, 17, 18, 21, 22, 25, 26, 27]
        assert len(tx.tick_log("s")) == 10
        assert len(tx.garbage()) == 2
        assert tx.dead_letters() == ()
        state = load_state("s", tx)
    assert (state.batch_id, state.watermark, state.totals["rows"]) == (9, 894_000_000, 902)
    assert {name: (one.rows, len(one.files)) for name, one in state.synopses.items()} == {
        "node_043a718774c572bd8a25adbe": (1217, 5),
        "node_0093d727baf28c9aa8301e25": (1582, 4),
    }
    catalog.close()


def test_everything_in_a_catalog_of_format_2_reads_back(url: str) -> None:
    restore(url, 2)
    catalog = Catalog(url)
    registry = Registry(catalog)
    assert sorted(registry.queries()) == ["by_group", "by_key", "totals", "waiting"]
    with catalog.read() as tx:
        assert len(tx.segments()) == 32 and {row.plan for row in tx.segments()} == {0}
        assert [row.batch_id for row in tx.dead_letters("s")] == [0, 2, 4, 6]
        state = load_state("s", tx)
    assert (state.batch_id, state.plan, state.totals["ticks"]) == (7, None, 8)
    with catalog.write() as tx:
        tx.put_costs({})
        tx.put_plan(PlanRow(stream="s", version=1, from_batch=8, definition={}))
    catalog.close()
    # Sums of the rows as they were would call every one of them damaged.
    Catalog(url).close()


def test_a_catalog_of_format_3_has_longer_names(url: str) -> None:
    restore(url, 3)
    catalog = Catalog(url)
    needs = [one.needs for one in Registry(catalog).queries().values() if one.row.status == "running"]
    with catalog.read() as tx:
        state, names = load_state("s", tx), tx.names()
        (plan,) = tx.plans("s")
    catalog.close()
    assert {part.node for one in needs for part in one.parts} == set(state.synopses)
    for part in (part for one in needs for part in one.parts):
        synopsis = state.synopses[part.node]
        assert synopsis.dimensions == {one.name for one in part.dimensions}
        statistics = {one.name for one in part.statistics}
        assert all(statistics <= state.layouts[file.layout].statistics for file in synopsis.data)
        assert {one.name for one in (*part.statistics, *part.dimensions)} <= set(names.values())
    assert all(layout.id == name for name, layout in state.layouts.items())
    assert set(state.totals["learned"]["groups"]) <= set(names.values())
    assert plan.definition["nodes"][0]["id"] in state.synopses
    assert all(new.startswith(old) for old, new in names.items())


def test_in_a_catalog_of_format_4_every_table_has_a_file_and_new_tables_may_share_one(
    url: str, segment: Callable[..., Any]
) -> None:
    restore(url, 4)
    catalog = Catalog(url)
    assert sorted(Registry(catalog).queries()) == ["by_group", "by_key", "totals", "waiting"]
    with catalog.read() as tx:
        old = tx.segments()
        assert len(tx.forms()) == 4
    assert len(old) == 32 == len({row.path for row in old}) and {row.byte_from for row in old} == {0}
    assert ask(url, "SELECT sum(bytes + rows + rank + batch_from + time_to + plan) FROM segments") == sum(
        row.bytes + row.rows + row.rank + row.batch_from + row.time_to + row.plan for row in old
    )
    with catalog.write() as tx:
        added = tx.add_segments([segment("s/new", byte_from=place) for place in (0, 100)])
        assert added[0].id is not None and added[0].id > max(row.id or 0 for row in old)
    catalog.close()
    # Sums of the rows as they were would call every one of them damaged.
    again = Catalog(url)
    with again.read() as tx:
        assert tx.segments() == (*old, *added)
    again.close()


def test_a_migrated_catalog_goes_on(url: str, segment: Callable[..., Any]) -> None:
    restore(url, 1)
    catalog = Catalog(url)
    with catalog.write() as tx:
        (new,) = tx.add_segments([segment("s/new")])
        assert new.id == 28, "ids go on where they were"
        letter = DeadLetterRow(stream="s", batch_id=10, path="s/dead", rows=1, bytes=2, checksum="x")
        (stored,) = tx.put_dead_letters([letter])
        assert tx.dead_letters("s") == (stored,)
    catalog.close()
    again = Catalog(url)
    with again.read() as tx:
        assert tx.dead_letters("s") == (stored,)
    again.close()


def test_a_weft_that_knows_only_format_1_refuses_a_migrated_catalog(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    restore(url, 1)
    Catalog(url).close()
    monkeypatch.setattr(catalog_module, "FORMAT", 1)
    with pytest.raises(StateError) as refused:
        Catalog(url)
    assert refused.value.code == "newer-format"
    assert f"format {FORMAT}" in refused.value.message


def test_a_weft_that_is_open_while_a_newer_one_migrates_stops(url: str) -> None:
    catalog = Catalog(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE meta SET value = '{FORMAT + 1}' WHERE key = 'format'"))
    engine.dispose()
    for transaction in (catalog.read, catalog.write):
        with pytest.raises(StateError) as refused, transaction():
            pass
        assert refused.value.code == "newer-format"
    catalog.close()


def test_a_table_of_somebody_else_is_not_taken_over(url: str) -> None:
    restore(url, 1)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE dead_letters (theirs INT)"))
    engine.dispose()
    with pytest.raises(StateError) as refused:
        Catalog(url)
    assert refused.value.code == "catalog-unreadable"
    assert "dead_letters" in refused.value.message
    assert ask(url, "SELECT value FROM meta WHERE key = 'format'") == "1"


# Opens the catalog and kills itself with signal 9 right before its k-th statement or commit, for every so many k.
OPEN = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from weft.store.catalog import Catalog

def open_catalog(url, k, step):
    count = 0
    def passed(commits):
        nonlocal count
        count += 1
        # However large the steps are, they pass over no commit.
        if count == k or commits and k - step < count < k:
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(Engine, "before_cursor_execute", lambda *_: passed(False))
    event.listen(Engine, "commit", lambda *_: passed(True))
    Catalog(url).close()

step = int(sys.argv[2])
for k in range(1, 1000, step):
    child = os.fork()
    if child == 0:
        open_catalog(sys.argv[1], k, step)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print("killed" if os.WIFSIGNALED(status) else "opened", flush=True)
    if not os.WIFSIGNALED(status):
        break
    sys.stdin.readline()
"""


# On PostgreSQL a kill and a look at all tables take a fifth of a second: every third in `make test`, all in `make stress`.
@pytest.mark.parametrize("step", few((3, 1), 1))
def test_a_kill_between_any_two_statements_of_a_migration_leaves_the_old_format_whole(
    url: str, step: int, python: Callable[..., subprocess.Popen[str]]
) -> None:
    restore(url, 1)
    before = picture(url)
    process = python(OPEN, url, str(step))
    assert process.stdin and process.stdout
    deaths = 0
    for line in process.stdout:
        if "opened" in line:
            break
        assert "killed" in line, line + process.stdout.read()
        deaths += 1
        assert picture(url) == before
        assert ask(url, "SELECT value FROM meta WHERE key = 'format'") == "1"
        assert ask(url, "SELECT count(*) FROM segments") == 9
        process.stdin.write("on\n")
        process.stdin.flush()
    assert process.wait(30) == 0
    assert deaths > 5
    assert ask(url, "SELECT value FROM meta WHERE key = 'format'") == str(FORMAT)
    assert ask(url, "SELECT count(*) FROM segments") == 9
    assert ask(url, "SELECT count(*) FROM dead_letters") == 0


OPEN_AT_ONCE = """
import sys
from at_once import at_once
from weft.store.catalog import Catalog

def migrate(number):
    with Catalog(sys.argv[1]).read() as tx:
        assert len(tx.segments()) == 9 and tx.dead_letters() == ()

sys.exit(at_once(4, migrate))
"""


def test_processes_that_open_an_old_catalog_at_once_migrate_it_once(
    url: str, python: Callable[..., subprocess.Popen[str]]
) -> None:
    restore(url, 1)
    process = python(OPEN_AT_ONCE, url)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
