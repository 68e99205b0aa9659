"""Finishing on time: the windows that a tick closed, merged for all families in one statement each, and stored."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pyarrow as pa

from weft.algebra.expressions import Slot, walk
from weft.algebra.windows import Sliced, micros
from weft.backend.interface import Backend, Finishing, Line, Windows
from weft.backend.render import duck_sql
from weft.backend.statements import duck_identifier
from weft.errors import StateError
from weft.plan.finish import Family
from weft.plan.network import Network, Node
from weft.segments.roll import REQUEST
from weft.segments.rows import END, row_schema, stored_type
from weft.segments.types import arrow_type
from weft.store.change import Product
from weft.store.source import slice_rows
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")


def finish(
    families: Sequence[Family], network: Network, state: StreamState, before: int | None, backend: Backend
) -> list[tuple[str, Product]]:
    """Finish every window that ended after the watermark `before` and by now, into one file a family."""
    if state.watermark is None:
        return []
    products = []
    for family in families:
        node = network.by_id[family.node]
        synopsis = state.synopses[node.id]
        after = before if before is not None else _first_row(synopsis)
        lines = due_lines(family, after, state.watermark)
        if not lines:
            continue
        try:
            rows = backend.finish(finishing(family, node, synopsis, lines))
        except (OSError, StateError):
            raise
        except Exception as error:
            # A predicate may be too long to be written out: whoever reads that window is told so, and nobody else is
            # kept waiting.
            log.warning("windows not finished ahead", extra={"node": node.id, "reason": str(error)})
            continue
        layout, batch = node.layout(network), state.batch_id
        first, end = _covered_from(family, synopsis, after), state.watermark + 1
        products.append((node.id, Product(rows, layout, 0, "result", batch, batch, first, end, family.id)))
    return products


def _covered_from(family: Family, synopsis: Synopsis, after: int) -> int:
    """Tell from which end on a file of the windows that end after a moment holds all that the family asks for.

    Where nothing was due since the file before, from the end of that: files that touch have no gap between them. A tick
    whose windows were not finished, because the process died or they could not be, leaves a gap.
    """
    ends = [file.time_to for file in synopsis.finished(family.id) if file.time_to <= after + 1]
    before = max(ends, default=after + 1)
    windows = (request.window for request in family.requests)
    gap = any(window.newest_closed_end(before - 1) < window.newest_closed_end(after) for window in windows)
    return after + 1 if gap else before


def _first_row(synopsis: Synopsis) -> int:
    """Tell the start of the first row: before the first tick no window was closed, so all that end after it are due."""
    return min((file.time_from for file in synopsis.data), default=0)


def due_lines(family: Family, after: int, watermark: int) -> tuple[Line, ...]:
    """List the requests of a family that have a window due, each with its windows and constants."""
    lines: list[Line] = []
    kinds: dict[Sliced, int] = {}
    for request in family.requests:
        length, slide = micros(request.window.range), micros(request.window.slide)
        first, last = (request.window.newest_closed_end(moment) for moment in (after, watermark))
        if first < last:
            kind = kinds.setdefault(request.window, len(kinds))
            constants = tuple(constant.value for constant in request.constants)
            lines.append(Line(request.id, kind, Windows(first + slide, last, length, slide), constants))
    return tuple(lines)


def finishing(family: Family, node: Node, synopsis: Synopsis, lines: tuple[Line, ...]) -> Finishing:
    """The due windows of a family, over the slices that any of them holds."""
    longest = max(line.windows.length for line in lines)
    first, last = min(line.windows.first for line in lines), max(line.windows.last for line in lines)
    columns = [
        *(dimension.name for dimension in node.dimensions),
        *(statistic.name for statistic in node.statistics),
    ]
    rows = slice_rows(synopsis, columns, row_schema(node.dimensions, node.statistics), first - longest, last)
    constants = tuple(constant.type for constant in family.requests[0].constants)
    return Finishing(
        rows,
        lines,
        constants,
        _condition(family, len(constants)),
        family.keys,
        node.statistics,
        _schema(family, node),
        tuple(request.id for request in family.requests),
    )


def _condition(family: Family, constants: int) -> str:
    """Say which rows count for which request: the family's predicate, its constants from the table of requests."""
    if family.condition is None:
        return "true"
    lifted = {f"p{index}" for index in range(constants)}
    names = {slot.name for slot in walk(family.condition) if isinstance(slot, Slot)}
    slots = {name: f"requests.{name}" if name in lifted else duck_identifier(name) for name in names}
    return duck_sql(family.condition, slots)


def _schema(family: Family, node: Node) -> pa.Schema:
    types = {dimension.name: arrow_type(dimension.type) for dimension in node.dimensions}
    return pa.schema(
        [
            (REQUEST, pa.string()),
            (END, pa.int64()),
            *((key, types[key]) for key in family.keys),
            *((statistic.name, stored_type(statistic)) for statistic in node.statistics),
        ]
    )
