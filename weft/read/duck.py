"""The reading engine: DuckDB inside this process, closed to everything but the Arrow tables it is handed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from weft.read.functions import install

SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class Duck:
    """Runs SQL over Arrow tables; safe to call from several threads, each of which gets a cursor of its own.

    Results are small and readers many: one thread a query serves more readers than two threads each.
    """

    def __init__(self, *, threads: int = 1) -> None:
        self._root = duckdb.connect(":memory:", config={"threads": threads})
        install(self._root)
        for setting in SETTINGS:
            self._root.execute(setting)
        # By thread, and not thread-local: a cursor that outlives close() in some thread is reported as a leak at exit.
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}

    def run(self, sql: str, tables: Mapping[str, pa.Table], parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """The answer of a SELECT over the tables by name."""
        cursor = self._cursor()
        for name, table in tables.items():
            cursor.register(name, table)
        try:
            return cursor.sql(sql, params=dict(parameters) if parameters else None).to_arrow_table()
        finally:
            for name in tables:
                cursor.unregister(name)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        thread = threading.get_ident()
        if thread not in self._cursors:
            self._cursors[thread] = self._root.cursor()
        return self._cursors[thread]

    def close(self) -> None:
        """End the cursors of all threads."""
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()
        self._root.close()
        # Spark's callback server keeps the tick, and the tick this object, beyond the end of the interpreter.
        del self._root
