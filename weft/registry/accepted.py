"""What of the catalog this Weft accepts. The rest, as after an upgrade that closed a door, is left where it is.

Keeps: what is refused is said once, and keeps nothing from running that does not use it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import define_aggregate
from weft.errors import WeftError
from weft.feeds.streams import Stream
from weft.store.tables import QueryRow

log = logging.getLogger("weft.registry")

Definitions = Mapping[str, dict[str, Any]]
Refusals = dict[str, WeftError]


@dataclass(frozen=True)
class RefusedQuery:
    """A query that the catalog holds and this Weft does not accept, and why."""

    row: QueryRow
    error: WeftError


def accepted_streams(definitions: Definitions, said: Collection[str]) -> tuple[dict[str, Stream], Refusals]:
    """The streams, and those that are refused; who is among `said` was refused before."""
    streams: dict[str, Stream] = {}
    refused: Refusals = {}
    for name, definition in definitions.items():
        try:
            streams[name] = Stream.from_definition(name, definition)
        except WeftError as error:
            refused[name] = error
            if name not in said:
                log.error("stream not accepted", extra={"stream": name, "reason": str(error)})
    return streams, refused


def accepted_aggregates(definitions: Definitions, said: Collection[str]) -> tuple[AggregateCatalog, Refusals]:
    """The aggregates, and those that are refused; who is among `said` was refused before."""
    aggregates = AggregateCatalog()
    refused: Refusals = {}
    for name, definition in definitions.items():
        try:
            aggregates = aggregates.plus(define_aggregate(name, definition, aggregates))
        except WeftError as error:
            refused[name] = error
            if name not in said:
                log.error("aggregate not accepted", extra={"aggregate": name, "reason": str(error)})
    return aggregates, refused
