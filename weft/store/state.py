"""The committed state of a stream at a moment: an immutable picture that readers hold while ticks go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from weft.algebra.windows import Clock, Window
from weft.plan.layout import Held, Layout
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.catalog import Snapshot
from weft.store.kept import NOTHING_KEPT, KeptRows, is_of_rows
from weft.store.records import NodeRow, PlanRow


@dataclass(frozen=True)
class Synopsis:
    """The stored partial rows of a node."""

    node: NodeRow
    files: tuple[SegmentRow, ...]

    @cached_property
    def unit(self) -> int:
        """The span of a block of level zero, fixed when the node was made so that all its blocks align."""
        return int(self.node.definition["unit"])

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """For each level above the slices, the moment from which its blocks are there."""
        return tuple(self.node.definition["heights"])

    @property
    def clock(self) -> Clock:
        return Clock.TICKS if self.node.definition["running"] else Clock.EVENT_TIME

    @property
    def fed(self) -> bool:
        """Whether ticks still add to the node; any other is there for windows from before a query moved."""
        return bool(self.node.definition.get("fed", True))

    @property
    def complete_from(self) -> int:
        return EARLIEST if self.node.complete_from is None else self.node.complete_from

    @cached_property
    def dimensions(self) -> frozenset[str]:
        return frozenset(self.node.definition["dimensions"])

    @cached_property
    def data(self) -> tuple[SegmentRow, ...]:
        """The files of partial rows: neither counts of late rows nor finished windows."""
        return tuple(file for file in self.files if file.kind in ("tick", "block"))

    def finished(self, family: str) -> Iterator[SegmentRow]:
        """The files of a family's finished windows."""
        return (file for file in self.files if file.kind == "result" and file.family == family)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.data)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class StreamState:
    """The newest committed tick of a stream and the files that were visible with it."""

    stream: str
    batch_id: int = -1
    checkpoint: str = ""
    watermark: int | None = None
    max_event_time: int | None = None
    totals: Mapping[str, Any] = field(default_factory=dict)
    synopses: Mapping[str, Synopsis] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    # The plan that its newest tick was computed by; None before the first, and before there were versions.
    plan: PlanRow | None = None
    kept: KeptRows = NOTHING_KEPT

    @property
    def plan_version(self) -> int:
        return 0 if self.plan is None else self.plan.version

    @cached_property
    def drops(self) -> tuple[tuple[frozenset[str], int], ...]:
        """For sets of kinds of windows, the moment up to which late rows were dropped that none of them could use."""
        return tuple((frozenset(kinds), int(end)) for kinds, end in self.totals.get("drops", ()))

    @cached_property
    def files_mark(self) -> tuple[int, int]:
        """The newest of its files and how many there are, as Snapshot.files_mark has it."""
        files = [file.id or 0 for synopsis in self.synopses.values() for file in synopsis.files]
        files += [file.id or 0 for file in self.kept.files]
        return max(files, default=0), len(files)

    @property
    def has_ledgers(self) -> bool:
        """Whether any late row is counted."""
        return any(file.kind == "late" for synopsis in self.synopses.values() for file in synopsis.files)

    def dropped_until(self, window: Window) -> int:
        """Before this moment, rows may be missing that windows of this kind would have counted."""
        own = frozenset(map(str, window.as_sliced()))
        return max((end for kinds, end in self.drops if own and not own <= kinds), default=EARLIEST)

    @property
    def dropped(self) -> int:
        """Before this moment, late rows were dropped that some kind of window would have counted."""
        return max((end for _, end in self.drops), default=EARLIEST)

    def held(self, synopsis: Synopsis) -> tuple[Held, ...]:
        """The node's files as planning sees them."""
        return tuple(Held(self.layouts[file.layout], file.time_to) for file in synopsis.data)

    def within(self, synopsis: Synopsis, since: int, until: int | None) -> Synopsis:
        """The node with only the files whose epoch is in a span."""

        def inside(file: SegmentRow) -> bool:
            epoch = self.layouts[file.layout].epoch
            return epoch >= since and (until is None or epoch < until)

        return replace(synopsis, files=tuple(file for file in synopsis.files if inside(file)))

    def without_unused_layouts(self) -> StreamState:
        """Return the state without the layouts whose last file is gone."""
        used = {file.layout for synopsis in self.synopses.values() for file in synopsis.files}
        return replace(self, layouts={name: layout for name, layout in self.layouts.items() if name in used})


def load_state(stream: str, catalog: Snapshot) -> StreamState:
    """The state that the catalog holds now; call it inside a read transaction."""
    tick = catalog.tick(stream)
    files: dict[str, list[SegmentRow]] = {}
    for segment in catalog.segments(stream=stream):
        files.setdefault(segment.node, []).append(segment)
    nodes = catalog.nodes(stream)
    synopses = {row.id: Synopsis(row, tuple(files.get(row.id, ()))) for row in nodes if not is_of_rows(row)}
    kept = next((KeptRows(row, tuple(files.get(row.id, ()))) for row in nodes if is_of_rows(row)), NOTHING_KEPT)
    used = {segment.layout for rows in files.values() for segment in rows}
    layouts = {row.id: Layout.from_definition(row.definition) for row in catalog.layouts() if row.id in used}
    if tick is None:
        return StreamState(stream, synopses=synopses, layouts=layouts, kept=kept)
    return StreamState(
        stream,
        tick.batch_id,
        tick.checkpoint,
        tick.watermark,
        tick.max_event_time,
        tick.totals,
        synopses,
        layouts,
        next(iter(reversed(catalog.plans(stream))), None),
        kept,
    )
