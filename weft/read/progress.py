"""How far a query has come, in numbers: its windows, the rows that count for it, and the rows that came too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.windows import Sliced, micros
from weft.backend.interface import Selection, Source
from weft.backend.statements import duck_identifier
from weft.plan.needs import Needs
from weft.read.answers import Answers
from weft.read.moments import datetime_of
from weft.read.reader import NEVER, predicate_sql
from weft.store.ledger import WATERMARK, horizon, ledger_schema
from weft.store.source import slice_rows


def progress(answers: Answers) -> dict[str, Any]:
    """Count the closed windows that can be read, with the end of the newest; running totals have neither."""
    window, watermark = answers.query.needs.window, answers.state.watermark
    if not isinstance(window, Sliced) or watermark is None or answers.query.failed:
        return {"windows": 0, "last_result": None}
    first = max(answers.oldest(), answers.first_row())
    newest = window.newest_closed_end(watermark)
    count = max(0, (newest - window.newest_closed_end(first)) // micros(window.slide))
    return {"windows": count, "last_result": datetime_of(newest) if count else None}


def counted_rows(answers: Answers) -> int:
    """Count the rows of the stream that are in the state kept for the query, each once."""
    if answers.query.failed:
        return 0
    total, state = 0, answers.state
    for stay in answers.query.stays:
        synopsis = state.synopses.get(stay.needs.parts[0].node)
        if synopsis is not None:
            synopsis = state.within(synopsis, stay.since, stay.until)
        if synopsis is not None and synopsis.data:
            names = [*synopsis.dimensions, ROW_COUNT.name]
            total += _sum_rows(answers, stay.needs, slice_rows(synopsis, names, None, -NEVER, NEVER))
    return total


def late_rows(answers: Answers) -> int:
    """Count the rows, of the time that the query keeps, that came after all their windows were closed."""
    window, first = answers.query.needs.window, answers.query.row.from_batch
    if not window.clock.sliced or first is None:
        return 0
    total, oldest = 0, horizon(answers.state.watermark, answers.query.reach)
    for stay in answers.query.stays:
        synopsis = answers.state.synopses.get(stay.needs.parts[0].node)
        files = tuple(file for file in synopsis.files if file.kind == "late") if synopsis is not None else ()
        if files:
            (kind,) = window.as_sliced()
            counted = f"{WATERMARK} >= {oldest} AND batch >= {max(first, stay.since)} AND \"window\" = '{kind}'"
            counted += f" AND batch < {stay.until}" if stay.until is not None else ""
            schema = ledger_schema(stay.needs.parts[0].dimensions)
            ledgers = Selection((Source(files, counted),), tuple(schema.names), schema)
            total += _sum_rows(answers, stay.needs, ledgers)
    return total


def _sum_rows(answers: Answers, needs: Needs, rows: Selection) -> int:
    """Count the rows behind partial rows of the query's node that its predicate lets through."""
    total = f"CAST(coalesce(sum({duck_identifier(ROW_COUNT.name)}), 0) AS BIGINT)"
    return int(answers.reader.backend.measure(replace(rows, where=predicate_sql(needs)), [total])[0])
