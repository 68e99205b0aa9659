"""The registry: what is registered is changed here, in the catalog and in memory.

The catalog is the truth and the meeting point of processes; a registry follows it by its revision. Registering is
parsing and planning only: no Spark, no job, a single transaction however many queries. What is registered is
asked for in weft/registry/known.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.aggregates.userdefined import define_aggregate
from weft.errors import EngineError
from weft.failpoint import failpoint
from weft.feeds.streams import Stream
from weft.registry.admission import QueryOptions, admit_queries, check_texts, preview_query, query_options
from weft.registry.changes import Decide, kept_otherwise
from weft.registry.compiler import form_of, is_usable
from weft.registry.known import KnownRegistrations
from weft.registry.registered import Registered
from weft.registry.turns import short_turns
from weft.sql.ddl import Duration
from weft.store.catalog import Catalog
from weft.store.records import AggregateRow, QueryRow, StreamRow


class Registry(KnownRegistrations):
    """The registered streams, queries and aggregates; every method is safe to call from several threads."""

    def __init__(self, catalog: Catalog, folder: str | None = None) -> None:
        """`folder` is where the state is, if that is local: relative paths of streams begin there."""
        super().__init__(catalog, folder)
        # Whoever changes what is registered does so alone, transaction and all.
        self._changing = threading.RLock()

    # Streams and aggregates

    def add_stream(self, stream: Stream) -> bool:
        """Keep a stream; False when the very same stream is there already."""
        with self._changing:
            self.refresh()
            if self._declared.has_stream(stream) and not self._adds_to(stream):
                return False
            with self._catalog.write() as catalog:
                # Asked again: another process may have added a stream of this name in between.
                self.follow(catalog)
                known = self._declared.has_stream(stream)
                if known and not self._adds_to(stream):
                    return False
                stored = self._with_more(stream) if known else stream
                catalog.put_stream(StreamRow(name=stream.name, definition=stored.stored()))
            self.refresh()
            return not known

    def _adds_to(self, stream: Stream) -> bool:
        """Whether this declaration says more of a known stream: columns of other types, a relative path, retention."""
        return self._with_more(stream) is not self._declared.streams[stream.name]

    def _with_more(self, stream: Stream) -> Stream:
        """The known stream with what this declaration says more; the known stream itself where that is nothing."""
        known = self._declared.streams[stream.name]
        retain = known.retain if stream.retain is None else stream.retain
        if known.unusable != stream.unusable or (stream.kept_path is not None and known.kept_path is None):
            return replace(stream, retain=retain)
        return known if retain == known.retain else replace(known, retain=retain)

    def note_path(self, name: str) -> Stream:
        """Keep that Spark's notes know the files of a stream under their present path."""
        with self._changing:
            noted = replace(self.stream(name), noted_path=self.stream(name).path)
            with self._catalog.write() as catalog:
                self.follow(catalog)
                catalog.put_stream(StreamRow(name=name, definition=noted.stored()))
            self.refresh()
            return noted

    def create_aggregate(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Keep a user-defined aggregate; False when the very same aggregate is there already."""
        with self._changing:
            self.refresh()
            if self._declared.has_aggregate(name, definition):
                return False
            define_aggregate(name, definition, self._declared.aggregates)
            with self._catalog.write() as catalog:
                # Asked again: another process may have defined an aggregate of this name in between.
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
        """Keep queries by name, all or none; a query that is there with the same meaning takes over the options.

        An option that is left out, `keep` or `eager`, stays as it is.
        """
        check_texts(texts)
        options = query_options(keep, eager)
        with short_turns(len(texts)):
            self.refresh()
            admitted = admit_queries(texts, options, self._declared)
            with self._changing:
                fresh = [query for query in admitted if not self._has_query(query)]
                if fresh or self._changed_by_options(texts, options):
                    self._store_queries(fresh, texts, options)
            return [self.query(name) for name in texts]

    def _store_queries(self, fresh: list[Registered], names: Iterable[str], options: QueryOptions) -> None:
        with self._catalog.write() as catalog:
            # Asked again: another process may have registered queries of these names in between.
            self.follow(catalog)
            fresh = [query for query in fresh if not self._has_query(query)]
            others = self._changed_by_options(names, options)
            catalog.put_queries(query.row for query in fresh)
            catalog.put_forms(map(form_of, fresh))
            definitions = {query.name: options.applied_to(query.row.definition) for query in others}
            catalog.update_queries(
                {query.name: kept_otherwise(query, definitions[query.name], catalog) for query in others}
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

    def _changed_by_options(self, names: Iterable[str], options: QueryOptions) -> list[Registered]:
        """The registered queries of these names whose definition the options change."""
        rows = [self._rows[name] for name in names if name in self._rows]
        known = self._compiled([row for row in rows if options.applied_to(row.definition) != row.definition])
        return [query for query in known.values() if isinstance(query, Registered)]

    def _has_query(self, query: Registered) -> bool:
        """Whether a query of the same meaning is registered under its name; refuses a query of another meaning."""
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
        return preview_query(sql, self._declared)

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
        """Change queries as `decide` says of them, in a transaction; the failpoint `point` is inside it."""
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

    def store_forms(self, stream: str) -> None:
        """Store what compiling yields of the queries of a stream whose stored forms cannot be read any more."""
        queries = self.queries(stream)
        with self._catalog.read() as catalog:
            current = {form.query for form in catalog.forms(queries) if is_usable(form, queries[form.query].row)}
        if queries.keys() - current:
            with self._catalog.write() as catalog:
                there = {row.name for row in catalog.queries(stream=stream)}
                catalog.put_forms(form_of(query) for name, query in queries.items() if name in there - current)

    def _changed(self, revision: int) -> None:
        """Note a change that this registry made; where other processes changed something in between, take that over."""
        with self._lock:
            own = revision == self._revision + 1
            if own:
                self._revision = revision
        if not own and revision > self._revision:
            self.refresh()
