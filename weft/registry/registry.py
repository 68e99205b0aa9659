"""What is registered: streams, queries and aggregates, in memory as in the catalog.

The catalog is the truth and the meeting point of processes; a registry follows it by its revision. Registering is
parsing and planning only: no Spark, no job, one transaction however many queries.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import define_aggregate
from weft.errors import EngineError, SqlError, StreamError, WeftError
from weft.failpoint import failpoint
from weft.feeds.streams import Stream
from weft.registry.accepted import RefusedQuery, accepted_aggregates, accepted_streams
from weft.registry.changes import Decide
from weft.registry.registered import Registered, check_readable, compiled, keep_of, keep_text, placed
from weft.store.catalog import Catalog, Reader
from weft.store.tables import FAILED, AggregateRow, QueryRow, StreamRow

log = logging.getLogger("weft.registry")

DEFAULT_KEEP = "7 days"


class Registry:
    """The registered streams, queries and aggregates; every method is safe to call from several threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.RLock()
        self._revision = -1
        self._streams: dict[str, Stream] = {}
        self._refused_streams: dict[str, WeftError] = {}
        self._queries: dict[str, Registered] = {}
        self._refused: dict[str, RefusedQuery] = {}
        self._aggregates = AggregateCatalog()
        self._refused_aggregates: dict[str, WeftError] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._versions: dict[str, int] = {}
        self.refresh()

    def refresh(self) -> None:
        """Take over what other processes changed."""
        with self._lock, self._catalog.read() as catalog:
            self.follow(catalog)

    @property
    def revision(self) -> int:
        """The revision of the catalog that this is up to."""
        with self._lock:
            return self._revision

    def follow(self, catalog: Reader) -> None:
        """Be as the catalog is in this transaction, or as it was later: whoever waited may look at an older moment."""
        with self._lock:
            revision = catalog.revision()
            if revision <= self._revision:
                return
            streams = {row.name: row.definition for row in catalog.streams()}
            self._streams, self._refused_streams = accepted_streams(streams, self._refused_streams)
            self._define({row.name: row.definition for row in catalog.aggregates()})
            rows = {row.name: row for row in catalog.queries()}
            for name in [name for name in self._queries if name not in rows]:
                self._forget(name)
            self._refused = {name: one for name, one in self._refused.items() if name in rows}
            for name, row in rows.items():
                known = self._queries.get(name)
                if known is None or not known.row.is_registration_of(row):
                    self._take_over(row)
                elif known.row.definition != row.definition:
                    self._remember(placed(replace(known, row=row)))
                elif known.row.status != row.status:
                    self._remember(replace(known, row=row))
                elif known.row != row:
                    self._queries[name] = replace(known, row=row)
            # At last: where this failed on its way, the next one begins again.
            self._revision = revision

    def stream(self, name: str) -> Stream:
        """The stream of this name."""
        with self._lock:
            if not isinstance(name, str):
                raise _unknown_stream(str(name), self._streams)
            if name in self._refused_streams:
                raise StreamError(
                    "stream-not-accepted",
                    f"stream {name!r} is there, but this Weft does not accept it: {self._refused_streams[name]}",
                    hint="Add it in another form, under another name.",
                )
            if name not in self._streams:
                raise _unknown_stream(name, self._streams)
            return self._streams[name]

    def streams(self) -> dict[str, Stream]:
        with self._lock:
            return dict(self._streams)

    def add_stream(self, stream: Stream) -> bool:
        """Keep a stream; False when the very same one is there already."""
        with self._lock:
            self.refresh()
            if self._has_stream(stream):
                return False
            with self._catalog.write() as catalog:
                # Asked again: another process may have added one of this name in between.
                self.follow(catalog)
                if self._has_stream(stream):
                    return False
                catalog.put_stream(StreamRow(name=stream.name, definition=stream.definition()))
                revision = catalog.revision()
            self._streams[stream.name] = stream
            self._changed(revision)
            return True

    def _has_stream(self, stream: Stream) -> bool:
        """Whether the very same stream is there; refuses another one of its name, or of one that SQL takes for it."""
        known = self._streams.get(stream.name)
        if known is not None or stream.name in self._refused_streams:
            if known is None or known.definition() != stream.definition():
                raise StreamError(
                    "stream-differs",
                    f"stream {stream.name!r} exists with another definition",
                    hint="Use another name, or a new state folder.",
                )
            return True
        names = (*self._streams, *self._refused_streams)
        alike = next((name for name in names if name.lower() == stream.name.lower()), None)
        if alike is not None:
            raise StreamError(
                "bad-name",
                f"stream {stream.name!r} and stream {alike!r} are one name to SQL, which knows no capitals",
                hint="Use a name that differs in more than that.",
            )
        return False

    def create_aggregate(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Keep a user-defined aggregate; False when the very same one is there already."""
        with self._lock:
            self.refresh()
            if self._has_aggregate(name, definition):
                return False
            define_aggregate(name, definition, self._aggregates)
            with self._catalog.write() as catalog:
                # Asked again: another process may have defined one of this name in between.
                self.follow(catalog)
                if self._has_aggregate(name, definition):
                    return False
                catalog.put_aggregate(AggregateRow(name=name, definition=dict(definition)))
                revision = catalog.revision()
            self._define({**self._definitions, name: dict(definition)})
            self._changed(revision)
            return True

    def _has_aggregate(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Whether the very same aggregate is there; refuses another one of its name."""
        if not isinstance(name, str) or name not in self._definitions:
            return False
        if self._definitions[name] != dict(definition):
            raise SqlError(
                "aggregate-differs",
                f"aggregate {name!r} exists with another definition",
                hint="Use another name: queries may rely on the one there is.",
            )
        if name in self._refused_aggregates:
            raise self._refused_aggregates[name]
        return True

    def register(self, texts: Mapping[str, str], keep: str = DEFAULT_KEEP, *, eager: bool = False) -> list[Registered]:
        """Keep queries by name, all or none; those that are there already with the same meaning stay as they are."""
        with self._lock:
            _check_given(texts, eager)
            self.refresh()
            kept = keep_of(keep)
            admitted = [self._admit(name, sql, kept, eager) for name, sql in texts.items()]
            fresh = [one for one in admitted if not self._has_query(one)]
            if not fresh:
                return [self._queries[name] for name in texts]
            with self._catalog.write() as catalog:
                # Asked again: another process may have registered some of them in between.
                self.follow(catalog)
                fresh = [one for one in fresh if not self._has_query(one)]
                catalog.put_queries(one.row for one in fresh)
                revision = catalog.revision()
                failpoint("register-inside")
            failpoint("register-after")
            for one in fresh:
                self._remember(one)
            registered = [self._queries[name] for name in texts]
            self._changed(revision)
            return registered

    def preview(self, sql: str, keep: str = DEFAULT_KEEP) -> Registered:
        """A query as it would be registered, without registering it."""
        with self._lock:
            self.refresh()
            kept = keep_text(keep_of(keep))
            row = QueryRow(name="", stream="", sql=sql, definition={"keep": kept, "eager": False})
            found = self._compile(row)
            check_readable(found)
            return found

    def drop(self, name: str) -> None:
        """Forget a query; what only it needed goes at the next tick."""
        with self._lock:
            if name not in self._refused:
                self.query(name)
            with self._catalog.write() as catalog:
                catalog.delete_query(name)
                revision = catalog.revision()
                failpoint("drop-inside")
            failpoint("drop-after")
            if self._refused.pop(name, None) is None:
                self._forget(name)
            self._changed(revision)

    def query(self, name: str) -> Registered:
        """The query of this name."""
        with self._lock:
            if not isinstance(name, str):
                raise _unknown_query(str(name))
            if name not in self._queries:
                self.refresh()
            if name in self._refused:
                raise EngineError(
                    "query-not-accepted",
                    f"query {name!r} is registered, but this Weft does not accept it: {self._refused[name].error}",
                    hint="Drop it, and register it in another form.",
                )
            if name not in self._queries:
                raise _unknown_query(name)
            return self._queries[name]

    def is_refused(self, name: str) -> bool:
        """Whether a query of this name is registered that this Weft does not accept."""
        with self._lock:
            return isinstance(name, str) and name in self._refused

    def refused(self, stream: str) -> list[str]:
        """The queries of a stream that ticks computed before this Weft, which does not accept them, ran it."""
        with self._lock:
            rows = (one.row for one in self._refused.values())
            return [row.name for row in rows if row.stream == stream and row.from_batch is not None]

    def queries(self, stream: str | None = None, *, failed: bool = True) -> dict[str, Registered]:
        """The queries, of one stream or all, with or without those that failed."""
        with self._lock:
            return {
                name: one
                for name, one in self._queries.items()
                if stream in (None, one.row.stream) and (failed or one.row.status != FAILED)
            }

    def change(self, decide: Decide, point: str) -> None:
        """Change queries in one transaction, by what is decided over them as they are in it; `point` is inside it."""
        with self._lock:
            with self._catalog.write() as catalog:
                self.follow(catalog)
                catalog.update_queries(decide(self._queries, catalog))
                failpoint(point)
            self.refresh()

    def version(self, stream: str) -> int:
        """A number that changes whenever the stream's set of queries does."""
        with self._lock:
            return self._versions.get(stream, 0)

    def activated(self, rows: Sequence[QueryRow], revision: int, *, alone: bool) -> None:
        """Note since which batch and from which moment on queries are complete, as the catalog has it now.

        Where others had changed the catalog since the tick was planned, its commit may have changed more than that.
        """
        with self._lock:
            if not alone:
                self.refresh()
                return
            for row in rows:
                known = self._queries.get(row.name)
                if known is not None and known.row.is_registration_of(row):
                    active = replace(
                        known.row, from_batch=row.from_batch, complete_from=row.complete_from, status=row.status
                    )
                    self._queries[row.name] = replace(known, row=active)
            if rows:
                self._changed(revision)

    def _changed(self, revision: int) -> None:
        """Note a change of its own, once it is made here; where others changed something in between, take that over."""
        if revision == self._revision + 1:
            self._revision = revision
        elif revision > self._revision:
            self.refresh()

    def _admit(self, name: str, sql: str, keep: timedelta | None, eager: bool) -> Registered:
        """The compiled query, under a name that it may have."""
        if not isinstance(name, str) or not name or len(name) > 200 or not name.isprintable():
            raise EngineError(
                "bad-name", f"{str(name)[:200]!r} cannot name a query", hint="Use 1 to 200 printable characters."
            )
        try:
            # By its mark a query is told from one that is registered under its name after it was dropped.
            definition = {"keep": keep_text(keep), "eager": eager, "mark": uuid4().hex}
            row = QueryRow(name=name, stream="", sql=sql, definition=definition)
            compiled = self._compile(row)
            check_readable(compiled)
            return compiled
        except WeftError as error:
            error.add_note(f"in query {name!r}")
            raise

    def _has_query(self, one: Registered) -> bool:
        """Whether a query of the same meaning is registered under its name; refuses one of another meaning."""
        known = self._queries.get(one.name)
        if known is None:
            return False
        if (known.query, known.keep, known.eager) != (one.query, one.keep, one.eager):
            raise EngineError(
                "query-differs",
                f"query {one.name!r} exists with another definition",
                hint="Drop it first, or use another name.",
            )
        return True

    def _compile(self, row: QueryRow) -> Registered:
        return compiled(row, {name: stream.schema for name, stream in self._streams.items()}, self._aggregates)

    def _take_over(self, row: QueryRow) -> None:
        """A query as the catalog has it; one that this Weft does not accept must not keep the others from running."""
        try:
            one = self._compile(row)
        except WeftError as error:
            if row.name not in self._refused:
                log.error("query not accepted", extra={"query": row.name, "reason": str(error)})
            if row.name in self._queries:
                self._forget(row.name)
            self._refused[row.name] = RefusedQuery(row, error)
        else:
            self._refused.pop(row.name, None)
            self._remember(one)

    def _define(self, definitions: dict[str, dict[str, Any]]) -> None:
        self._aggregates, self._refused_aggregates = accepted_aggregates(definitions, self._refused_aggregates)
        self._definitions = definitions

    def _remember(self, one: Registered) -> None:
        self._queries[one.name] = one
        self._versions[one.row.stream] = self._versions.get(one.row.stream, 0) + 1

    def _forget(self, name: str) -> None:
        stream = self._queries.pop(name).row.stream
        self._versions[stream] = self._versions.get(stream, 0) + 1


def _check_given(texts: Mapping[str, str], eager: bool) -> None:
    """Refuse what no query can be registered with; a text for `eager` would be true whatever it says."""
    if not isinstance(texts, Mapping):
        hint = 'Write for example {"packets": "SELECT count(*) FROM packets"}.'
        raise EngineError("bad-type", "queries are given by name", hint=hint)
    if not isinstance(eager, bool):
        raise EngineError("bad-type", f"eager={str(eager)[:40]!r} is no truth", hint="Say True or False.")


def _unknown_query(name: str) -> EngineError:
    return EngineError(
        "unknown-query", f"there is no query {name[:200]!r}", hint="engine.queries() lists those there are."
    )


def _unknown_stream(name: str, known: Mapping[str, Stream]) -> StreamError:
    return StreamError(
        "unknown-stream",
        f"there is no stream {name[:200]!r}",
        hint=f"Streams are: {', '.join(sorted(known)) or 'none yet'}.",
    )
