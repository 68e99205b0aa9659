"""A query's result as a single SQL over partial rows: filter, merge, finish, having, order, limit.

The SQL is made once a query. What changes from read to read are the tables it runs over and which windows it is asked
for; both come in from weft/store/source.py as a selection for every part, with a `window_end` column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.aggregates.rules import Holistic, Plain
from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.expressions import Slot, WindowPart, walk
from weft.algebra.types import TIMESTAMP
from weft.algebra.windows import Sliding, micros
from weft.backend.merge import merge_sql
from weft.backend.render import duck_sql
from weft.backend.statements import duck_identifier
from weft.plan.needs import Measure, Needs, Part
from weft.segments.rows import END, row_schema
from weft.segments.types import arrow_type, duck_type


@dataclass(frozen=True)
class View:
    """The SQL of a query, with `{part0}`, `{part1}`.. for the sources of its parts, and the columns they need.

    `schemas` have the types of the columns that rows of each part are stored with, `result` has those of the answer.
    """

    sql: str
    columns: tuple[tuple[str, ...], ...]
    schemas: tuple[pa.Schema, ...]
    result: pa.Schema


def build_view(needs: Needs, *, changes: bool = False) -> View:
    """Build the view of a query. With `changes`, each row of totals leads with the last tick that changed it."""
    keys = _keys(needs)
    parts = [_part(needs, index, part, changes=changes) for index, part in enumerate(needs.parts)]
    tables = ", ".join(f"part{index} AS ({sql})" for index, sql in enumerate(parts))
    joined = "part0"
    for index in range(1, len(parts)):
        same = " AND ".join(f"part0.{key} IS NOT DISTINCT FROM part{index}.{key}" for key in map(duck_identifier, keys))
        joined += f" JOIN part{index} ON {same or 'true'}"
    wanted = [
        *(f"part0.{duck_identifier(key)}" for key in keys),
        *(["part0.tick"] if changes else []),
        *(f"part{measure.part}.{duck_identifier(measure.slot)}" for measure in needs.measures),
    ]
    rows = f"SELECT {', '.join(wanted) or '1'} FROM {joined}"
    columns = tuple(columns_of(needs, part) for part in needs.parts)
    schemas = tuple(part_schema(needs, index) for index in range(len(parts)))
    sql = f"WITH {tables}, finished AS ({rows}) {_final(needs, keys, changes=changes)}"
    return View(sql, columns, schemas, result_schema(needs, changes=changes))


def part_schema(needs: Needs, part: int) -> pa.Schema:
    """Return the columns that the rows of a part have in every node that stores them."""
    read = needs.parts[part]
    statistics = {need for statistic in read.statistics for need in (statistic, *statistic.needs)}
    return row_schema(tuple(read.dimensions), tuple(statistics))


def result_schema(needs: Needs, *, changes: bool = False) -> pa.Schema:
    """Return the columns of a result: the window first, then the select list under its own names."""
    moment = arrow_type(TIMESTAMP)
    lead = [(tick_column(needs), pa.int64())] if changes else [(name, moment) for name in needs.window.lead]
    return pa.schema([*lead, *((item.name, arrow_type(item.expression.type)) for item in needs.select)])


def tick_column(needs: Needs) -> str:
    """Name the column with the tick of a change: `tick`, or where the query has such a column, `weft_tick`."""
    taken, name = {item.name.lower() for item in needs.select}, "tick"
    while name in taken:
        name = f"weft_{name}"
    return name


def _keys(needs: Needs) -> list[str]:
    """List the columns that identify a row of the result."""
    end = [END] if END in needs.window.lead else []
    return [*end, *(dimension.name for dimension in (*needs.groups, *needs.carried))]


def columns_of(needs: Needs, part: Part) -> tuple[str, ...]:
    """List the stored columns that a part reads."""
    residue = (
        {node.name for node in walk(needs.residue) if isinstance(node, Slot)} if needs.residue is not None else set()
    )
    statistics = {need.name for statistic in part.statistics for need in (statistic, *statistic.needs)}
    dimensions = {dimension.name for dimension in (*needs.groups, *needs.carried, *part.values)}
    return tuple(sorted(statistics | residue | dimensions))


def _part(needs: Needs, index: int, part: Part, *, changes: bool) -> str:
    """Write the SELECT of a row for every window and group, with the part's measures."""
    keys = _keys(needs)
    named = [(duck_identifier(key), key) for key in keys]
    source = f"{{part{index}}}"
    if needs.residue is not None:
        slots = {node.name: duck_identifier(node.name) for node in walk(needs.residue) if isinstance(node, Slot)}
        source = f"(SELECT * FROM {source} WHERE {duck_sql(needs.residue, slots)})"
    measures = [measure for measure in needs.measures if measure.part == index]
    if part.values:
        return _counted(source, keys, part, measures, changes=changes)
    merged = merge_sql(source, named, part.statistics, [("max(start)", "tick")] if changes else [])
    slots = {}
    for statistic in part.statistics:
        slots[statistic.name] = duck_identifier(statistic.name)
        slots[f"{statistic.name}.v"] = f"{duck_identifier(statistic.name)}.v"
    finished = []
    for measure in measures:
        assert isinstance(measure.made_of, Plain)
        finished.append(f"{duck_sql(measure.made_of.result, slots)} AS {duck_identifier(measure.slot)}")
    columns = [*(duck_identifier(key) for key in keys), *(["tick"] if changes else []), *finished]
    return f"SELECT {', '.join(columns) or '1 AS one'} FROM ({merged})"


def _counted(source: str, keys: Sequence[str], part: Part, measures: Sequence[Measure], *, changes: bool) -> str:
    """Write the SELECT of measures read from value counts: merged by value, then in the order of the values."""
    counted = [duck_identifier(dimension.name) for dimension in part.values]
    all_there = " AND ".join(f"{column} IS NOT NULL" for column in counted)
    # Of rows of several values only the number is read.
    shown = counted[0] if len(counted) == 1 else f"CASE WHEN {all_there} THEN true END"
    value, count = "counted_value", "counted_rows"
    names = [duck_identifier(key) for key in keys]
    tick = ["max(start) AS tick"] if changes else []
    by = ", ".join([*names, *counted])
    counts = (
        f"SELECT {', '.join([*names, *tick, f'{shown} AS {value}'])}, "
        f"CAST(sum({duck_identifier(ROW_COUNT.name)}) AS BIGINT) AS {count} FROM {source} GROUP BY {by}"
    )
    partition = f"PARTITION BY {', '.join(names)} " if names else ""
    present = f"FILTER (WHERE {value} IS NOT NULL)"
    running = (
        f"SELECT *, sum({count}) {present} OVER ({partition}ORDER BY {value} NULLS FIRST "
        f"RANGE UNBOUNDED PRECEDING) AS up_to, sum({count}) {present} OVER ({partition}) AS total FROM ({counts})"
    )
    finished = [
        f"{_read_counts(measure.made_of, value, count)} AS {duck_identifier(measure.slot)}"
        for measure in measures
        if isinstance(measure.made_of, Holistic)
    ]
    ticks = ["max(tick) AS tick"] if changes else []
    grouped = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join([*names, *ticks, *finished])} FROM ({running}){grouped}"


def _read_counts(made_of: Holistic, value: str, count: str) -> str:
    """Write a holistic measure over (value, count, counts up to the value, total) of a group."""
    present = f"{value} IS NOT NULL"
    if made_of.kind == "distinct":
        return f"count({value})"
    if made_of.kind == "mode":
        return f"first({value} ORDER BY {count} DESC, {value}) FILTER (WHERE {present})"
    # Spark's exact percentile: between the two values around position p * (n - 1), counting from zero.
    share = f"CAST({made_of.fraction!r} AS DOUBLE)"
    at, position = f"({share} * (total - 1))", f"({share} * (max(total) - 1))"
    low = f"CAST(min({value}) FILTER (WHERE {present} AND up_to > floor({at})) AS DOUBLE)"
    high = f"CAST(min({value}) FILTER (WHERE {present} AND up_to > ceil({at})) AS DOUBLE)"
    # In exactly these steps: between -Infinity and a number there is NaN, between two infinities that infinity.
    return f"CASE WHEN {low} = {high} THEN {low} ELSE {low} + ({position} - floor({position})) * ({high} - {low}) END"


def _final(needs: Needs, keys: Sequence[str], *, changes: bool) -> str:
    """Write the select list over finished rows, with HAVING, and ORDER BY and LIMIT within each window."""
    slots = {name: duck_identifier(name) for name in [*keys, *(measure.slot for measure in needs.measures)]}
    columns = [
        # A name of Weft's own: the reader renames the column to the user's name, which may be anything, even {part0}.
        f"CAST({duck_sql(item.expression, slots)} AS {duck_type(item.expression.type)}) AS column{index}"
        for index, item in enumerate(needs.select)
    ]
    lead, source = [], "finished"
    if isinstance(needs.window, Sliding):
        length = micros(needs.window.range)
        source = (
            f"(SELECT * EXCLUDE ({END}), make_timestamptz({END} - {length}) AS window_start, "
            f"make_timestamptz({END}) AS window_end FROM finished)"
        )
        lead = list(needs.window.lead)
        slots |= {name: name for name in lead}
    if changes:
        lead = ["tick"]
    having = f" WHERE {duck_sql(needs.having, slots)}" if needs.having is not None else ""
    order, added = order_terms(needs, slots)
    if added:
        source, having = f"(SELECT *, {', '.join(added)} FROM {source}{having})", ""
    # Ties must not depend on what else is registered: they go by the keys.
    ties = [f"{duck_identifier(key)} ASC NULLS FIRST" for key in keys if key != END]
    end = [END] if END in keys else []
    limit = ""
    if needs.limit is not None:
        partition = f"PARTITION BY {END} " if end else ""
        by = f"ORDER BY {', '.join([*order, *ties])}" if order or ties else ""
        limit = f" QUALIFY row_number() OVER ({partition}{by}) <= {needs.limit}"
    within = [*end, *order, *ties]
    ordered = f" ORDER BY {', '.join(within)}" if within else ""
    return f"SELECT {', '.join([*lead, *columns])} FROM {source}{having}{limit}{ordered}"


def order_terms(needs: Needs, slots: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Write the terms of ORDER BY, and the columns that must be added for them.

    DuckDB orders by no constant, and in a window by nothing that may fail, as a ratio may; columns are neither.
    """
    terms, added = [], []
    for index, key in enumerate(needs.order):
        by = duck_sql(key.expression, slots)
        if not isinstance(key.expression, Slot | WindowPart):
            added.append(f"{by} AS weft_order{index}")
            by = f"weft_order{index}"
        terms.append(f"{by} {'ASC' if key.ascending else 'DESC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
    return terms, added
