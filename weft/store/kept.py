"""The kept rows of a stream as a committed state has them: whole rows, in files of their own, beside all partial rows.

A file of kept rows is a segment of kind "rows", of a node whose definition is of kind "rows" too. So all that holds for
segments holds for it: it becomes visible with its tick, is summed, checked, leased and swept like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.segments.segment import EARLIEST, LATEST, SegmentRow
from weft.store.records import NodeRow

ROWS = "rows"
"""The kind of the files of kept rows, and of the node that they belong to."""


@dataclass(frozen=True)
class KeptRows:
    """The rows of a stream that are kept; none where nothing is."""

    node: NodeRow | None = None
    files: tuple[SegmentRow, ...] = ()

    @property
    def since(self) -> int:
        """The moment from which on all rows of the stream are here; LATEST where nothing is kept."""
        if self.node is None:
            return LATEST
        return EARLIEST if self.node.complete_from is None else self.node.complete_from

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


NOTHING_KEPT = KeptRows()


def is_of_rows(node: NodeRow) -> bool:
    """Whether a node is the kept rows of a stream, and no partial rows."""
    return node.definition.get("kind") == ROWS


def kept_node(stream: str, batch: int, complete_from: int | None, definition: Mapping[str, Any]) -> NodeRow:
    """The node of the kept rows of a stream, as of the batch from which on they are kept."""
    return NodeRow(
        id=f"{ROWS}_{stream}",
        stream=stream,
        definition={"kind": ROWS, **definition},
        created_batch=batch,
        complete_from=complete_from,
    )
