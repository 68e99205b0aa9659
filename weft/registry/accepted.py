"""What of the catalog this Weft accepts. The rest, as after an upgrade that closed a door, is left where it is.

Keeps: a refusal is logged once, and keeps nothing from running that does not use what is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import define_aggregate
from weft.errors import WeftError
from weft.feeds.streams import Stream

log = logging.getLogger("weft.registry")

Definitions = Mapping[str, dict[str, Any]]
Refusals = dict[str, WeftError]


def accepted_streams(
    definitions: Definitions, refused_before: Collection[str], folder: str | None
) -> tuple[dict[str, Stream], Refusals]:
    """The accepted streams and the refused; a refusal is logged unless its name is in `refused_before`."""
    streams: dict[str, Stream] = {}
    refused: Refusals = {}
    for name, definition in definitions.items():
        try:
            streams[name] = Stream.from_definition(name, definition, folder)
        except WeftError as error:
            refused[name] = error
            if name not in refused_before:
                log.error("stream not accepted", extra={"stream": name, "reason": str(error)})
    return streams, refused


def accepted_aggregates(definitions: Definitions, refused_before: Collection[str]) -> tuple[AggregateCatalog, Refusals]:
    """The accepted aggregates and the refused; a refusal is logged unless its name is in `refused_before`."""
    aggregates = AggregateCatalog()
    refused: Refusals = {}
    for name, definition in definitions.items():
        try:
            aggregates = aggregates.plus(define_aggregate(name, definition, aggregates))
        except WeftError as error:
            refused[name] = error
            if name not in refused_before:
                log.error("aggregate not accepted", extra={"aggregate": name, "reason": str(error)})
    return aggregates, refused
