"""The kept rows of a stream as a committed state has them: whole rows, in files of their own, beside all partial rows.

A file of kept rows is a segment of kind "rows", of a node whose definition is of kind "rows" too. So all that holds for
segments holds for it: it becomes visible with its tick, is summed, checked, leased and swept like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.segments.row_files import RowFile
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


def node_of_rows(stream: str) -> str:
    """The name of the node of a stream's kept rows.

    >>> node_of_rows("packets"), folder_of_rows("packets")
    ('rows_packets', 'packets/rows_packets')
    """
    return f"{ROWS}_{stream}"


def folder_of_rows(stream: str) -> str:
    """Where the files of a stream's kept rows are."""
    return f"{stream}/{node_of_rows(stream)}"


def kept_node(stream: str, batch: int, complete_from: int | None) -> NodeRow:
    """The node of the rows of a stream that are kept from a batch on."""
    return NodeRow(
        id=node_of_rows(stream),
        stream=stream,
        definition={"kind": ROWS},
        created_batch=batch,
        complete_from=complete_from,
    )


def first_kept(stream: str, batch: int, seen: int | None) -> NodeRow:
    """The node of the rows of a stream that keeps them from a batch on; `seen` is the newest moment before it.

    Rows that came before are gone, so only from the moment after them are all rows there.
    """
    return kept_node(stream, batch, None if seen is None else seen + 1)


def kept_segment(node: str, file: RowFile, first: int, last: int, plan: int) -> SegmentRow:
    """A file of rows that a span of batches brought, as the catalog knows it."""
    return SegmentRow(
        node=node,
        layout="",
        path=file.path,
        kind=ROWS,
        rank=file.rank,
        batch_from=first,
        batch_to=last,
        time_from=file.least,
        time_to=file.greatest + 1,
        rows=file.rows,
        bytes=file.bytes,
        checksum=file.checksum,
        plan=plan,
    )
