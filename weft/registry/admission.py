"""Whether queries may be registered: their names and options are checked, and their texts are compiled.

Needs nothing but what is declared: no catalog, no lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import uuid4

from weft.errors import EngineError, WeftError
from weft.registry.compiler import compile_row
from weft.registry.declared import Declared
from weft.registry.registered import Registered, check_readable
from weft.sql.ddl import Duration
from weft.store.definition import QueryDefinition, parse_keep
from weft.store.records import QueryRow

DEFAULT_KEEP = "7 days"


@dataclass(frozen=True)
class QueryOptions:
    """How registered queries are kept and finished; an option that is left out stays as it is."""

    says_keep: bool = False
    keep: timedelta | None = None
    eager: bool | None = None

    def applied_to(self, definition: QueryDefinition) -> QueryDefinition:
        """The definition with these options."""
        return replace(
            definition,
            keep=self.keep if self.says_keep else definition.keep,
            eager=definition.eager if self.eager is None else self.eager,
        )


def query_options(keep: Duration | None, eager: bool | None) -> QueryOptions:
    """The options of a registration; refuses a text for `eager`, which would be true whatever it says."""
    if not isinstance(eager, bool | None):
        raise EngineError("bad-type", f"eager={str(eager)[:40]!r} is no truth", hint="Say True or False.")
    return QueryOptions(keep is not None, None if keep is None else parse_keep(keep), eager)


def admit_queries(texts: Mapping[str, str], options: QueryOptions, declared: Declared) -> list[Registered]:
    """Compile the queries as they would be registered; raises what is wrong with the first that cannot be."""
    return [_admit_query(name, sql, options, declared) for name, sql in texts.items()]


def check_texts(texts: Mapping[str, str]) -> None:
    """Refuse queries that come without names."""
    if not isinstance(texts, Mapping):
        hint = 'Write for example {"packets": "SELECT count(*) FROM packets"}.'
        raise EngineError("bad-type", "queries are given by name", hint=hint)


def _admit_query(name: str, sql: str, options: QueryOptions, declared: Declared) -> Registered:
    """Compile a query under a name that it may have."""
    if not isinstance(name, str) or not name or len(name) > 200 or not name.isprintable():
        raise EngineError(
            "bad-name", f"{str(name)[:200]!r} cannot name a query", hint="Use 1 to 200 printable characters."
        )
    try:
        # The mark tells the query from another that is registered under its name after it was dropped.
        definition = options.applied_to(QueryDefinition(parse_keep(DEFAULT_KEEP), mark=uuid4().hex))
        query = compile_row(QueryRow(name=name, stream="", sql=sql, definition=definition), declared)
        check_readable(query)
        return query
    except WeftError as error:
        error.add_note(f"in query {name!r}")
        raise


def preview_query(sql: str, declared: Declared) -> Registered:
    """Compile a query without a name, as it would be registered."""
    row = QueryRow(name="", stream="", sql=sql, definition=QueryDefinition(parse_keep(DEFAULT_KEEP)))
    query = compile_row(row, declared)
    check_readable(query)
    return query
