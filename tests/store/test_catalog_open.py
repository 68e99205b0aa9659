"""A catalog opens, or says in one sentence why it does not, and leaves alone what it does not know."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from weft.errors import StateError
from weft.store import catalog as catalog_module
from weft.store.catalog import Catalog, sqlite_url
from weft.store.definition import QueryDefinition
from weft.store.records import QueryRow
from weft.store.tables import FORMAT


def refusal(url: str) -> StateError:
    with pytest.raises(StateError) as refused:
        Catalog(url)
    assert refused.value.hint
    return refused.value


def execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def some_queries(catalog: Catalog, count: int = 300) -> None:
    with catalog.write() as tx:
        tx.put_queries(QueryRow(name=f"q{i}", stream="s", sql="x" * 500, definition=QueryDefinition()) for i in range(count))


def test_a_newer_format_is_refused_and_left_alone(url: str) -> None:
    Catalog(url).close()
    execute(url, f"UPDATE meta SET value = '{FORMAT + 1}' WHERE key = 'format'")
    error = refusal(url)
    assert error.code == "newer-format"
    assert f"format {FORMAT + 1}" in error.message
    execute(url, f"UPDATE meta SET value = '{FORMAT}' WHERE key = 'format'")
    Catalog(url).close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = 'one' WHERE key = 'format'",
        "UPDATE meta SET value = '0' WHERE key = 'format'",
        "DELETE FROM meta",
        "DROP TABLE meta",
        "DROP TABLE segments",
        "DROP TABLE dead_letters",
        "UPDATE meta SET value = '1' WHERE key = 'format'",
        "ALTER TABLE meta RENAME COLUMN value TO content",
    ],
)
def test_tables_of_something_else_are_refused(url: str, statement: str) -> None:
    Catalog(url).close()
    execute(url, statement)
    assert refusal(url).code == "catalog-unreadable"


def test_tables_that_do_not_get_in_the_way_may_stay(url: str) -> None:
    if url.startswith("sqlite"):
        Catalog(url).close()  # makes the folder
    execute(url, "CREATE TABLE other (x INT)")
    Catalog(url).close()


@pytest.mark.parametrize(
    "content", [b"not a database at all\n" * 500, b"SQLite format 3\x00" + b"\xff" * 4096, b"PAR1"]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(content)
    error = refusal(sqlite_url(path))
    assert error.code == "catalog-unreadable"
    assert str(path) in error.message
    assert path.read_bytes() == content


def test_a_folder_or_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    assert refusal(sqlite_url(tmp_path)).code == "catalog-unreadable"
    (tmp_path / "file").write_text("")
    assert refusal(sqlite_url(tmp_path / "file" / "catalog.db")).code == "catalog-unreadable"


def test_damage_inside_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    catalog = Catalog(sqlite_url(path))
    some_queries(catalog)
    catalog.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    assert refusal(sqlite_url(path)).code == "catalog-unreadable"


@pytest.mark.parametrize("column", ["name", "stream", "sql", "definition", "status", "created_at"])
@pytest.mark.parametrize("value", ["x''", "x'ff00'", "1.5", "NULL"])
def test_a_value_of_another_type_is_named(tmp_path: Path, column: str, value: str) -> None:
    """As a flipped bit in the head of a row makes them: bytes for a text, a number, or nothing."""
    url = sqlite_url(tmp_path / "catalog.db")
    catalog = Catalog(url)
    some_queries(catalog, 3)
    catalog.close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'queries'")
    connection.close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute(f"UPDATE queries SET {column} = {value} WHERE name = 'q1'")
    connection.close()
    assert refusal(url).code == "catalog-unreadable"


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    catalog = Catalog(sqlite_url(path))
    some_queries(catalog)
    catalog.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StateError) as refused:
        opened = Catalog(sqlite_url(path))
        try:
            with opened.read() as tx:
                tx.queries()
        finally:
            opened.close()
    assert refused.value.code == "catalog-unreadable"


def test_an_empty_file_becomes_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").touch()
    Catalog(sqlite_url(tmp_path / "catalog.db")).close()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "/plain/path", "", "postgresql+none://h/d"]
)
def test_a_url_that_cannot_be_a_catalog_is_refused(url: str) -> None:
    error = refusal(url)
    assert error.code == "catalog-url"


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    error = refusal("postgresql+psycopg://user:secret@127.0.0.1:1/none")
    assert error.code == "catalog-unreachable"
    assert "secret" not in str(error)


def test_sqlite_is_set_up_to_survive_power_loss(tmp_path: Path) -> None:
    catalog = Catalog(sqlite_url(tmp_path / "catalog.db"))
    with catalog.write() as tx:
        connection = tx._connection
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    catalog.close()


def test_a_writer_that_never_ends_is_named_and_stops_no_reader(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Catalog(url)
    monkeypatch.setattr(catalog_module, "BUSY_SECONDS", 1)
    with holder.write():
        start = time.monotonic()
        other = Catalog(url)  # opens, although somebody writes
        with other.read() as tx:
            assert tx.queries() == ()
        assert time.monotonic() - start < 1
        with pytest.raises(StateError) as refused, other.write():
            pass
        assert refused.value.code == "catalog-busy"
    with other.write() as tx:
        tx.put_queries([QueryRow(name="q", stream="s", sql="", definition=QueryDefinition())])
    other.close()
    holder.close()


def test_a_full_disk_is_named_and_changes_nothing(tmp_path: Path) -> None:
    catalog = Catalog(sqlite_url(tmp_path / "catalog.db"))
    some_queries(catalog)
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        pages = tx._connection.exec_driver_sql("PRAGMA page_count").scalar()
        tx._connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        tx.put_queries(QueryRow(name=f"p{i}", stream="s", sql="x" * 500, definition=QueryDefinition()) for i in range(300))
    assert refused.value.code == "catalog-full"
    with catalog.read() as tx:
        assert len(tx.queries()) == 300
    catalog.close()


OPEN = """
import sys
from at_once import at_once
from weft.store.catalog import Catalog
from weft.store.definition import QueryDefinition
from weft.store.records import QueryRow

def create(number):
    with Catalog(sys.argv[1]).write() as tx:
        tx.put_queries([QueryRow(name=f"q{number}", stream="s", sql="", definition=QueryDefinition())])

sys.exit(at_once(6, create))
"""


def test_processes_that_create_the_catalog_at_once_make_one(
    url: str, python: Callable[..., subprocess.Popen[str]]
) -> None:
    process = python(OPEN, url)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    catalog = Catalog(url)
    with catalog.read() as tx:
        assert [row.name for row in tx.queries()] == [f"q{i}" for i in range(6)]
        assert tx.revision() == 6
    catalog.close()


def test_a_catalog_that_may_not_be_written_says_so(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "catalog.db")
    Catalog(url).close()
    readonly = Catalog(f"sqlite:///file:{tmp_path / 'catalog.db'}?mode=ro&uri=true")
    with readonly.read() as tx:
        assert tx.revision() == 0
    with pytest.raises(StateError) as refused, readonly.write() as tx:
        tx.bump_revision()
    assert refused.value.code == "catalog-unreadable"
    readonly.close()


def test_the_version_of_sqlite_is_new_enough() -> None:
    assert sqlite3.sqlite_version_info >= (3, 35), "INSERT .. RETURNING"
    assert sys.version_info >= (3, 11)
