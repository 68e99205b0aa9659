"""Registered queries are compiled when somebody needs them, every registration once.

Compiling a text is most of what opening a query costs, so what it yields is stored with the query and read back where
this Weft writes the same format. A query whose form is stored was accepted when that was written.
Keeps: what is worked out of a query is kept for as long as its registration; a query that this Weft does not accept is
refused once, with the reason, and keeps no other from running.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

from weft.algebra.query import Query
from weft.algebra.stored import FORMAT, from_json, to_json
from weft.errors import WeftError
from weft.feeds.feed import stream_of
from weft.registry.declared import Declared
from weft.registry.registered import Registered
from weft.store.records import FormRow, QueryRow

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

    def knows(self, row: QueryRow) -> bool:
        """Whether this registration was compiled before."""
        known = self._compiled.get(row.name)
        return known is not None and (known.row is row or known.row.is_registration_of(row))

    def compiled(self, row: QueryRow, declared: Declared, form: FormRow | None = None) -> Registered | RefusedQuery:
        """The query of a row, or why it is refused; from its stored form where there is a form that can be read."""
        known = self._compiled.get(row.name)
        # Every tick asks about every query: mostly nothing has changed since the last.
        if known is not None and known.row is row:
            return known
        if known is None or not known.row.is_registration_of(row):
            again = self._read(row, declared, form) or self._compile(row, declared)
        elif known.row == row:
            return known
        else:
            again = known.with_row(row) if isinstance(known, Registered) else replace(known, row=row)
        self.put(again)
        return again

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
    def _read(row: QueryRow, declared: Declared, form: FormRow | None) -> Registered | None:
        """The query of a stored form; None where its text has to be compiled."""
        if form is None or not is_usable(form, row):
            return None
        if row.stream not in declared.streams or declared.refused_aggregates:
            return None
        query = from_json(json.loads(form.content))
        assert isinstance(query, Query)
        return Registered(row, query, declared.aggregates)

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


def is_usable(form: FormRow, row: QueryRow) -> bool:
    """Whether this Weft can read a form, which is whole and of this very registration.

    A form that was read a moment after its row may be of another registration under the same name.
    """
    mark = row.definition.mark
    return form.format == FORMAT and mark != "" and form.digest == _digest(mark, form.content)


def form_of(query: Registered) -> FormRow:
    """The form of a compiled query, as it is stored."""
    content = json.dumps(to_json(query.query), separators=(",", ":"))
    digest = _digest(query.row.definition.mark, content)
    return FormRow(query=query.name, format=FORMAT, digest=digest, content=content)


def _digest(mark: str, content: str) -> str:
    """A digest that tells that a form is whole, and of which registration it is."""
    return hashlib.blake2b(f"{mark} {content}".encode(), digest_size=16).hexdigest()


def compile_row(row: QueryRow, declared: Declared) -> Registered:
    """The query that a row of the catalog describes; raises what is wrong with its text."""
    # Whoever only reads what is compiled already needs no parser.
    from weft.sql.bind import compile_query

    query = compile_query(row.sql, declared.schemas, declared.aggregates)
    return Registered(replace(row, stream=stream_of(query, declared.feeds)), query, declared.aggregates)
