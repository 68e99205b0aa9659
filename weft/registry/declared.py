"""What queries may name: the streams and aggregates of the catalog, as far as this Weft accepts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.schema import FeedSchema
from weft.errors import SqlError, StreamError, WeftError
from weft.feeds.feed import Feed
from weft.feeds.streams import Stream
from weft.registry.accepted import accepted_aggregates, accepted_streams
from weft.store.snapshot import Snapshot


@dataclass(frozen=True)
class Declared:
    """The streams and aggregates at a revision of the catalog, accepted by this Weft or refused."""

    streams: Mapping[str, Stream] = field(default_factory=dict)
    refused_streams: Mapping[str, WeftError] = field(default_factory=dict)
    aggregates: AggregateCatalog = field(default_factory=AggregateCatalog)
    refused_aggregates: Mapping[str, WeftError] = field(default_factory=dict)
    # Where the state is, if that is local: relative paths of streams begin there.
    folder: str | None = None
    # The aggregates as their users wrote them.
    definitions: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def after(self, catalog: Snapshot) -> Declared:
        """What the catalog declares now; a refusal that was logged before is not logged again."""
        definitions = {row.name: row.definition for row in catalog.streams()}
        streams, refused_streams = accepted_streams(definitions, self.refused_streams, self.folder)
        definitions = {row.name: row.definition for row in catalog.aggregates()}
        aggregates, refused = accepted_aggregates(definitions, self.refused_aggregates)
        return Declared(streams, refused_streams, aggregates, refused, self.folder, definitions)

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """What queries may stand on."""
        return self.streams

    @cached_property
    def schemas(self) -> Mapping[str, FeedSchema]:
        return {name: feed.schema for name, feed in self.feeds.items()}

    def stream(self, name: str) -> Stream:
        """The stream of this name."""
        if isinstance(name, str) and name in self.refused_streams:
            raise StreamError(
                "stream-not-accepted",
                f"stream {name!r} is there, but this Weft does not accept it: {self.refused_streams[name]}",
                hint="Add it in another form, under another name.",
            )
        if not isinstance(name, str) or name not in self.streams:
            raise StreamError(
                "unknown-stream",
                f"there is no stream {str(name)[:200]!r}",
                hint=f"Streams are: {', '.join(sorted(self.streams)) or 'none yet'}.",
            )
        return self.streams[name]

    def has_stream(self, stream: Stream) -> bool:
        """Whether the very same stream is there; refuses another stream under a name that SQL takes for its name."""
        known = self.streams.get(stream.name)
        if known is not None or stream.name in self.refused_streams:
            if known is None or known.definition() != stream.definition():
                differs = "" if known is None else f": {known.differences(stream)}"
                raise StreamError(
                    "stream-differs",
                    f"stream {stream.name!r} exists with another definition{differs}",
                    hint="Use another name, or a new state folder.",
                )
            return True
        names = (*self.streams, *self.refused_streams)
        alike = next((name for name in names if name.lower() == stream.name.lower()), None)
        if alike is not None:
            raise StreamError(
                "bad-name",
                f"stream {stream.name!r} and stream {alike!r} are one name to SQL, which knows no capitals",
                hint="Use a name that differs in more than that.",
            )
        return False

    def has_aggregate(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Whether the very same aggregate is there; refuses another aggregate of its name."""
        if not isinstance(name, str) or name not in self.definitions:
            return False
        if self.definitions[name] != dict(definition):
            raise SqlError(
                "aggregate-differs",
                f"aggregate {name!r} exists with another definition",
                hint="Use another name: queries may rely on the one there is.",
            )
        if name in self.refused_aggregates:
            raise self.refused_aggregates[name]
        return True
