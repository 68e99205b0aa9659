"""Finishing on time: the windows that a tick closed, merged for all families in one statement each, and stored.

Slices are few and rows many: which slices belong to which windows is worked out first, on the slices alone, and rows
then meet their windows in a hash join.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.statistics import Statistic
from weft.algebra.expressions import Slot, walk
from weft.algebra.windows import Window, micros
from weft.backend.duck import Duck
from weft.backend.merge import merge_sql, quoted
from weft.backend.render import duck_sql
from weft.errors import SqlError
from weft.plan.finish import Family
from weft.plan.network import Network, Node
from weft.segments.cache import TableCache
from weft.segments.roll import REQUEST, roll_of, with_roll
from weft.segments.rows import LATE, ON_TIME, START, row_schema, stored_type
from weft.segments.types import arrow_type
from weft.store.seal import Product
from weft.store.source import END, Source, exploded, slice_rows
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")


def finish(
    families: Sequence[Family], network: Network, state: StreamState, before: int | None, duck: Duck, cache: TableCache
) -> list[tuple[str, Product]]:
    """The results of every window that ended after the watermark `before` and by now, one file a family."""
    if state.watermark is None:
        return []
    products = []
    for family in families:
        node = network.by_id[family.node]
        after = before if before is not None else _first_row(state.synopses[node.id])
        requests = _requests(family, after, state.watermark)
        if not requests.num_rows:
            continue
        try:
            table = _merge(family, node, requests, state, duck, cache)
        except (duckdb.Error, SqlError) as error:
            # A total too large for its type, or a predicate too long to be written out: whoever reads that window is
            # told so, and nobody else is kept waiting.
            log.warning("windows not finished ahead", extra={"node": node.id, "reason": str(error)})
            continue
        table = with_roll(table, roll_of(request.id for request in family.requests))
        layout, batch = node.layout(network), state.batch_id
        first, end = _covered_from(family, state.synopses[node.id], after), state.watermark + 1
        products.append((node.id, Product(table, layout, 0, "result", batch, batch, first, end, family.id)))
    return products


def _covered_from(family: Family, synopsis: Synopsis, after: int) -> int:
    """From which end on a file of the windows that end after a moment holds all that the family asks for.

    Where nothing was due since the file before, from the end of that: files that touch have no gap between them. A tick
    whose windows were not finished, because the process died or they could not be, leaves a gap.
    """
    ends = [file.time_to for file in synopsis.finished(family.id) if file.time_to <= after + 1]
    before = max(ends, default=after + 1)
    due = (one.window for one in family.requests)
    gap = any(one.newest_closed_end(before - 1) < one.newest_closed_end(after) for one in due)
    return after + 1 if gap else before


def _first_row(synopsis: Synopsis) -> int:
    """Before the first tick no window was closed: those that end after the first row are due."""
    return min((file.time_from for file in synopsis.data), default=0)


def _requests(family: Family, after: int, watermark: int) -> pa.Table:
    """The lines of a family that have a window due: its length, its slide, its first and last end, its constants.

    Lines and kinds of windows go by number: comparing numbers is most of the work of what follows.
    """
    lines: list[tuple[Any, ...]] = []
    windows: dict[Window, int] = {}
    for request in family.requests:
        length, slide = micros(request.window.range), micros(request.window.slide)
        first, last = (request.window.newest_closed_end(moment) for moment in (after, watermark))
        if first < last:
            constants = (one.value for one in request.constants)
            kind = windows.setdefault(request.window, len(windows))
            lines.append((len(lines), request.id, kind, length, slide, first + slide, last, *constants))
    kinds = [
        (REQUEST, pa.int32()),
        ("name", pa.string()),
        ("kind", pa.int32()),
        ("length", pa.int64()),
        ("slide", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        *((f"p{place}", arrow_type(one.type)) for place, one in enumerate(family.requests[0].constants)),
    ]
    columns = list(zip(*lines, strict=True)) or [() for _ in kinds]
    return pa.table(
        [pa.array(values, kind) for values, (_, kind) in zip(columns, kinds, strict=True)],
        names=[name for name, _ in kinds],
    )


def _merge(
    family: Family, node: Node, requests: pa.Table, state: StreamState, duck: Duck, cache: TableCache
) -> pa.Table:
    """Every row once for each window of each request that it counts for, merged by request, window and keys."""
    synopsis = state.synopses[node.id]
    longest = int(pc.max(requests["length"]).as_py())
    first, last = int(pc.min(requests["first"]).as_py()), int(pc.max(requests["last"]).as_py())
    statistics = node.statistics
    columns = [*(one.name for one in node.dimensions), *(one.name for one in statistics)]
    rows = slice_rows(cache, synopsis, columns, row_schema(node.dimensions, statistics), first - longest, last)
    members = _members(rows, requests, duck)
    condition = "true"
    if family.condition is not None:
        names = {slot.name for slot in walk(family.condition) if isinstance(slot, Slot)}
        slots = {name: f"requests.{name}" if name in requests.column_names else quoted(name) for name in names}
        condition = duck_sql(family.condition, slots)
    kept = ", ".join(quoted(name) for name in (*family.keys, *(one.name for one in statistics)))
    windows = (
        f"SELECT {REQUEST}, {END}, {kept} FROM ({rows.sql}) AS found JOIN requests ON {condition} "
        f"JOIN members ON members.{START} = found.{START} AND members.kind = requests.kind WHERE {LATE} < {END}"
    )
    keys = [(REQUEST, REQUEST), (END, END), *((quoted(name), name) for name in family.keys)]
    sql = merge_sql(f"({windows})", keys, statistics)
    named = f"SELECT names.name AS {REQUEST}, * EXCLUDE ({REQUEST}, name) FROM ({sql}) AS merged "
    named += f"JOIN names ON names.{REQUEST} = merged.{REQUEST} ORDER BY {REQUEST}, {END}"
    names = requests.select([REQUEST, "name"])
    tables = {**rows.tables, "requests": requests, "members": members, "names": names}
    return _typed(duck.run(named, tables), node, family.keys, statistics)


def _members(rows: Source, requests: pa.Table, duck: Duck) -> pa.Table:
    """For every kind of window and every slice with rows: the ends of those due windows that hold the slice."""
    starts = duck.run(f"SELECT DISTINCT {START}, CAST({ON_TIME} AS BIGINT) AS {LATE} FROM ({rows.sql})", rows.tables)
    ends = exploded(
        Source("SELECT * FROM starts", {}),
        ["kind", START],
        first="first",
        last="last",
        length="length",
        slide="slide",
        joined=" JOIN (SELECT DISTINCT kind, first, last, length, slide FROM requests) ON true",
    )
    return duck.run(ends, {"starts": starts, "requests": requests})


def _typed(table: pa.Table, node: Node, keys: Sequence[str], statistics: Sequence[Statistic]) -> pa.Table:
    kinds = {one.name: arrow_type(one.type) for one in node.dimensions}
    schema = pa.schema(
        [
            (REQUEST, pa.string()),
            (END, pa.int64()),
            *((key, kinds[key]) for key in keys),
            *((one.name, stored_type(one)) for one in statistics),
        ]
    )
    return table.select(schema.names).cast(schema)
