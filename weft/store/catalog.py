"""The catalog: it alone says what is registered, what is stored, and how far each stream has come.

Keeps: a write transaction is applied whole or not at all, also when the process is killed inside it; write
transactions of all threads and processes run one after the other; a read transaction sees one moment.
`revision` grows by one with every transaction that changes a stream, a query or an aggregate.
Cost: a write transaction on SQLite is one fsync; 10,000 queries go into a transaction in well under a second.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InvalidRequestError,
    ProgrammingError,
    SQLAlchemyError,
)

from weft.errors import EngineError, StateError, engine_closed
from weft.failpoint import failpoint
from weft.store import tables
from weft.store.migrations import migrate, tables_of
from weft.store.snapshot import Snapshot, WallClock, meta_value
from weft.store.tables import FORMAT
from weft.store.transactions import TICKS_KEPT, Writer

__all__ = ["BUSY_SECONDS", "TICKS_KEPT", "Catalog", "Snapshot", "Writer", "parse_url", "sqlite_url"]

log = logging.getLogger("weft.store")

BUSY_SECONDS = 30
_LOCK_CLASS = 0x77656674  # "weft": keeps our PostgreSQL advisory lock apart from other applications'


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


def sqlite_url(path: Path | str) -> str:
    """The URL of a catalog in a local SQLite file."""
    return URL.create("sqlite", database=str(Path(path).absolute())).render_as_string()


class Catalog:
    """A catalog by its SQLAlchemy URL, made when there is none and migrated when it has an older format.

    Threads may share a catalog, processes open their own. `make` is asked whether a catalog may be made where there is
    none: its file may be there and empty because all that was ever committed stood in a log that is lost.
    """

    def __init__(self, url: str, *, clock: WallClock = utc_now, make: Callable[[], bool] = lambda: True) -> None:
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._writing: int | None = None
        self._closed = False
        self._url = parse_url(url)
        self._name = f"Catalog({self._url.render_as_string(hide_password=True)!r})"
        self._engine = _engine(self._url)
        self._postgres = self._engine.dialect.name == "postgresql"
        try:
            self._prepare()
        except (ValueError, TypeError) as error:
            # The catalog holds bytes instead of text, broken JSON, or moments that do not exist.
            self.close()
            raise _unreadable(f"{self._name} holds what was never written there: {error}") from error
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return self._name

    def close(self) -> None:
        """Give back all connections; who asks for a transaction afterwards is refused."""
        self._closed = True
        self._engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise engine_closed()

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """Open a consistent snapshot as of now; it never waits for a writer and no writer waits for it."""
        self._check_open()
        with self._refusals(), self._snapshot() as connection:
            # A snapshot starts with its first read: that read happens now, and not with the caller's first.
            _stored_format(connection, self._name)
            yield Snapshot(connection, self._clock)

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """Open a write transaction: committed when the block ends, rolled back by any error in it."""
        self._check_open()
        with self._refusals(), self._exclusive() as connection:
            # A newer Weft may have migrated the catalog since it was opened here.
            _stored_format(connection, self._name)
            writer = Writer(connection, self._clock)
            yield writer
            if not self._postgres:
                writer.note_sums()

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            if self._postgres:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _exclusive(self) -> Iterator[Connection]:
        if self._writing == threading.get_ident():
            raise EngineError(
                "nested-write",
                "this thread is already inside a write transaction of the catalog",
                hint="Pass the open transaction on instead of starting a second one.",
            )
        # Threads queue here and not at the database, where SQLite would have them poll.
        with self._lock:
            self._writing = threading.get_ident()
            try:
                with self._engine.connect() as connection:
                    connection.execution_options(weft_begin="BEGIN IMMEDIATE")
                    if self._postgres:
                        # Whatever the server's default is, a writer must see what the writer before it committed.
                        connection.execution_options(isolation_level="READ COMMITTED")
                    with connection.begin():
                        if self._postgres:
                            _wait_for_other_writers(connection)
                        yield connection
            finally:
                self._writing = None

    def _prepare(self) -> None:
        with self._refusals():
            # An existing catalog is opened without a write, so that a busy engine delays no reader.
            with self._snapshot() as connection:
                if not self._postgres:
                    _check_pages(connection, self._name)
                stored_format = _find_format(connection, self._name)
                if stored_format == FORMAT:
                    self._check_sums(connection)
                    return
            with self._exclusive() as connection:
                # The format is asked again, because another process may have made or migrated the catalog in between.
                stored_format = _find_format(connection, self._name)
                if stored_format is None and not self._make():
                    raise StateError(
                        "catalog-lost",
                        f"there is state, but {self._name} holds nothing",
                        hint="Restore catalog.sqlite and its -wal from a backup, or start with another state folder.",
                    )
                if stored_format is None:
                    tables.metadata.create_all(connection)
                    rows = [{"key": "format", "value": str(FORMAT)}, {"key": "revision", "value": "0"}]
                    connection.execute(insert(tables.meta), rows)
                    failpoint("catalog-create")
                else:
                    migrate(connection, stored_format)
                    failpoint("catalog-migrate")
            if stored_format not in (None, FORMAT):
                formats = {"from_format": stored_format, "to_format": FORMAT}
                log.info("catalog migrated", extra={"catalog": self._name, **formats})

    def _check_sums(self, connection: Connection) -> None:
        damaged = Snapshot(connection, self._clock).damaged_table()
        if damaged is not None:
            raise _unreadable(f"{self._name}: the table {damaged!r} is not as it was written")

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise _refusal(error, self._name) from error


def parse_url(url: str) -> URL:
    """Parse the URL of a catalog; refuse what cannot be the URL of a catalog."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise _bad_url(f"the catalog URL cannot be read: {error}") from error
    backend = parsed.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise _bad_url(f"a catalog cannot be kept in {backend}")
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        # Every connection would get a database of its own, and no other process could meet us there.
        raise _bad_url("a catalog cannot be kept in memory")
    return parsed


def _bad_url(message: str) -> StateError:
    hint = "Use sqlite:////absolute/path/catalog.db or postgresql://user@host/database."
    return StateError("catalog-url", message, hint=hint)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        try:
            return create_engine(url, pool_pre_ping=True, max_overflow=-1)
        except (ImportError, SQLAlchemyError) as error:
            hint = "Install the driver: pip install 'psycopg[binary]'."
            raise StateError("catalog-url", f"no driver for {url.drivername}: {error}", hint=hint) from error
    path = Path(url.database or "")
    try:
        # SQLite's own file: addresses are no paths.
        if not str(path).startswith("file:"):
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unreadable(f"the folder of {path} cannot be made: {error}") from error
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, max_overflow=-1)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Turn on the write-ahead log, so that readers never wait, and an fsync for each commit, for power loss."""
    connection.isolation_level = None  # the driver would begin transactions by itself, and late
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # SQLite needs the file to itself to turn the log on, and does not wait for that as it does for other locks.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=FULL")


def _begin_sqlite(connection: Connection) -> None:
    # IMMEDIATE takes the write lock at once: a later upgrade fails whenever somebody else wrote in between.
    connection.exec_driver_sql(connection.get_execution_options().get("weft_begin", "BEGIN"))


def _wait_for_other_writers(connection: Connection) -> None:
    connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'"))
    # Two catalogs may live in two schemas of one database, and do not wait for each other.
    lock = text("SELECT pg_advisory_xact_lock(:class, hashtext(coalesce(current_schema(), '')))")
    connection.execute(lock, {"class": _LOCK_CLASS})


def _check_pages(connection: Connection, name: str) -> None:
    """Refuse a file with a damaged page now, and not when somebody happens to need it."""
    said = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    if said != "ok":
        raise _unreadable(f"{name} is damaged: {said}")


def _find_format(connection: Connection, name: str) -> int | None:
    """Tell the format of the catalog that is there; None where there is no table, an error where it is not whole."""
    ours = set(tables.metadata.tables)
    present = ours & set(inspect(connection).get_table_names())
    if not present:
        return None
    if "meta" not in present:
        raise _unreadable(f"{name} holds tables of something else: {', '.join(sorted(present))}")
    stored_format = _stored_format(connection, name)
    expected = tables_of(stored_format)
    if stored_format < 1 or expected - present:
        missing = ", ".join(sorted(expected - present)) or "nothing"
        raise _unreadable(f"{name} is no whole catalog: format {stored_format}, missing tables: {missing}")
    if present - expected:
        foreign = ", ".join(sorted(present - expected))
        raise _unreadable(f"{name} holds tables that format {stored_format} has not: {foreign}")
    return stored_format


def _stored_format(connection: Connection, name: str) -> int:
    """Read the format that a catalog says it has; refuse a format that only a newer Weft knows."""
    try:
        stored_format = int(meta_value(connection, "format") or "")
    except (InvalidRequestError, ProgrammingError, ValueError) as error:
        raise _unreadable(f"{name} has a table 'meta' that says no format") from error
    if stored_format > FORMAT:
        raise StateError(
            "newer-format",
            f"{name} has format {stored_format}, and this Weft knows formats up to {FORMAT}",
            hint="Use the newer Weft that wrote it, or start with another state folder.",
        )
    return stored_format


def _refusal(error: DBAPIError, name: str) -> StateError:
    """Say what a database error means to the user of the catalog."""
    said = str(error.orig).strip()
    lower = said.lower()
    if "locked" in lower or "lock timeout" in lower:
        hint = "Another process holds the catalog in a long write: find and stop it, then try again."
        return StateError("catalog-busy", f"{name} was locked for {BUSY_SECONDS} s", hint=hint)
    if "full" in lower or "no space" in lower:
        return StateError("catalog-full", f"{name}: {said}", hint="Free some disk space; nothing of this was written.")
    if isinstance(error, IntegrityError):
        hint = "Another engine may be running on the same stream: stop one of the two."
        return StateError("catalog-conflict", f"{name} already holds such a row: {said}", hint=hint)
    if isinstance(error.orig, sqlite3.Error):
        return _unreadable(f"{name}: {said}")
    hint = "Check that the database server runs and lets this user in, then try again."
    return StateError("catalog-unreachable", f"{name}: {said}", hint=hint)


def _unreadable(message: str) -> StateError:
    hint = "Check the path, its permissions and the disk; if the file itself is damaged, restore it from a backup."
    return StateError("catalog-unreadable", message, hint=hint)
