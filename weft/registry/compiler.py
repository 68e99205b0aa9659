"""Registered queries are compiled when somebody needs them, each registration once.

Keeps: what is worked out of a query is kept for as long as its registration; a query that this Weft does not accept is
refused once, with the reason, and keeps no other from running.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

from weft.errors import WeftError
from weft.registry.declared import Declared
from weft.registry.registered import Registered
from weft.sql.bind import compile_query
from weft.store.tables import QueryRow

log = logging.getLogger("weft.registry")


@dataclass(frozen=True)
class RefusedQuery:
    """A query that the catalog holds and this Weft does not accept, and why."""

    row: QueryRow
    error: WeftError


class QueryCompiler:
    """Compiles the rows of the catalog; safe to call from several threads, none of which waits for another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiled: dict[str, Registered | RefusedQuery] = {}

    def compiled(self, row: QueryRow, declared: Declared) -> Registered | RefusedQuery:
        """The query of a row, or why it is refused."""
        known = self._compiled.get(row.name)
        if known is not None and known.row.is_registration_of(row):
            if known.row == row:
                return known
            again = known.with_row(row) if isinstance(known, Registered) else replace(known, row=row)
        else:
            again = self._compile(row, declared)
        self.put(again)
        return again

    def accepts(self, row: QueryRow, declared: Declared) -> bool:
        """Whether a query is accepted."""
        return isinstance(self.compiled(row, declared), Registered)

    def stream_of(self, name: str) -> str | None:
        """The stream of a query that was compiled before."""
        known = self._compiled.get(name) if isinstance(name, str) else None
        return None if known is None else known.row.stream

    def put(self, query: Registered | RefusedQuery) -> None:
        """Keep what is compiled already."""
        with self._lock:
            self._compiled[query.row.name] = query

    def forget(self, names: Iterable[str]) -> None:
        """Let go of queries that were dropped."""
        with self._lock:
            for name in names:
                self._compiled.pop(name, None)

    @staticmethod
    def _compile(row: QueryRow, declared: Declared) -> Registered | RefusedQuery:
        try:
            query = compile_row(row, declared)
            # A query that is compiled and cannot be planned is not accepted either.
            _ = query.needs
        except WeftError as error:
            log.error("query not accepted", extra={"query": row.name, "reason": str(error)})
            return RefusedQuery(row, error)
        return query


def compile_row(row: QueryRow, declared: Declared) -> Registered:
    """The query that a row of the catalog describes; raises what is wrong with its text."""
    query = compile_query(row.sql, declared.schemas, declared.aggregates)
    return Registered(replace(row, stream=query.stream), query, declared.aggregates)
