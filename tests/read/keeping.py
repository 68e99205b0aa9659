"""Streams whose rows are kept, fed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

import weft
import weft.testing


def feed_and_keep(engine: weft.Engine, stream: str, rows: list[dict[str, Any]] | pa.Table) -> None:
    """Run a tick over these rows, which are kept, as those of every later tick are."""
    declared = engine.registry.stream(stream)
    if declared.retain is None:
        engine.registry.add_stream(replace(declared, retain="forever"))
    weft.testing.feed(engine, stream, rows)
