"""The reading engine: DuckDB inside this process, closed to everything but the Arrow tables it is handed."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import pyarrow as pa

from weft.backend.functions import install
from weft.backend.interface import BackendDown, BackendError
from weft.errors import engine_closed

# Answers are small: to copy them once more takes less than to parse and bind their statements once more.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)

# What DuckDB raises when it fails itself; all else is about what it was asked.
DOWN = (
    duckdb.OutOfMemoryException,
    duckdb.IOException,
    duckdb.ConnectionException,
    duckdb.InterruptException,
    duckdb.FatalException,
)
# How long whoever closes waits for statements of other threads, before it breaks them off, and after that.
LAST_SECONDS = 10.0
# The share of the machine's memory for a DuckDB; an engine has two, beside the JVM and everything else.
MEMORY_SHARE = 0.4
# Settings are global, because a cursor takes over no setting that the connection made for itself.
SETTINGS = (
    "SET GLOBAL TimeZone = 'UTC'",
    # What does not fit into memory is refused, not written to wherever the process was started.
    "SET GLOBAL temp_directory = ''",
    "SET GLOBAL allow_community_extensions = false",
    "SET GLOBAL python_enable_replacements = false",
    "SET GLOBAL autoinstall_known_extensions = false",
    "SET GLOBAL autoload_known_extensions = false",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL lock_configuration = true",
)


class Duck:
    """A DuckDB that runs SQL over Arrow tables; threads may share it, and each gets a cursor of its own.

    Results are small and readers many: one thread a query serves more readers than two threads each.
    """

    def __init__(self, *, threads: int = 1) -> None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = f"{int(memory * MEMORY_SHARE) >> 20} MiB"
        self._root = duckdb.connect(":memory:", config={"threads": threads, "memory_limit": limit})
        install(self._root)
        for setting in SETTINGS:
            self._root.execute(setting)
        # By thread, and not thread-local: a cursor that outlives close() in any thread is reported as a leak at exit.
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}
        self._closed, self._running = False, 0
        self._changed = threading.Condition()

    def run(self, sql: str, tables: Mapping[str, pa.Table], parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """The answer of a SELECT over the tables by name."""
        with self._cursor() as cursor:
            for name, table in tables.items():
                cursor.register(name, table)
            try:
                return answer_of(cursor, sql, parameters)
            finally:
                for name in tables:
                    cursor.unregister(name)

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The cursor of this thread, which stays open meanwhile."""
        thread = threading.get_ident()
        with self._changed:
            if self._closed:
                raise engine_closed()
            if thread not in self._cursors:
                self._cursors[thread] = self._root.cursor()
            cursor = self._cursors[thread]
            self._running += 1
        try:
            yield cursor
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """End the cursors of all threads, when the statements that run are done; again does nothing."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if not self._changed.wait_for(lambda: self._running == 0, LAST_SECONDS):
                for cursor in self._cursors.values():
                    cursor.interrupt()
                self._changed.wait_for(lambda: self._running == 0, LAST_SECONDS)
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()
        self._root.close()
        # Spark's callback server keeps the tick, and the tick this object, beyond the end of the interpreter.
        del self._root


def answer_of(
    cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """The answer of a statement, which is not made a relation of: that would be parsed and bound twice."""
    try:
        answer: Any = cursor.execute(sql, dict(parameters) if parameters else None)
        return answer.to_arrow_table()
    except BaseException:
        # A statement that was broken off keeps its connection from the next.
        with suppress(duckdb.Error):
            cursor.abort()
        raise


def run_on(duck: Duck, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The answer of a SELECT over the tables; what DuckDB raises becomes the backend's errors."""
    with backend_errors():
        return duck.run(sql, tables)


@contextmanager
def backend_errors() -> Iterator[None]:
    """Raise what DuckDB raises as the backend's errors."""
    try:
        yield
    except DOWN as error:
        raise BackendDown(str(error)) from error
    except duckdb.Error as error:
        raise BackendError(str(error)) from error
