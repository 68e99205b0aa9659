"""What is registered: streams, queries and aggregates, in memory as in the catalog.

The catalog is the truth and the meeting point of processes; a registry follows it by its revision. Registering is
parsing and planning only: no Spark, no job, one transaction however many queries. A query is compiled when somebody
needs it; neither compiling nor a transaction happens under the lock that readers and ticks take.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from weft.aggregates.userdefined import define_aggregate
from weft.errors import EngineError, WeftError
from weft.failpoint import failpoint
from weft.feeds.feed import Feed
from weft.feeds.streams import Stream
from weft.registry.changes import Decide, kept_otherwise
from weft.registry.compiler import QueryCompiler, RefusedQuery, compile_row, form_of, is_usable
from weft.registry.declared import Declared
from weft.registry.registered import Registered, check_readable
from weft.sql.ddl import Duration
from weft.store.catalog import Catalog, Reader
from weft.store.definition import QueryDefinition, parse_keep
from weft.store.tables import FAILED, AggregateRow, FormRow, QueryRow, StreamRow

DEFAULT_KEEP = "7 days"


class Registry:
    """The registered streams, queries and aggregates; every method is safe to call from several threads."""

    def __init__(self, catalog: Catalog, folder: str | None = None) -> None:
        """`folder` is where the state is, if that is local: relative paths of streams begin there."""
        self._catalog = catalog
        # Who changes what is registered does so alone, transaction and all; the other lock is held for moments only.
        self._changing, self._lock = threading.RLock(), threading.RLock()
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

    def follow(self, catalog: Reader) -> None:
        """Be as the catalog is in this transaction, or as it was later: whoever waited may look at an older moment."""
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
        """Whether a plan that was made with the one row may not hold with the other."""
        if known is None or not known.is_registration_of(row):
            return True
        return known.definition != row.definition or known.status != row.status

    def _followed(self) -> None:
        if self._revision < 0:
            self.refresh()

    def _changed(self, revision: int) -> None:
        """Note a change of its own, once it is made here; where others changed something in between, take that over."""
        with self._lock:
            own = revision == self._revision + 1
            if own:
                self._revision = revision
        if not own and revision > self._revision:
            self.refresh()

    # Streams and aggregates

    def stream(self, name: str) -> Stream:
        """The stream of this name."""
        self._followed()
        return self._declared.stream(name)

    def feed(self, name: str) -> Feed:
        """The feed of this name; every feed is a stream so far."""
        return self.stream(name)

    def streams(self) -> dict[str, Stream]:
        self._followed()
        return dict(self._declared.streams)

    def add_stream(self, stream: Stream) -> bool:
        """Keep a stream; False when the very same one is there already."""
        with self._changing:
            self.refresh()
            if self._declared.has_stream(stream) and not self._adds_to(stream):
                return False
            with self._catalog.write() as catalog:
                # Asked again: another process may have added one of this name in between.
                self.follow(catalog)
                known = self._declared.has_stream(stream)
                if known and not self._adds_to(stream):
                    return False
                catalog.put_stream(StreamRow(name=stream.name, definition=stream.stored()))
            self.refresh()
            return not known

    def _adds_to(self, stream: Stream) -> bool:
        """Whether more is said of a known stream now: columns of other types, or a path that is relative."""
        known = self._declared.streams[stream.name]
        return known.unusable != stream.unusable or (stream.kept_path is not None and known.kept_path is None)

    def note_path(self, name: str) -> Stream:
        """Keep that Spark's notes have the files of a stream where they are now."""
        with self._changing:
            noted = replace(self.stream(name), noted_path=self.stream(name).path)
            with self._catalog.write() as catalog:
                self.follow(catalog)
                catalog.put_stream(StreamRow(name=name, definition=noted.stored()))
            self.refresh()
            return noted

    def create_aggregate(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Keep a user-defined aggregate; False when the very same one is there already."""
        with self._changing:
            self.refresh()
            if self._declared.has_aggregate(name, definition):
                return False
            define_aggregate(name, definition, self._declared.aggregates)
            with self._catalog.write() as catalog:
                # Asked again: another process may have defined one of this name in between.
                self.follow(catalog)
                if self._declared.has_aggregate(name, definition):
                    return False
                catalog.put_aggregate(AggregateRow(name=name, definition=dict(definition)))
            self.refresh()
            return True

    # Registering

    def register(
        self, texts: Mapping[str, str], keep: Duration | None = None, *, eager: bool | None = None
    ) -> list[Registered]:
        """Keep queries by name, all or none; those that are there with the same meaning are kept as is said now.

        What is not said of them, how long or how, stays as it is.
        """
        _check_given(texts, eager)
        said = Said(keep is not None, None if keep is None else parse_keep(keep), eager)
        self.refresh()
        declared = self._declared
        admitted = [_admitted(name, sql, said, declared) for name, sql in texts.items()]
        with self._changing:
            fresh = [query for query in admitted if not self._has_query(query)]
            if fresh or self._kept_otherwise(texts, said):
                self._keep(fresh, texts, said)
        return [self.query(name) for name in texts]

    def _keep(self, fresh: list[Registered], names: Iterable[str], said: Said) -> None:
        with self._catalog.write() as catalog:
            # Asked again: another process may have registered some of them in between.
            self.follow(catalog)
            fresh = [query for query in fresh if not self._has_query(query)]
            others = self._kept_otherwise(names, said)
            catalog.put_queries(query.row for query in fresh)
            catalog.put_forms(map(form_of, fresh))
            catalog.update_queries(
                {query.name: kept_otherwise(query, said.of(query.row.definition), catalog) for query in others}
            )
            revision = catalog.revision()
            failpoint("register-inside")
        failpoint("register-after")
        if others:
            self.refresh()
        for query in fresh:
            self._compiler.put(query)
        with self._lock:
            for query in fresh:
                self._rows[query.name] = query.row
                self._versions[query.row.stream] = self._versions.get(query.row.stream, 0) + 1
        self._changed(revision)

    def _kept_otherwise(self, names: Iterable[str], said: Said) -> list[Registered]:
        """The queries that are registered, and kept in another way than is said now."""
        rows = [self._rows[name] for name in names if name in self._rows]
        known = self._compiled([row for row in rows if said.of(row.definition) != row.definition])
        return [query for query in known.values() if isinstance(query, Registered)]

    def _has_query(self, query: Registered) -> bool:
        """Whether a query of the same meaning is registered under its name; refuses one of another meaning."""
        row = self._rows.get(query.name)
        if row is None:
            return False
        known = self._compiled([row])[row.name]
        if not isinstance(known, Registered) or known.query != query.query:
            raise EngineError(
                "query-differs",
                f"query {query.name!r} exists with another meaning: {' '.join(row.sql.split())[:200]}",
                hint="Use another name, or drop it first, and its history with it. Only keep and eager can be changed.",
            )
        return True

    def preview(self, sql: str) -> Registered:
        """A query as it would be registered, without registering it."""
        self.refresh()
        row = QueryRow(name="", stream="", sql=sql, definition=QueryDefinition(parse_keep(DEFAULT_KEEP)))
        query = compile_row(row, self._declared)
        check_readable(query)
        return query

    def drop(self, name: str) -> None:
        """Forget a query; what only it needed goes at the next tick."""
        with self._changing:
            self.refresh()
            row = self._row(name)
            with self._catalog.write() as catalog:
                catalog.delete_query(name)
                revision = catalog.revision()
                failpoint("drop-inside")
            failpoint("drop-after")
            with self._lock:
                if self._rows.pop(name, None) is not None:
                    self._versions[row.stream] = self._versions.get(row.stream, 0) + 1
            self._compiler.forget([name])
            self._changed(revision)

    def change(self, decide: Decide, point: str) -> None:
        """Change queries in one transaction, by what is decided over them as they are in it; `point` is inside it."""
        with self._changing:
            with self._catalog.write() as catalog:
                self.follow(catalog)
                catalog.update_queries(decide(self._rows, catalog))
                failpoint(point)
            self.refresh()

    def activated(self, rows: Sequence[QueryRow], revision: int, *, alone: bool) -> None:
        """Note since which batch and from which moment on queries are complete, as the catalog has it now.

        Where others had changed the catalog since the tick was planned, its commit may have changed more than that.
        """
        if not alone:
            self.refresh()
            return
        with self._lock:
            for row in rows:
                known = self._rows.get(row.name)
                if known is not None and known.is_registration_of(row):
                    self._rows[row.name] = replace(
                        known, from_batch=row.from_batch, complete_from=row.complete_from, status=row.status
                    )
        if rows:
            self._changed(revision)

    # Asking

    def accepted_names(self, stream: str | None = None) -> list[str]:
        """The names of the queries that this Weft accepts, of one stream or all."""
        return list(self.queries(stream))

    def stream_of(self, name: str) -> str | None:
        """The stream of a query as far as that is known without asking the catalog."""
        row = self._rows.get(name) if isinstance(name, str) else None
        return row.stream if row is not None else self._compiler.stream_of(name)

    def query(self, name: str) -> Registered:
        """The query of this name."""
        row = self._row(name)
        return _accepted(self._compiled([row])[name])

    def read(self, name: str, catalog: Reader) -> Registered:
        """The query of this name as one transaction sees it; only its own row is looked at, and once a revision."""
        revision = catalog.revision()
        seen = self._seen.get(name) if isinstance(name, str) else None
        if seen is not None and seen[0] == revision:
            return seen[1]
        row = catalog.query(name) if isinstance(name, str) else None
        if row is None:
            raise _unknown_query(str(name))
        if revision > self._declared_at:
            # Streams and aggregates are few, and none ever changes: an older moment only knows fewer of them.
            self._declared, self._declared_at = self._declared.after(catalog), revision
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
        """The queries that this Weft accepts, of one stream or all, with or without those that failed."""
        compiled = self._compiled([row for row in self._of(stream) if failed or row.status != FAILED])
        return {name: query for name, query in compiled.items() if isinstance(query, Registered)}

    def store_forms(self, stream: str) -> None:
        """Store what compiling yields of the queries of a stream whose stored forms cannot be read any more."""
        queries = self.queries(stream)
        with self._catalog.read() as catalog:
            current = {form.query for form in catalog.forms(queries) if is_usable(form, queries[form.query].row)}
        if queries.keys() - current:
            with self._catalog.write() as catalog:
                there = {row.name for row in catalog.queries(stream=stream)}
                catalog.put_forms(form_of(query) for name, query in queries.items() if name in there - current)

    def _compiled(self, rows: Sequence[QueryRow]) -> dict[str, Registered | RefusedQuery]:
        """These queries, each compiled or refused; those that are not known yet from their stored forms."""
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


@dataclass(frozen=True)
class Said:
    """What is said about how queries are kept; what is not said stays as it is."""

    says_keep: bool = False
    keep: timedelta | None = None
    eager: bool | None = None

    def of(self, definition: QueryDefinition) -> QueryDefinition:
        """A definition as it is with what is said."""
        return replace(
            definition,
            keep=self.keep if self.says_keep else definition.keep,
            eager=definition.eager if self.eager is None else self.eager,
        )


def _admitted(name: str, sql: str, said: Said, declared: Declared) -> Registered:
    """The compiled query, under a name that it may have."""
    if not isinstance(name, str) or not name or len(name) > 200 or not name.isprintable():
        raise EngineError(
            "bad-name", f"{str(name)[:200]!r} cannot name a query", hint="Use 1 to 200 printable characters."
        )
    try:
        # By its mark a query is told from one that is registered under its name after it was dropped.
        definition = said.of(QueryDefinition(parse_keep(DEFAULT_KEEP), mark=uuid4().hex))
        query = compile_row(QueryRow(name=name, stream="", sql=sql, definition=definition), declared)
        check_readable(query)
        return query
    except WeftError as error:
        error.add_note(f"in query {name!r}")
        raise


def _check_given(texts: Mapping[str, str], eager: bool | None) -> None:
    """Refuse what no query can be registered with; a text for `eager` would be true whatever it says."""
    if not isinstance(texts, Mapping):
        hint = 'Write for example {"packets": "SELECT count(*) FROM packets"}.'
        raise EngineError("bad-type", "queries are given by name", hint=hint)
    if not isinstance(eager, bool | None):
        raise EngineError("bad-type", f"eager={str(eager)[:40]!r} is no truth", hint="Say True or False.")


def _unknown_query(name: str) -> EngineError:
    return EngineError(
        "unknown-query", f"there is no query {name[:200]!r}", hint="engine.queries() lists those there are."
    )
