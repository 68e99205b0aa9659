"""What is registered, as this process knows it: streams, queries and aggregates follow the catalog and are asked for.

Keeps: what is known is the catalog of a single revision, and never goes back to an older revision. A query is
compiled when somebody needs it; neither compiling nor a transaction happens under the lock that readers and ticks take.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from weft.errors import EngineError
from weft.feeds.feed import Feed
from weft.feeds.streams import Stream
from weft.plan.placement import Placement
from weft.registry.compiler import QueryCompiler, RefusedQuery
from weft.registry.declared import Declared
from weft.registry.registered import Registered
from weft.store.catalog import Catalog, Snapshot
from weft.store.records import FAILED, FormRow, QueryRow


class KnownRegistrations:
    """The registered streams, queries and aggregates, to follow and to ask; safe to call from several threads."""

    def __init__(self, catalog: Catalog, folder: str | None = None) -> None:
        """`folder` is where the state is, if that is local: relative paths of streams begin there."""
        self._catalog = catalog
        # Held for moments only: no transaction and no compiling happens under it.
        self._lock = threading.RLock()
        self._revision, self._declared_at = -1, -1
        self._declared = Declared(folder=folder)
        self._rows: dict[str, QueryRow] = {}
        self._versions: dict[str, int] = {}
        # What readers asked for, and at which revision of the catalog.
        self._seen: dict[str, tuple[int, Registered]] = {}
        self._compiler = QueryCompiler()

    # Following the catalog

    def refresh(self) -> None:
        """Take over what other processes changed."""
        with self._catalog.read() as catalog:
            self.follow(catalog)

    @property
    def revision(self) -> int:
        """The revision of the catalog that this is up to."""
        with self._lock:
            return self._revision

    def follow(self, catalog: Snapshot) -> None:
        """Become as the catalog is in this transaction, unless a later moment of it is known already."""
        revision = catalog.revision()
        if revision <= self._revision:
            return
        declared, rows = self._declared.after(catalog), {row.name: row for row in catalog.queries()}
        with self._lock:
            if revision <= self._revision:
                return
            gone = self._rows.keys() - rows.keys()
            changed = [row for name, row in rows.items() if self._is_other(self._rows.get(name), row)]
            for row in (*(self._rows[name] for name in gone), *changed):
                self._versions[row.stream] = self._versions.get(row.stream, 0) + 1
            self._rows, self._declared, self._revision, self._declared_at = rows, declared, revision, revision
        self._compiler.forget(gone)

    @staticmethod
    def _is_other(known: QueryRow | None, row: QueryRow) -> bool:
        """Whether a plan that was made with the known row may not hold with this row."""
        if known is None or not known.is_registration_of(row):
            return True
        return known.definition != row.definition or known.status != row.status

    def _followed(self) -> None:
        if self._revision < 0:
            self.refresh()

    # Asking

    def stream(self, name: str) -> Stream:
        """The stream of this name."""
        self._followed()
        return self._declared.stream(name)

    def feed(self, name: str) -> Feed:
        """The feed of this name; every feed is a stream so far."""
        return self.stream(name)

    def streams(self) -> dict[str, Stream]:
        """The accepted streams by name."""
        self._followed()
        return dict(self._declared.streams)

    def accepted_names(self, stream: str | None = None) -> list[str]:
        """The names of the queries that this Weft accepts, of a stream or of all."""
        return list(self.queries(stream))

    def query_count(self) -> int:
        """How many queries are registered, accepted or not; nothing is compiled for that."""
        return len(self._of(None))

    def stream_of(self, name: str) -> str | None:
        """The stream of a query as far as that is known without asking the catalog."""
        row = self._rows.get(name) if isinstance(name, str) else None
        return row.stream if row is not None else self._compiler.stream_of(name)

    def query(self, name: str) -> Registered:
        """The query of this name."""
        row = self._row(name)
        seen = self._seen.get(name)
        if seen is not None and seen[1].row is row:
            return seen[1]
        query = _accepted(self._compiled([row])[name])
        # Of no revision: the row may be older than what is known by now.
        self._seen[name] = -1, query
        return query

    def read(self, name: str, catalog: Snapshot) -> Registered:
        """The query of this name as a transaction sees it; only its own row is looked at, and once a revision."""
        revision = catalog.revision()
        seen = self._seen.get(name) if isinstance(name, str) else None
        if seen is not None and seen[0] == revision:
            return seen[1]
        row = catalog.query(name) if isinstance(name, str) else None
        if row is None:
            raise _unknown_query(str(name))
        if revision > self._declared_at:
            # Streams and aggregates are few, and none ever changes: an older moment only knows fewer of them.
            declared = self._declared.after(catalog)
            with self._lock:
                # Another thread may know a later moment by now.
                if revision > self._declared_at:
                    self._declared, self._declared_at = declared, revision
        form = None if self._compiler.knows(row) else catalog.form(name)
        query = _accepted(self._compiler.compiled(row, self._declared, form))
        self._seen[name] = revision, query
        return query

    def is_registered(self, name: str) -> bool:
        """Whether there is a query of this name, accepted or not."""
        with self._catalog.read() as catalog:
            return isinstance(name, str) and catalog.query(name) is not None

    def refused(self, stream: str) -> list[str]:
        """The queries of a stream that ticks computed before this Weft, which does not accept them, ran it."""
        counted = [row for row in self._of(stream) if row.from_batch is not None]
        return [name for name, query in self._compiled(counted).items() if isinstance(query, RefusedQuery)]

    def queries(self, stream: str | None = None, *, failed: bool = True) -> dict[str, Registered]:
        """The queries that this Weft accepts, of a stream or of all, with or without the failed queries."""
        compiled = self._compiled([row for row in self._of(stream) if failed or row.status != FAILED])
        return {name: query for name, query in compiled.items() if isinstance(query, Registered)}

    def placements(self, stream: str) -> frozenset[Placement]:
        """The placements that queries of a stream have; nothing is compiled for that."""
        return frozenset(row.definition.placement for row in self._of(stream))

    def _compiled(self, rows: Sequence[QueryRow]) -> dict[str, Registered | RefusedQuery]:
        """The queries of these rows, compiled or refused; a query that is not known yet comes from its stored form."""
        new = [row.name for row in rows if not self._compiler.knows(row)]
        forms: dict[str, FormRow] = {}
        if new:
            with self._catalog.read() as catalog:
                forms = {form.query: form for form in catalog.forms(new)}
        return {row.name: self._compiler.compiled(row, self._declared, forms.get(row.name)) for row in rows}

    def version(self, stream: str) -> int:
        """A number that changes whenever the stream's set of queries does."""
        self._followed()
        with self._lock:
            return self._versions.get(stream, 0)

    def _of(self, stream: str | None) -> list[QueryRow]:
        self._followed()
        with self._lock:
            return [row for row in self._rows.values() if stream in (None, row.stream)]

    def _row(self, name: str) -> QueryRow:
        row = self._rows.get(name) if isinstance(name, str) else None
        if row is None:
            self.refresh()
            row = self._rows.get(name) if isinstance(name, str) else None
        if row is None:
            raise _unknown_query(str(name))
        return row


def _accepted(query: Registered | RefusedQuery) -> Registered:
    if isinstance(query, RefusedQuery):
        raise EngineError(
            "query-not-accepted",
            f"query {query.row.name!r} is registered, but this Weft does not accept it: {query.error}",
            hint="Drop it, and register it in another form.",
        )
    return query


def _unknown_query(name: str) -> EngineError:
    return EngineError(
        "unknown-query", f"there is no query {name[:200]!r}", hint="engine.queries() lists those there are."
    )
