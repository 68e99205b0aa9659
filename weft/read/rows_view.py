"""A selection's result as a single SQL over stored rows: filter, repeat, finish, order, limit.

A stored row stands for as many rows as it counts, all of the same tick, so nothing has to be merged.
"""

from __future__ import annotations

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.expressions import Slot, walk
from weft.algebra.windows import Sliding, micros
from weft.backend.render import duck_sql
from weft.backend.statements import duck_identifier
from weft.plan.dimensions import TICK
from weft.plan.needs import Needs
from weft.read.view import View, columns_of, order_terms, part_schema, result_schema
from weft.segments.rows import END
from weft.segments.types import duck_type

COPY = "weft_copy"


def build_rows_view(needs: Needs, *, changes: bool = False) -> View:
    """Build the view of a selection. With `changes`, each row leads with its tick, whatever window it is in."""
    (part,) = needs.parts
    windowed = isinstance(needs.window, Sliding) and not changes
    columns = (*columns_of(needs, part), *([TICK.name] if changes else []))
    condition = "true"
    if needs.residue is not None:
        named = {node.name: duck_identifier(node.name) for node in walk(needs.residue) if isinstance(node, Slot)}
        condition = duck_sql(needs.residue, named)
    lead, moments = [], ""
    if windowed:
        assert isinstance(needs.window, Sliding)
        lead = list(needs.window.lead)
        length = micros(needs.window.range)
        moments = f", make_timestamptz({END} - {length}) AS window_start, make_timestamptz({END}) AS window_end"
    elif changes:
        lead = [duck_identifier(TICK.name)]
    copies = f"unnest(range({duck_identifier(ROW_COUNT.name)})) AS {COPY}"
    rows = f"SELECT *{moments}, {copies} FROM {{part0}} WHERE {condition}"
    return View(
        _finished(needs, rows, lead, windowed=windowed, changes=changes),
        (columns,),
        (part_schema(needs, 0),),
        result_schema(needs, changes=changes),
    )


def _finished(needs: Needs, rows: str, lead: list[str], *, windowed: bool, changes: bool) -> str:
    """Write the select list over rows, with ORDER BY and LIMIT within each window; changes come tick by tick."""
    keys = [dimension.name for dimension in (*needs.groups, *needs.carried)]
    slots = {name: duck_identifier(name) for name in keys} | {name: name for name in lead}
    columns = [
        f"CAST({duck_sql(item.expression, slots)} AS {duck_type(item.expression.type)}) AS column{index}"
        for index, item in enumerate(needs.select)
    ]
    order, added = ([], []) if changes else order_terms(needs, slots)
    if added:
        rows = f"SELECT *, {', '.join(added)} FROM ({rows})"
    # Rows that no ORDER BY tells apart come by their time, and never in an order of what else is registered.
    others = [name for name in keys if name != needs.moment]
    ties = [f"{duck_identifier(name)} ASC NULLS FIRST" for name in (needs.moment, *others)]
    first = [END] if windowed else lead
    limit = ""
    if needs.limit is not None and not changes:
        partition = f"PARTITION BY {END} " if windowed else ""
        limit = f" QUALIFY row_number() OVER ({partition}ORDER BY {', '.join([*order, *ties])}) <= {needs.limit}"
    ordered = ", ".join([*first, *order, *ties])
    return f"SELECT {', '.join([*lead, *columns])} FROM ({rows}){limit} ORDER BY {ordered}"

